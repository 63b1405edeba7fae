// TensorScatter: an external cache, written row by row.
#include "frontend/input_checks.h"

namespace engine::frontend {

using ir::Dim;

namespace {

constexpr Input kCache{0, "past_cache"};
constexpr Input kUpdate{1, "update"};
constexpr Input kIndices{2, "write_indices"};

int64_t rowAxis(const ImportContext &ctx, int rank) {
  const int64_t axis = ctx.attrs.integer("axis", -2);
  const int64_t normal = axis < 0 ? axis + rank : axis;
  if (normal < 1 || normal >= rank)
    refuseValue("axis", axis, "an axis behind the batch of rank " + std::to_string(rank));
  return normal;
}

bool isCircular(const ImportContext &ctx) {
  const std::string mode = ctx.attrs.text("mode", "linear");
  if (mode != "linear" && mode != "circular")
    refuseAttribute("mode", "value '" + mode + "', expected linear or circular");
  return mode == "circular";
}

void importTensorScatter(ImportContext &ctx) {
  ctx.required(kCache.index, kCache.name);
  ctx.required(kUpdate.index, kUpdate.name);
  const ir::Shape cache = ctx.fact(kCache.index).shape;
  expectType(ctx, kUpdate, ctx.fact(kCache.index).dtype);

  ir::KvWrite op;
  op.circular = isCircular(ctx);
  op.tail = ir::KvTail::kKeep;
  op.axis = rowAxis(ctx, static_cast<int>(cache.size()));
  op.capacity = cache[op.axis];

  llvm::SmallVector<DimRule, 4> rules(cache.begin(), cache.end());
  // Rows that a linear write cannot place are refused by the kernel, with the index that is at
  // fault.
  const Dim rows = ctx.fact(kUpdate.index).rank() == static_cast<int>(cache.size())
                       ? ctx.fact(kUpdate.index).shape[op.axis]
                       : op.capacity;
  rules[op.axis] = op.circular || rows.isConstant() ? DimRule::atMost(op.capacity) : rows;
  const ir::ValueId update = checkedInput(ctx, kUpdate, rules);
  ir::ValueId start;
  if (ctx.has(kIndices.index)) {
    expectType(ctx, kIndices, DType::kI64);
    start = checkedInput(ctx, kIndices, {cache[0]});
  }
  ctx.emit(op, {ctx.input(kCache.index), update, start});
}

} // namespace

llvm::ArrayRef<ImporterRow> cacheImporters() {
  static const ImporterRow kRows[] = {{"", "TensorScatter", 24, kLatest, 2, 3, 1,
                                       "mode:string axis:int", "", importTensorScatter,
                                       "negative write_indices"}};
  return kRows;
}

} // namespace engine::frontend
