// Reductions, ArgMax, ArgMin and CumSum.
#include "frontend/input_checks.h"
#include "frontend/operands.h"

namespace engine::frontend {

using ir::ReduceKind;
using ir::ValueId;

namespace {

// --- Reduce --------------------------------------------------------------------------------------

// Axes are an attribute before opset 13 (ReduceSum) or 18 (the others).
template <ReduceKind Kind> constexpr int axesInputSince() {
  return Kind == ReduceKind::kSum ? 13 : 18;
}

// What is left of a reduction over no axes: the steps on single elements.
void emitElementwise(ImportContext &ctx, ReduceKind kind) {
  const ValueId x = ctx.input(0);
  switch (kind) {
  case ReduceKind::kSumSquare:
    return ctx.emit(ir::Binary{ir::BinaryKind::kMul}, {x, x});
  case ReduceKind::kL1:
  case ReduceKind::kL2:
    return ctx.emit(ir::Unary{ir::UnaryKind::kAbs}, {x});
  case ReduceKind::kLogSum:
    return ctx.emit(ir::Unary{ir::UnaryKind::kLog}, {x});
  default:
    return ctx.set(0, x);
  }
}

// No axes, or an empty list: all, unless noop_with_empty_axes.
Ints reducedAxes(const ImportContext &ctx, const IntsFrom &from) {
  const int64_t rank = ctx.fact(0).rank();
  const std::optional<Ints> given = intsFrom(ctx, from);
  if (given && !given->empty())
    return axesInRange(*given, rank, whereOf(from));
  Ints axes;
  if (!ctx.attrs.flag("noop_with_empty_axes", false))
    for (int64_t axis = 0; axis < rank; ++axis)
      axes.push_back(axis);
  return axes;
}

template <ReduceKind Kind> void importReduce(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "data");
  const bool keepDims = ctx.attrs.flag("keepdims", true);
  const Ints axes = reducedAxes(ctx, {1, "axes", ctx.opset >= axesInputSince<Kind>()});
  if (axes.empty())
    return emitElementwise(ctx, Kind);
  ctx.emit(ir::Reduce{Kind, axes, keepDims}, {x});
}

// --- ArgMax, ArgMin, CumSum ----------------------------------------------------------------------

template <bool Largest> void importArgReduce(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "data");
  ir::ArgReduce op;
  op.largest = Largest;
  op.axis = axisAttribute(ctx, 0, ctx.fact(0).rank());
  op.keepDims = ctx.attrs.flag("keepdims", true);
  op.lastIndex = ctx.attrs.flag("select_last_index", false);
  ctx.emit(op, {x});
}

void importCumSum(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "x");
  const Ints axis = knownInts(ctx, 1, "axis");
  if (axis.size() != 1)
    refuseInput("axis", std::to_string(axis.size()) + " elements, expected 1");
  ir::CumSum op;
  op.axis = axisInRange(axis.front(), ctx.fact(0).rank(), "input 'axis'");
  op.exclusive = ctx.attrs.flag("exclusive", false);
  op.reverse = ctx.attrs.flag("reverse", false);
  ctx.emit(op, {x});
}

constexpr char kNumbers[] = "f32 f16 bf16 f64 i32 u32 i64 u64";
constexpr char kOrdered[] = "f32 f16 bf16 f64 i8 u8 i16 u16 i32 u32 i64 u64 bool";
constexpr char kRunAxes[] = "axes that only the run knows";

// The two forms of a reduction: axes as an attribute, then as an input.
template <ReduceKind Kind>
void addReduce(std::vector<ImporterRow> &rows, const char *type, const char *types) {
  constexpr int kSince = axesInputSince<Kind>();
  rows.push_back(
      {"", type, 1, kSince - 1, 1, 1, 1, "axes:ints keepdims:int", types, importReduce<Kind>, ""});
  rows.push_back({"", type, kSince, kLatest, 1, 2, 1, "keepdims:int noop_with_empty_axes:int",
                  types, importReduce<Kind>, kRunAxes});
}

std::vector<ImporterRow> reduceRows() {
  static constexpr char kArg[] = "axis:int keepdims:int";
  static constexpr char kArgLast[] = "axis:int keepdims:int select_last_index:int";
  std::vector<ImporterRow> rows = {
      {"", "ArgMax", 1, 11, 1, 1, 1, kArg, kOrdered, importArgReduce<true>, ""},
      {"", "ArgMax", 12, kLatest, 1, 1, 1, kArgLast, kOrdered, importArgReduce<true>, ""},
      {"", "ArgMin", 1, 11, 1, 1, 1, kArg, kOrdered, importArgReduce<false>, ""},
      {"", "ArgMin", 12, kLatest, 1, 1, 1, kArgLast, kOrdered, importArgReduce<false>, ""},
      {"", "CumSum", 11, kLatest, 2, 2, 1, "exclusive:int reverse:int", kNumbers, importCumSum,
       "axis that only the run knows"},
  };
  addReduce<ReduceKind::kL1>(rows, "ReduceL1", kNumbers);
  addReduce<ReduceKind::kL2>(rows, "ReduceL2", kNumbers);
  addReduce<ReduceKind::kLogSum>(rows, "ReduceLogSum", kNumbers);
  addReduce<ReduceKind::kLogSumExp>(rows, "ReduceLogSumExp", kNumbers);
  addReduce<ReduceKind::kMax>(rows, "ReduceMax", kOrdered);
  addReduce<ReduceKind::kMean>(rows, "ReduceMean", kNumbers);
  addReduce<ReduceKind::kMin>(rows, "ReduceMin", kOrdered);
  addReduce<ReduceKind::kProd>(rows, "ReduceProd", kNumbers);
  addReduce<ReduceKind::kSum>(rows, "ReduceSum", kNumbers);
  addReduce<ReduceKind::kSumSquare>(rows, "ReduceSumSquare", kNumbers);
  return rows;
}

} // namespace

llvm::ArrayRef<ImporterRow> reduceImporters() {
  static const std::vector<ImporterRow> kRows = reduceRows();
  return kRows;
}

} // namespace engine::frontend
