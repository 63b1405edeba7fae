// Softmax and normalisations, with the residual sum in front of them that onnxruntime fuses.
#include "frontend/input_checks.h"
#include "frontend/operands.h"

namespace engine::frontend {

using ir::Dim;
using ir::ValueId;

namespace {

// --- Softmax -------------------------------------------------------------------------------------

template <bool Log> void importSoftmax(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "input");
  ctx.emit(ir::Softmax{axisAttribute(ctx, -1, ctx.fact(0).rank()), Log}, {x});
}

// Before opset 13: the axes from `axis` on are one.
template <bool Log> void importCoercedSoftmax(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "input");
  const ir::Shape shape = ctx.fact(0).shape;
  const int64_t rank = static_cast<int64_t>(shape.size());
  const int64_t axis = axisAttribute(ctx, 1, rank);
  if (axis == rank - 1)
    return ctx.emit(ir::Softmax{axis, Log}, {x});
  const llvm::ArrayRef<Dim> dims = shape;
  const ir::Shape coerced = {ir::product(dims.take_front(axis)),
                             ir::product(dims.drop_front(axis))};
  const ValueId rows = ctx.add(ir::Reshape{coerced}, {x}, "rows");
  const ValueId soft = ctx.add(ir::Softmax{1, Log}, {rows}, "softmax");
  ctx.emit(ir::Reshape{shape}, {soft});
}

// --- Norms ---------------------------------------------------------------------------------------

void expectFloatStash(const ImportContext &ctx) {
  if (const int64_t stash = ctx.attrs.integer("stash_type", 1); stash != 1)
    refuseValue("stash_type", stash, "1 (float)");
}

void importRmsNorm(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "X"), scale = ctx.required(1, "scale");
  expectFloatStash(ctx);
  const int64_t axis = axisAttribute(ctx, -1, ctx.fact(0).rank());
  ctx.emit(ir::RmsNorm{axis, ctx.attrs.real("epsilon", 1e-5f)}, {x, scale});
}

// 1 / sqrt(mean(x^2) + epsilon) in f32 over the axes from `axis` on: what some nodes name as an
// output and nobody reads. Dead code removal drops it then.
ValueId inverseRms(ImportContext &ctx, ValueId x, int64_t axis, float epsilon, size_t output) {
  const ir::Shape shape = ctx.b.fact(x).shape;
  Ints axes;
  for (int64_t i = axis; i < ctx.b.fact(x).rank(); ++i)
    axes.push_back(i);
  const ValueId wide = asType(ctx, x, DType::kF32, "inv_wide");
  const ValueId squares =
      ctx.add(ir::Reduce{ir::ReduceKind::kSumSquare, axes, true}, {wide}, "inv_squares");
  const ValueId count =
      ctx.add(ir::Cast{DType::kF32},
              {ctx.add(ir::DimValues{DType::kI64,
                                     {},
                                     {ir::product(llvm::ArrayRef<Dim>(shape).drop_front(axis))}},
                       {}, "inv_n")},
              "inv_count");
  const ValueId mean = ctx.add(ir::Binary{ir::BinaryKind::kDiv}, {squares, count}, "inv_mean");
  const ValueId stable =
      ctx.add(ir::Binary{ir::BinaryKind::kAdd},
              {mean, scalar(ctx, DType::kF32, epsilon, "inv_epsilon")}, "inv_sum");
  const ValueId root = ctx.add(ir::Unary{ir::UnaryKind::kSqrt}, {stable}, "inv_root");
  return ctx.b.add1(ir::Unary{ir::UnaryKind::kReciprocal}, {root}, "inv_std_var",
                    ctx.outputName(output));
}

void importSimplifiedNorm(ImportContext &ctx) {
  importRmsNorm(ctx);
  if (ctx.wants(1))
    ctx.set(1, inverseRms(ctx, ctx.input(0), axisAttribute(ctx, -1, ctx.fact(0).rank()),
                          ctx.attrs.real("epsilon", 1e-5f), 1));
}

// y, mean and inverse standard deviation as outputs 0, 1 and 2.
void emitLayerNorm(ImportContext &ctx, const ir::LayerNorm &op, llvm::ArrayRef<ValueId> operands) {
  const std::string names[] = {ctx.outputName(0), ctx.outputName(1), ctx.outputName(2)};
  const bool wanted[] = {ctx.wants(0), ctx.wants(1), ctx.wants(2)};
  const ir::Values results = ctx.b.add(op, operands, "", names, wanted);
  for (size_t i = 0; i < 3; ++i)
    if (ctx.wants(i))
      ctx.set(i, results[i]);
}

void importLayerNorm(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "X"), scale = ctx.required(1, "Scale");
  expectFloatStash(ctx);
  const int64_t axis = axisAttribute(ctx, -1, ctx.fact(0).rank());
  emitLayerNorm(ctx, {axis, ctx.attrs.real("epsilon", 1e-5f)}, {x, scale, ctx.input(2)});
}

// --- com.microsoft: input + skip (+ bias) first --------------------------------------------------

// skip has input's shape, or lacks or broadcasts its batch axis.
void expectSkip(const ImportContext &ctx) {
  const ir::Fact &input = ctx.fact(0), &skip = ctx.fact(1);
  const bool batchless = input.rank() == 3 && skip.rank() == 2;
  if (skip.rank() != input.rank() && !batchless)
    refuseInput("skip", "shape " + ir::str(skip.shape) + ", expected to match input's " +
                            ir::str(input.shape));
}

ValueId residualSum(ImportContext &ctx, size_t biasInput) {
  const ValueId input = ctx.required(0, "input"), skip = ctx.required(1, "skip");
  ctx.required(2, "gamma");
  if (ctx.fact(0).rank() != 2 && ctx.fact(0).rank() != 3)
    refuseInput("input", "shape " + ir::str(ctx.fact(0).shape) + ", expected rank 2 or 3");
  expectRank(ctx, {2, "gamma"}, 1);
  expectSkip(ctx);
  const ir::Binary add{ir::BinaryKind::kAdd};
  const std::string name = ctx.outputName(3);
  if (!ctx.has(biasInput))
    return ctx.b.add1(add, {input, skip}, "sum", name);
  expectRank(ctx, {biasInput, "bias"}, 1);
  const ValueId sum = ctx.add(add, {input, skip}, "skipped");
  return ctx.b.add1(add, {sum, ctx.input(biasInput)}, "sum", name);
}

void importSkipLayerNorm(ImportContext &ctx) {
  const ValueId sum = residualSum(ctx, 4);
  const int64_t axis = ctx.b.fact(sum).rank() - 1;
  emitLayerNorm(ctx, {axis, ctx.attrs.real("epsilon", 1e-12f)}, {sum, ctx.input(2), ctx.input(3)});
  if (ctx.wants(3))
    ctx.set(3, sum);
}

// Output 1 is the mean that is subtracted: none here, so 0.
ValueId noMean(ImportContext &ctx, ValueId sum) {
  ir::Shape shape = ctx.b.fact(sum).shape;
  shape.back() = 1;
  return ctx.b.add1(ir::Fill{shape}, {scalar(ctx, DType::kF32, 0, "zero")}, "mean",
                    ctx.outputName(1));
}

void importSkipSimplifiedNorm(ImportContext &ctx) {
  const float epsilon = ctx.attrs.real("epsilon", 1e-12f);
  const ValueId sum = residualSum(ctx, 3);
  const int64_t axis = ctx.b.fact(sum).rank() - 1;
  ctx.emit(ir::RmsNorm{axis, epsilon}, {sum, ctx.input(2)});
  if (ctx.wants(1))
    ctx.set(1, noMean(ctx, sum));
  if (ctx.wants(2))
    ctx.set(2, inverseRms(ctx, sum, axis, epsilon, 2));
  if (ctx.wants(3))
    ctx.set(3, sum);
}

} // namespace

llvm::ArrayRef<ImporterRow> normImporters() {
  static constexpr char kFloats[] = "f32 f16 bf16 f64";
  static constexpr char kNorm[] = "axis:int epsilon:float stash_type:int";
  static constexpr char kStash[] = "stash_type other than 1";
  static const ImporterRow kRows[] = {
      {"", "Softmax", 1, 12, 1, 1, 1, "axis:int", kFloats, importCoercedSoftmax<false>, ""},
      {"", "Softmax", 13, kLatest, 1, 1, 1, "axis:int", kFloats, importSoftmax<false>, ""},
      {"", "LogSoftmax", 1, 12, 1, 1, 1, "axis:int", kFloats, importCoercedSoftmax<true>, ""},
      {"", "LogSoftmax", 13, kLatest, 1, 1, 1, "axis:int", kFloats, importSoftmax<true>, ""},
      {"", "LayerNormalization", 17, kLatest, 2, 3, 3, kNorm, kFloats, importLayerNorm, kStash},
      {"", "RMSNormalization", 23, kLatest, 2, 2, 1, kNorm, kFloats, importRmsNorm, kStash},
      // In no schema of ai.onnx, but what exporters write.
      {"", "SimplifiedLayerNormalization", 1, kLatest, 2, 2, 2, kNorm, kFloats,
       importSimplifiedNorm, kStash},
      {"com.microsoft", "SimplifiedLayerNormalization", 1, kLatest, 2, 2, 2, kNorm, kFloats,
       importSimplifiedNorm, kStash},
      {"com.microsoft", "SkipSimplifiedLayerNormalization", 1, kLatest, 3, 4, 4, "epsilon:float",
       kFloats, importSkipSimplifiedNorm, ""},
      {"com.microsoft", "SkipLayerNormalization", 1, kLatest, 3, 5, 4, "epsilon:float", kFloats,
       importSkipLayerNorm, ""},
  };
  return kRows;
}

} // namespace engine::frontend
