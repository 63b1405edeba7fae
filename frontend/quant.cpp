// Operators on quantised weights.
#include "frontend/input_checks.h"
#include "frontend/operands.h"
#include "frontend/tensor.h"

namespace engine::frontend {

using ir::ValueId;

namespace {

// --- DequantizeLinear ----------------------------------------------------------------------------

DType outputType(const ImportContext &ctx) {
  const int64_t given = ctx.attrs.integer("output_dtype", 0);
  if (given == 0)
    return ctx.fact(1).dtype;
  const DType type = dtypeOf(static_cast<int32_t>(given));
  if (!isFloat(type))
    refuseAttribute("output_dtype", "type " + typeName(static_cast<int32_t>(given)) +
                                        ", expected a float of 16 bits or more");
  return type;
}

// The one zero point there is, in scale's rank.
ValueId likeScale(ImportContext &ctx) {
  const ir::Shape shape = ctx.fact(1).shape;
  if (!ctx.has(2) || ctx.fact(2).shape == shape)
    return ctx.input(2);
  return ctx.add(ir::Reshape{shape}, {ctx.input(2)}, "zero_point");
}

void importDequantize(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "x"), scale = ctx.required(1, "x_scale");
  ir::Dequantize op;
  op.to = outputType(ctx);
  op.blockSize = ctx.attrs.integer("block_size", 0);
  if (op.blockSize < 0)
    refuseValue("block_size", op.blockSize, "0 or more");
  // One scale for all needs no axis, and the default one may lie outside x then.
  const bool perTensor = op.blockSize == 0 && ir::product(ctx.fact(1).shape).is(1);
  op.axis = perTensor ? 0 : axisAttribute(ctx, 1, ctx.fact(0).rank());
  ctx.emit(op, {x, scale, perTensor ? likeScale(ctx) : ctx.input(2)});
}

// --- MatMulNBits ---------------------------------------------------------------------------------

void expectOneOf(int64_t value, llvm::ArrayRef<int64_t> allowed, const char *attribute) {
  if (llvm::is_contained(allowed, value))
    return;
  std::string expected;
  for (int64_t one : allowed)
    expected += (expected.empty() ? "" : ", ") + std::to_string(one);
  refuseValue(attribute, value, "one of " + expected);
}

void importMatMulNBits(ImportContext &ctx) {
  const ValueId a = ctx.required(0, "A"), b = ctx.required(1, "B"),
                scales = ctx.required(2, "scales");
  ir::QuantMatMul op;
  op.k = ctx.attrs.requiredInteger("K");
  op.n = ctx.attrs.requiredInteger("N");
  op.bits = ctx.attrs.integer("bits", 4);
  op.blockSize = ctx.attrs.requiredInteger("block_size");
  op.accuracyLevel = ctx.attrs.integer("accuracy_level", 0);
  expectOneOf(op.bits, {2, 4, 8}, "bits");
  expectOneOf(op.blockSize, {16, 32, 64, 128, 256}, "block_size");
  expectOneOf(op.accuracyLevel, {0, 1, 2, 3, 4}, "accuracy_level");
  if (const int64_t layout = ctx.attrs.integer("weight_prepacked", 0); layout != 0)
    refuseValue("weight_prepacked", layout, "0: weights in the operator's own layout");
  if (ctx.has(4))
    refuseInput("g_idx", "given, expected none: it is deprecated");
  ctx.emit(op, {a, b, scales, ctx.input(3), ctx.input(5)});
}

// --- GatherBlockQuantized ------------------------------------------------------------------------

void importGatherBlockQuantized(ImportContext &ctx) {
  const ValueId data = ctx.required(0, "data"), indices = ctx.required(1, "indices"),
                scales = ctx.required(2, "scales");
  const int64_t rank = ctx.fact(0).rank();
  ir::QuantGather op;
  op.bits = ctx.attrs.integer("bits", 4);
  op.blockSize = ctx.attrs.integer("block_size", 128);
  expectOneOf(op.bits, {4, 8}, "bits");
  if (op.blockSize < 16 || (op.blockSize & (op.blockSize - 1)) != 0)
    refuseValue("block_size", op.blockSize, "a power of 2 from 16 on");
  const auto axis = [&](const char *name, int64_t otherwise, int64_t expected) {
    const int64_t given = axisInRange(ctx.attrs.integer(name, otherwise), rank,
                                      std::string("attribute '") + name + "'");
    if (given != expected)
      refuseAttribute(name, "axis " + std::to_string(given) + " of rank " + std::to_string(rank) +
                                ", expected " + std::to_string(expected));
  };
  axis("gather_axis", 0, 0);
  axis("quantize_axis", 1, rank - 1);
  if (isSubByte(ctx.fact(0).dtype))
    op.bits = 4;
  ctx.emit(op, {data, indices, scales, ctx.input(3)});
}

} // namespace

llvm::ArrayRef<ImporterRow> quantImporters() {
  static constexpr char kCodes[] = "i8 u8 i16 u16 i32 i4 u4";
  static const ImporterRow kRows[] = {
      {"", "DequantizeLinear", 10, 12, 2, 3, 1, "", kCodes, importDequantize, ""},
      {"", "DequantizeLinear", 13, 20, 2, 3, 1, "axis:int", kCodes, importDequantize, ""},
      {"", "DequantizeLinear", 21, 22, 2, 3, 1, "axis:int block_size:int", kCodes, importDequantize,
       ""},
      {"", "DequantizeLinear", 23, kLatest, 2, 3, 1, "axis:int block_size:int output_dtype:int",
       kCodes, importDequantize, "8-bit and 4-bit floats, 2-bit integers"},
      {"com.microsoft", "MatMulNBits", 1, kLatest, 3, 6, 1,
       "K:int N:int bits:int block_size:int accuracy_level:int weight_prepacked:int",
       "f32 f16 bf16", importMatMulNBits,
       "g_idx; weight_prepacked other than 0; bits other than 2, 4, 8"},
      {"com.microsoft", "GatherBlockQuantized", 1, kLatest, 3, 4, 1,
       "bits:int block_size:int gather_axis:int quantize_axis:int", "u8 i4 u4",
       importGatherBlockQuantized,
       "gather_axis other than 0; quantize_axis other than the last; 2 bits; 8-bit and 4-bit "
       "floats; an index out of range is an error, onnxruntime gives zeros"},
  };
  return kRows;
}

} // namespace engine::frontend
