#include "frontend/qkv.h"

#include "frontend/input_checks.h"

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

ValueId appendToPast(ImportContext &ctx, ValueId past, ValueId update, llvm::StringRef suffix,
                     llvm::StringRef name) {
  constexpr int kRows = 2;
  ir::KvWrite op;
  op.axis = kRows;
  op.offset = ctx.b.fact(past).shape[kRows];
  op.capacity = op.offset + ctx.b.fact(update).shape[kRows];
  op.tail = ir::KvTail::kKeep;
  return ctx.b.add1(op, {past, update}, suffix, name);
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
