#include "frontend/qkv.h"

namespace engine::frontend {

using ir::Dim;
using ir::ValueId;

ValueId splitHeads(ImportContext &ctx, ValueId x, int64_t heads, const Dim &headSize,
                   llvm::StringRef suffix) {
  const ir::Shape shape = ctx.b.fact(x).shape;
  return ctx.add(ir::Reshape{{shape[0], shape[1], heads, headSize}}, {x}, suffix);
}

ValueId exchangeHeadsAndRows(ImportContext &ctx, ValueId x, llvm::StringRef suffix) {
  return ctx.add(ir::Transpose{{0, 2, 1, 3}}, {x}, suffix);
}

ValueId mergeHeads(ImportContext &ctx, ValueId x, llvm::StringRef suffix, llvm::StringRef name) {
  const ValueId rowsFirst = exchangeHeadsAndRows(ctx, x, suffix.str() + "_rows");
  const ir::Shape shape = ctx.b.fact(rowsFirst).shape;
  return ctx.b.add1(ir::Reshape{{shape[0], shape[1], shape[2] * shape[3]}}, {rowsFirst}, suffix,
                    name);
}

static ValueId appendToPast(ImportContext &ctx, ValueId past, ValueId update,
                            llvm::StringRef suffix, llvm::StringRef name) {
  constexpr int kRows = 2;
  ir::KvWrite op;
  op.axis = kRows;
  op.offset = ctx.b.fact(past).shape[kRows];
  op.capacity = op.offset + ctx.b.fact(update).shape[kRows];
  op.tail = ir::KvTail::kKeep;
  return ctx.b.add1(op, {past, update}, suffix, name);
}

void updateCache(ImportContext &ctx, Input pastKey, Input pastValue, ValueId &k, ValueId &v) {
  if (ctx.has(pastKey.index)) {
    k = appendToPast(ctx, ctx.input(pastKey.index), k, "k_cache", ctx.outputName(kPresentKey));
    v = appendToPast(ctx, ctx.input(pastValue.index), v, "v_cache", ctx.outputName(kPresentValue));
  }
  if (ctx.wants(kPresentKey))
    ctx.set(kPresentKey, k);
  if (ctx.wants(kPresentValue))
    ctx.set(kPresentValue, v);
}

ValueId keyCounts(ImportContext &ctx, Input input, const Dim &batch, const Dim &rows) {
  const ValueId counts = checkedInput(ctx, input, {batch});
  ir::CheckLengths check;
  check.item = std::string("input '") + input.name + "'";
  check.limit = rows;
  return ctx.add(check, {counts}, "key_lengths");
}

ValueId sliceAxis(ImportContext &ctx, ValueId x, int64_t axis, const Dim &start, const Dim &length,
                  llvm::StringRef suffix) {
  return ctx.add(ir::Slice{axis, start, length, 1}, {x}, suffix);
}

Dim partWidth(const ir::Fact &fact, int64_t parts, llvm::StringRef inputName) {
  const Dim &width = fact.shape.back();
  if (std::optional<Dim> part = width.dividedBy(parts))
    return *part;
  refuseInput(inputName, "shape " + ir::str(fact.shape) + ", expected a last dimension that " +
                             std::to_string(parts) + " heads share equally");
}

} // namespace engine::frontend
