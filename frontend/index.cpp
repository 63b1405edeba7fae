// Gathers, scatters and TopK.
#include "frontend/input_checks.h"
#include "frontend/operands.h"

namespace engine::frontend {

using ir::ValueId;

namespace {

// --- Gather --------------------------------------------------------------------------------------

void importGather(ImportContext &ctx) {
  const ValueId data = ctx.required(0, "data"), indices = ctx.required(1, "indices");
  ctx.emit(ir::Gather{axisAttribute(ctx, 0, ctx.fact(0).rank())}, {data, indices});
}

void importGatherElements(ImportContext &ctx) {
  const ValueId data = ctx.required(0, "data"), indices = ctx.required(1, "indices");
  ctx.emit(ir::GatherElements{axisAttribute(ctx, 0, ctx.fact(0).rank())}, {data, indices});
}

void importGatherNd(ImportContext &ctx) {
  const ValueId data = ctx.required(0, "data"), indices = ctx.required(1, "indices");
  ctx.emit(ir::GatherNd{ctx.attrs.integer("batch_dims", 0)}, {data, indices});
}

// --- Scatter -------------------------------------------------------------------------------------

// "add" and "mul" from opset 16 on, "max" and "min" from 18 on.
ir::ScatterReduction reductionOf(const ImportContext &ctx) {
  const std::string reduction = ctx.attrs.text("reduction", "none");
  const ir::Names names = ir::enumNames(ir::ScatterReduction());
  const size_t known = ctx.opset < 18 ? 3 : names.size();
  for (size_t i = 0; i < known; ++i)
    if (reduction == names[i])
      return static_cast<ir::ScatterReduction>(i);
  std::string expected;
  for (size_t i = 0; i < known; ++i)
    expected += (i == 0 ? "'" : ", '") + std::string(names[i]) + "'";
  refuseAttribute("reduction", "value '" + reduction + "', expected one of " + expected);
}

void importScatterNd(ImportContext &ctx) {
  const ValueId data = ctx.required(0, "data"), indices = ctx.required(1, "indices");
  ctx.emit(ir::ScatterNd{reductionOf(ctx)}, {data, indices, ctx.required(2, "updates")});
}

void importScatterElements(ImportContext &ctx) {
  const ValueId data = ctx.required(0, "data"), indices = ctx.required(1, "indices");
  const int64_t axis = axisAttribute(ctx, 0, ctx.fact(0).rank());
  ctx.emit(ir::ScatterElements{axis, reductionOf(ctx)},
           {data, indices, ctx.required(2, "updates")});
}

// --- TopK ----------------------------------------------------------------------------------------

void importTopK(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "X");
  ir::TopK op;
  op.axis = axisAttribute(ctx, -1, ctx.fact(0).rank());
  op.k = ctx.opset < 10 ? ir::Dim(ctx.attrs.requiredInteger("k")) : knownDim(ctx, 1, "K");
  op.largest = ctx.attrs.flag("largest", true);
  ctx.attrs.flag("sorted", true); // sorted results are what an unsorted request may get too
  const bool wanted[] = {ctx.wants(0), ctx.wants(1)};
  const std::string names[] = {ctx.outputName(0), ctx.outputName(1)};
  const ir::Values results = ctx.b.add(op, {x}, "", names, wanted);
  for (size_t i = 0; i < 2; ++i)
    if (ctx.wants(i))
      ctx.set(i, results[i]);
}

} // namespace

llvm::ArrayRef<ImporterRow> indexImporters() {
  static constexpr char kNumbers[] = "f32 f16 bf16 f64 i8 u8 i16 u16 i32 u32 i64 u64";
  static const ImporterRow kRows[] = {
      {"", "Gather", 1, kLatest, 2, 2, 1, "axis:int", "", importGather, ""},
      {"", "GatherElements", 11, kLatest, 2, 2, 1, "axis:int", "", importGatherElements, ""},
      {"", "GatherND", 11, 11, 2, 2, 1, "", "", importGatherNd, ""},
      {"", "GatherND", 12, kLatest, 2, 2, 1, "batch_dims:int", "", importGatherNd, ""},
      {"", "ScatterND", 11, 15, 3, 3, 1, "", "", importScatterNd, ""},
      {"", "ScatterND", 16, kLatest, 3, 3, 1, "reduction:string", "", importScatterNd, ""},
      {"", "ScatterElements", 11, 15, 3, 3, 1, "axis:int", "", importScatterElements, ""},
      {"", "ScatterElements", 16, kLatest, 3, 3, 1, "axis:int reduction:string", "",
       importScatterElements, ""},
      {"", "TopK", 1, 9, 1, 1, 2, "axis:int k:int", kNumbers, importTopK, ""},
      {"", "TopK", 10, 10, 2, 2, 2, "axis:int", kNumbers, importTopK, "K that only the run knows"},
      {"", "TopK", 11, kLatest, 2, 2, 2, "axis:int largest:int sorted:int", kNumbers, importTopK,
       "K that only the run knows"},
  };
  return kRows;
}

} // namespace engine::frontend
