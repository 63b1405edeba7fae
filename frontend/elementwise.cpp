// Operators that work element by element, broadcasting included.
#include "frontend/input_checks.h"
#include "frontend/operands.h"
#include "frontend/tensor.h"

#include <limits>

namespace engine::frontend {

using ir::BinaryKind;
using ir::UnaryKind;
using ir::ValueId;

namespace {

template <UnaryKind Kind> void importUnary(ImportContext &ctx) {
  ctx.emit(ir::Unary{Kind}, {ctx.required(0, "X")});
}

template <BinaryKind Kind> void importBinary(ImportContext &ctx) {
  ctx.emit(ir::Binary{Kind}, {ctx.required(0, "A"), ctx.required(1, "B")});
}

// --- Variadic: one operator after the other, f16 and bf16 in f32 so that they round once ---------

ValueId chain(ImportContext &ctx, BinaryKind kind, DType type) {
  ValueId result = asType(ctx, ctx.required(0, "data_0"), type, "wide_0");
  for (size_t i = 1; i < ctx.numInputs(); ++i) {
    const std::string index = std::to_string(i);
    const ValueId next = asType(ctx, ctx.required(i, "data_" + index), type, "wide_" + index);
    result = ctx.add(ir::Binary{kind}, {result, next}, "step_" + index);
  }
  return result;
}

template <BinaryKind Kind> void importVariadic(ImportContext &ctx) {
  ctx.required(0, "data_0");
  const DType type = ctx.fact(0).dtype;
  if (ctx.numInputs() == 2)
    return importBinary<Kind>(ctx);
  const bool rounds = Kind == BinaryKind::kAdd;
  setAs(ctx, chain(ctx, Kind, rounds ? wideType(type) : type), type);
}

void importMean(ImportContext &ctx) {
  ctx.required(0, "data_0");
  const DType type = ctx.fact(0).dtype, wide = wideType(type);
  const ValueId sum = chain(ctx, BinaryKind::kAdd, wide);
  const ValueId count = scalar(ctx, wide, static_cast<double>(ctx.numInputs()), "count");
  setAs(ctx, ctx.add(ir::Binary{BinaryKind::kDiv}, {sum, count}, "mean"), type);
}

// --- With attributes -----------------------------------------------------------------------------

void importMod(ImportContext &ctx) {
  const bool truncates = ctx.attrs.flag("fmod", false);
  ctx.emit(ir::Binary{truncates ? BinaryKind::kFmod : BinaryKind::kMod},
           {ctx.required(0, "A"), ctx.required(1, "B")});
}

void importBitShift(ImportContext &ctx) {
  const std::string direction = ctx.attrs.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    refuseAttribute("direction", "value '" + direction + "', expected 'LEFT' or 'RIGHT'");
  ctx.emit(ir::Binary{direction == "LEFT" ? BinaryKind::kShiftLeft : BinaryKind::kShiftRight},
           {ctx.required(0, "X"), ctx.required(1, "Y")});
}

void importIsInf(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "X");
  const bool negative = ctx.attrs.flag("detect_negative", true);
  const bool positive = ctx.attrs.flag("detect_positive", true);
  if (negative && positive)
    return ctx.emit(ir::Unary{UnaryKind::kIsInf}, {x});
  if (!negative && !positive) // nothing is less than itself
    return ctx.emit(ir::Binary{BinaryKind::kLess}, {x, x});
  const double infinity = std::numeric_limits<double>::infinity();
  const ValueId bound = scalar(ctx, ctx.fact(0).dtype, positive ? infinity : -infinity, "infinity");
  ctx.emit(ir::Binary{BinaryKind::kEqual}, {x, bound});
}

// --- Clip ----------------------------------------------------------------------------------------

// A bound has one element and no influence on the shape.
ValueId clipBound(ImportContext &ctx, size_t input, const char *name) {
  if (!ctx.has(input) || ctx.fact(input).rank() == 0)
    return ctx.input(input);
  if (!ir::product(ctx.fact(input).shape).is(1))
    refuseInput(name, "shape " + ir::str(ctx.fact(input).shape) + ", expected a scalar");
  return ctx.add(ir::Reshape{{}}, {ctx.input(input)}, name);
}

// min above max gives max, as the operator text says.
void emitClip(ImportContext &ctx, ValueId low, ValueId high) {
  const ValueId x = ctx.required(0, "input");
  if (!low.valid() && !high.valid())
    return ctx.set(0, x);
  if (!high.valid())
    return ctx.emit(ir::Binary{BinaryKind::kMax}, {x, low});
  const ValueId raised =
      low.valid() ? ctx.add(ir::Binary{BinaryKind::kMax}, {x, low}, "at_least_min") : x;
  ctx.emit(ir::Binary{BinaryKind::kMin}, {raised, high});
}

void importClip(ImportContext &ctx) {
  const ValueId low = clipBound(ctx, 1, "min");
  emitClip(ctx, low, clipBound(ctx, 2, "max"));
}

void importClipAttributes(ImportContext &ctx) {
  const auto bound = [&](const char *name) {
    const std::optional<float> value = ctx.attrs.real(name);
    return value ? scalar(ctx, ctx.fact(0).dtype, *value, name) : ir::kNoValue;
  };
  ctx.required(0, "input");
  const ValueId low = bound("min");
  emitClip(ctx, low, bound("max"));
}

// --- Activations ---------------------------------------------------------------------------------

void importGelu(ImportContext &ctx) {
  const std::string approximate = ctx.attrs.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    refuseAttribute("approximate", "value '" + approximate + "', expected 'none' or 'tanh'");
  ctx.emit(ir::Unary{approximate == "tanh" ? UnaryKind::kGeluTanh : UnaryKind::kGelu},
           {ctx.required(0, "X")});
}

// x * sigmoid(alpha * x)
void importSwish(ImportContext &ctx, float alpha) {
  const ValueId input = ctx.required(0, "X");
  if (alpha == 1)
    return ctx.emit(ir::Unary{UnaryKind::kSilu}, {input});
  const DType type = ctx.fact(0).dtype, wide = wideType(type);
  const ValueId x = asType(ctx, input, wide, "wide");
  const ValueId factor = scalar(ctx, wide, alpha, "alpha");
  const ValueId scaled = ctx.add(ir::Binary{BinaryKind::kMul}, {x, factor}, "scaled");
  const ValueId gate = ctx.add(ir::Unary{UnaryKind::kSigmoid}, {scaled}, "gate");
  setAs(ctx, ctx.add(ir::Binary{BinaryKind::kMul}, {x, gate}, "gated"), type);
}

void importOnnxSwish(ImportContext &ctx) { importSwish(ctx, ctx.attrs.real("alpha", 1.0f)); }
void importQuickGelu(ImportContext &ctx) { importSwish(ctx, ctx.attrs.real("alpha", 1.702f)); }

// gelu(x + bias), in f32 between for f16 and bf16.
template <UnaryKind Kind> void importBiasedGelu(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "X");
  if (!ctx.has(1))
    return ctx.emit(ir::Unary{Kind}, {x});
  const DType type = ctx.fact(0).dtype, wide = wideType(type);
  const ValueId left = asType(ctx, x, wide, "wide");
  const ValueId right = asType(ctx, ctx.input(1), wide, "wide_bias");
  const ValueId sum = ctx.add(ir::Binary{BinaryKind::kAdd}, {left, right}, "biased");
  setAs(ctx, ctx.add(ir::Unary{Kind}, {sum}, "gelu"), type);
}

// --- Where, Cast, Dropout ------------------------------------------------------------------------

void importWhere(ImportContext &ctx) {
  ctx.emit(ir::Where{}, {ctx.required(0, "condition"), ctx.required(1, "X"), ctx.required(2, "Y")});
}

void importCast(ImportContext &ctx) {
  ctx.required(0, "input");
  const int64_t to = ctx.attrs.requiredInteger("to");
  const DType type = dtypeOf(static_cast<int32_t>(to));
  if (type == DType::kUndefined)
    refuseAttribute("to", "type " + typeName(static_cast<int32_t>(to)) + " is not supported");
  setAs(ctx, ctx.input(0), type);
}

void importCastLike(ImportContext &ctx) {
  ctx.required(0, "input");
  ctx.required(1, "target_type");
  setAs(ctx, ctx.input(0), ctx.fact(1).dtype);
}

// Whether a scalar bool input is known to be false.
bool isFalse(const ImportContext &ctx, size_t input) {
  const auto contents = ctx.contents(input);
  return contents && contents->size() == 1 && contents->front().is(0);
}

// Inference: the data as it is; every element is kept.
void importDropout(ImportContext &ctx) {
  const ValueId data = ctx.required(0, "data");
  if (ctx.has(2) && !isFalse(ctx, 2))
    refuseInput("training_mode", "not known to be false, expected inference");
  ctx.set(0, data);
  if (!ctx.wants(1))
    return;
  const ir::Shape shape = ctx.fact(0).shape;
  const DType type = ctx.opset < 10 ? ctx.fact(0).dtype : DType::kBool;
  const ValueId kept = scalar(ctx, type, 1, "kept");
  ctx.set(1, ctx.b.add1(ir::Fill{shape}, {kept}, "mask", ctx.outputName(1)));
}

} // namespace

// --- Table ---------------------------------------------------------------------------------------

template <UnaryKind Kind>
static constexpr ImporterRow unary(const char *type, int since, const char *types) {
  return {"", type, since, kLatest, 1, 1, 1, "", types, importUnary<Kind>, ""};
}

template <BinaryKind Kind>
static constexpr ImporterRow binary(const char *type, int since, const char *types) {
  return {"", type, since, kLatest, 2, 2, 1, "", types, importBinary<Kind>, ""};
}

llvm::ArrayRef<ImporterRow> elementwiseImporters() {
  static constexpr char kFloats[] = "f32 f16 bf16 f64";
  static constexpr char kNumbers[] = "f32 f16 bf16 f64 i8 u8 i16 u16 i32 u32 i64 u64";
  static constexpr char kIntegers[] = "i8 u8 i16 u16 i32 u32 i64 u64";
  static constexpr char kEqual[] = "f32 f16 bf16 f64 i8 u8 i16 u16 i32 u32 i64 u64 bool";
  static constexpr char kBool[] = "bool";
  static const ImporterRow kRows[] = {
      unary<UnaryKind::kAbs>("Abs", 6, kNumbers),
      unary<UnaryKind::kBitwiseNot>("BitwiseNot", 18, kIntegers),
      unary<UnaryKind::kCeil>("Ceil", 6, kFloats),
      unary<UnaryKind::kCos>("Cos", 7, kFloats),
      unary<UnaryKind::kErf>("Erf", 9, kFloats),
      unary<UnaryKind::kExp>("Exp", 6, kFloats),
      unary<UnaryKind::kFloor>("Floor", 6, kFloats),
      unary<UnaryKind::kIsNan>("IsNaN", 9, kFloats),
      unary<UnaryKind::kLog>("Log", 6, kFloats),
      unary<UnaryKind::kNeg>("Neg", 6, kNumbers),
      unary<UnaryKind::kNot>("Not", 1, kBool),
      unary<UnaryKind::kReciprocal>("Reciprocal", 6, kFloats),
      unary<UnaryKind::kRelu>("Relu", 6, kNumbers),
      unary<UnaryKind::kRound>("Round", 11, kFloats),
      unary<UnaryKind::kSigmoid>("Sigmoid", 6, kFloats),
      unary<UnaryKind::kSign>("Sign", 9, kNumbers),
      unary<UnaryKind::kSin>("Sin", 7, kFloats),
      unary<UnaryKind::kSoftplus>("Softplus", 1, kFloats),
      unary<UnaryKind::kSqrt>("Sqrt", 6, kFloats),
      unary<UnaryKind::kTanh>("Tanh", 6, kFloats),
      binary<BinaryKind::kAdd>("Add", 7, kNumbers),
      binary<BinaryKind::kAnd>("And", 7, kBool),
      binary<BinaryKind::kBitwiseAnd>("BitwiseAnd", 18, kIntegers),
      binary<BinaryKind::kBitwiseOr>("BitwiseOr", 18, kIntegers),
      binary<BinaryKind::kBitwiseXor>("BitwiseXor", 18, kIntegers),
      binary<BinaryKind::kDiv>("Div", 7, kNumbers),
      binary<BinaryKind::kEqual>("Equal", 7, kEqual),
      binary<BinaryKind::kGreater>("Greater", 7, kNumbers),
      binary<BinaryKind::kGreaterOrEqual>("GreaterOrEqual", 12, kNumbers),
      binary<BinaryKind::kLess>("Less", 7, kNumbers),
      binary<BinaryKind::kLessOrEqual>("LessOrEqual", 12, kNumbers),
      binary<BinaryKind::kMul>("Mul", 7, kNumbers),
      binary<BinaryKind::kOr>("Or", 7, kBool),
      binary<BinaryKind::kPow>("Pow", 7, kNumbers),
      binary<BinaryKind::kSub>("Sub", 7, kNumbers),
      binary<BinaryKind::kXor>("Xor", 7, kBool),
      {"", "BitShift", 11, kLatest, 2, 2, 1, "direction:string", "u8 u16 u32 u64", importBitShift,
       ""},
      {"", "Mod", 10, kLatest, 2, 2, 1, "fmod:int", kNumbers, importMod, ""},
      {"", "Max", 8, kLatest, 1, kLatest, 1, "", kNumbers, importVariadic<BinaryKind::kMax>, ""},
      {"", "Min", 8, kLatest, 1, kLatest, 1, "", kNumbers, importVariadic<BinaryKind::kMin>, ""},
      {"", "Sum", 8, kLatest, 1, kLatest, 1, "", kFloats, importVariadic<BinaryKind::kAdd>, ""},
      {"", "Mean", 8, kLatest, 1, kLatest, 1, "", kFloats, importMean, ""},
      {"", "Clip", 6, 10, 1, 1, 1, "min:float max:float", kFloats, importClipAttributes, ""},
      {"", "Clip", 11, kLatest, 1, 3, 1, "", kNumbers, importClip, ""},
      {"", "IsInf", 10, kLatest, 1, 1, 1, "detect_negative:int detect_positive:int", kFloats,
       importIsInf, ""},
      {"", "Where", 9, kLatest, 3, 3, 1, "", kBool, importWhere, ""},
      // saturate and round_mode say something about 8-bit floats only.
      {"", "Cast", 6, kLatest, 1, 1, 1, "to:int saturate:int round_mode:string", "", importCast,
       "strings, floats of fewer than 16 bits, 2-bit integers"},
      {"", "CastLike", 15, kLatest, 2, 2, 1, "saturate:int round_mode:string", "", importCastLike,
       "strings, floats of fewer than 16 bits, 2-bit integers"},
      {"", "Dropout", 7, 11, 1, 1, 2, "ratio:float", kFloats, importDropout, ""},
      {"", "Dropout", 12, kLatest, 1, 3, 2, "seed:int", kFloats, importDropout,
       "training_mode other than a constant false"},
      {"", "Gelu", 20, kLatest, 1, 1, 1, "approximate:string", kFloats, importGelu, ""},
      {"", "Swish", 24, kLatest, 1, 1, 1, "alpha:float", kFloats, importOnnxSwish, ""},
      {"com.microsoft", "Gelu", 1, kLatest, 1, 1, 1, "", kFloats, importUnary<UnaryKind::kGelu>,
       ""},
      {"com.microsoft", "QuickGelu", 1, kLatest, 1, 1, 1, "alpha:float", kFloats, importQuickGelu,
       ""},
      {"com.microsoft", "FastGelu", 1, kLatest, 1, 2, 1, "", kFloats,
       importBiasedGelu<UnaryKind::kGeluTanh>, ""},
      {"com.microsoft", "BiasGelu", 1, kLatest, 2, 2, 1, "", kFloats,
       importBiasedGelu<UnaryKind::kGelu>, ""},
  };
  return kRows;
}

} // namespace engine::frontend
