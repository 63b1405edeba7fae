// MatMul, Gemm and com.microsoft.FusedMatMul.
#include "frontend/input_checks.h"
#include "frontend/operands.h"
#include "ir/infer.h"

namespace engine::frontend {

using ir::ValueId;

namespace {

void importMatMul(ImportContext &ctx) {
  ctx.emit(ir::MatMul{}, {ctx.required(0, "A"), ctx.required(1, "B")});
}

// --- Gemm: alpha * A * B + beta * C --------------------------------------------------------------

ValueId matrix(ImportContext &ctx, size_t input, const char *name, const char *transposeFlag) {
  const ValueId value = ctx.required(input, name);
  expectRank(ctx, {input, name}, 2);
  return ctx.attrs.flag(transposeFlag, false)
             ? ctx.add(ir::Transpose{{1, 0}}, {value}, transposeFlag)
             : value;
}

// An integer tensor times a float attribute is only defined for whole numbers.
ValueId scaledBy(ImportContext &ctx, ValueId value, float factor, const char *name) {
  const DType type = ctx.b.fact(value).dtype;
  if (factor == 1)
    return value;
  if (isInteger(type) && factor != static_cast<float>(static_cast<int64_t>(factor)))
    refuseAttribute(name, "value " + std::to_string(factor) + ", expected a whole number for " +
                              dtypeLongName(type));
  return ctx.add(ir::Binary{ir::BinaryKind::kMul}, {value, scalar(ctx, type, factor, name)},
                 std::string("times_") + name);
}

void importGemm(ImportContext &ctx) {
  const ValueId a = matrix(ctx, 0, "A", "transA"), b = matrix(ctx, 1, "B", "transB");
  const float alpha = ctx.attrs.real("alpha", 1.0f), beta = ctx.attrs.real("beta", 1.0f);
  const bool hasBias = ctx.has(2) && beta != 0;
  if (alpha == 1 && !hasBias)
    return ctx.emit(ir::MatMul{}, {a, b});
  const ir::Shape shape = {ctx.b.fact(a).shape[0], ctx.b.fact(b).shape[1]};
  const ValueId product = scaledBy(ctx, ctx.add(ir::MatMul{}, {a, b}, "product"), alpha, "alpha");
  if (!hasBias)
    return ctx.set(0, product);
  const ValueId bias = scaledBy(ctx, ctx.input(2), beta, "beta");
  // C is broadcast to the product, never the other way.
  if (ctx.fact(2).rank() > 2 || ir::broadcastShapes(shape, ctx.fact(2).shape) != shape)
    refuseInput("C", "shape " + ir::str(ctx.fact(2).shape) + ", expected to broadcast to " +
                         ir::str(shape));
  ctx.emit(ir::Binary{ir::BinaryKind::kAdd}, {product, bias});
}

// --- FusedMatMul ---------------------------------------------------------------------------------

// transBatch moves axis 0 behind the batch axes; trans exchanges the last two axes then.
ValueId arranged(ImportContext &ctx, size_t input, const char *name, const char *trans,
                 const char *transBatch) {
  const ValueId value = ctx.required(input, name);
  const int rank = ctx.fact(input).rank();
  const bool swaps = ctx.attrs.flag(trans, false), rotates = ctx.attrs.flag(transBatch, false);
  if (!swaps && !rotates)
    return value;
  if (rank < 2)
    refuseInput(name, "shape " + ir::str(ctx.fact(input).shape) + ", expected rank 2 or more");
  Ints perm;
  for (int axis = rotates ? 1 : 0; axis + 1 < rank; ++axis)
    perm.push_back(axis);
  if (rotates)
    perm.push_back(0);
  perm.push_back(rank - 1);
  if (swaps)
    std::swap(perm[rank - 2], perm[rank - 1]);
  return ctx.add(ir::Transpose{perm}, {value}, trans);
}

void importFusedMatMul(ImportContext &ctx) {
  const ValueId a = arranged(ctx, 0, "A", "transA", "transBatchA");
  const ValueId b = arranged(ctx, 1, "B", "transB", "transBatchB");
  const float alpha = ctx.attrs.real("alpha", 1.0f);
  if (alpha == 1)
    return ctx.emit(ir::MatMul{}, {a, b});
  const ValueId product = ctx.add(ir::MatMul{}, {a, b}, "product");
  const ValueId factor = scalar(ctx, ctx.fact(0).dtype, alpha, "alpha");
  ctx.emit(ir::Binary{ir::BinaryKind::kMul}, {product, factor});
}

} // namespace

llvm::ArrayRef<ImporterRow> matmulImporters() {
  static constexpr char kTypes[] = "f32 f16 bf16 f64 i32 u32 i64 u64";
  static constexpr char kGemm[] = "alpha:float beta:float transA:int transB:int";
  static const ImporterRow kRows[] = {
      {"", "MatMul", 1, kLatest, 2, 2, 1, "", kTypes, importMatMul, ""},
      {"", "Gemm", 7, 10, 3, 3, 1, kGemm, kTypes, importGemm, ""},
      {"", "Gemm", 11, kLatest, 2, 3, 1, kGemm, kTypes, importGemm,
       "integers with alpha or beta that is no whole number"},
      {"com.microsoft", "FusedMatMul", 1, kLatest, 2, 2, 1,
       "alpha:float transA:int transB:int transBatchA:int transBatchB:int", "f32 f16 bf16 f64",
       importFusedMatMul, ""},
  };
  return kRows;
}

} // namespace engine::frontend
