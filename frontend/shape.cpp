// Operators that ask for, change, cut or repeat shapes. Where the integers they take are known as
// dims, the result is an operator that carries them, and shape arithmetic stays symbolic; else one
// that reads them when it runs.
#include "frontend/input_checks.h"
#include "frontend/operands.h"
#include "ir/infer.h"

#include <algorithm>

namespace engine::frontend {

using ir::Dim;
using ir::ValueId;

namespace {

ir::Shape shapeOf(const ImportContext &ctx, size_t input) { return ctx.fact(input).shape; }

// --- Shape, Size ---------------------------------------------------------------------------------

void importShape(ImportContext &ctx) {
  ctx.required(0, "data");
  const ir::Shape shape = shapeOf(ctx, 0);
  const int64_t rank = static_cast<int64_t>(shape.size());
  const auto clamped = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t start = clamped(ctx.attrs.integer("start", 0));
  const int64_t end = std::max(start, clamped(ctx.attrs.integer("end", rank)));
  const ir::Shape part(shape.begin() + start, shape.begin() + end);
  ctx.emit(ir::DimValues{DType::kI64, {end - start}, part}, {});
}

void importSize(ImportContext &ctx) {
  ctx.required(0, "data");
  ctx.emit(ir::DimValues{DType::kI64, {}, {ir::product(shapeOf(ctx, 0))}}, {});
}

// --- Reshape and what it can say -----------------------------------------------------------------

void emitReshape(ImportContext &ctx, const ir::Shape &dims) {
  if (dims == shapeOf(ctx, 0))
    return ctx.set(0, ctx.input(0));
  ctx.emit(ir::Reshape{dims}, {ctx.input(0)});
}

// The target dims where they follow from what is known; absent: only the run can tell, or say what
// is wrong.
std::optional<ir::Shape> reshapeTarget(const ir::Shape &from, llvm::ArrayRef<Dim> asked,
                                       bool allowZero) {
  ir::Shape target;
  int inferred = -1;
  for (size_t i = 0; i < asked.size(); ++i) {
    Dim dim = asked[i];
    if (dim.is(-1) && inferred < 0) {
      inferred = static_cast<int>(i);
      dim = 1;
    } else if (dim.is(0) && !allowZero) {
      if (i >= from.size())
        return std::nullopt;
      dim = from[i];
    } else if (!ir::neverNegative(dim)) {
      return std::nullopt;
    }
    target.push_back(dim);
  }
  if (inferred < 0)
    return target;
  const Dim others = ir::product(target);
  const std::optional<Dim> rest = others.is(0) ? std::nullopt : ir::product(from).dividedBy(others);
  if (!rest)
    return std::nullopt;
  target[inferred] = *rest;
  return target;
}

void importReshape(ImportContext &ctx) {
  ctx.required(0, "data");
  ctx.required(1, "shape");
  const bool allowZero = ctx.attrs.flag("allowzero", false);
  if (const auto asked = ctx.contents(1))
    if (const auto target = reshapeTarget(shapeOf(ctx, 0), *asked, allowZero))
      return emitReshape(ctx, *target);
  const int64_t rank = lengthOf(ctx, 1, "shape");
  ctx.emit(ir::ReshapeTo{rank, allowZero}, {ctx.input(0), asInt64(ctx, ctx.input(1))});
}

void importFlatten(ImportContext &ctx) {
  ctx.required(0, "input");
  const ir::Shape shape = shapeOf(ctx, 0);
  const int64_t rank = static_cast<int64_t>(shape.size());
  const int64_t given = ctx.attrs.integer("axis", 1);
  if (given < -rank || given > rank)
    refuseValue("axis", given, "-" + std::to_string(rank) + " to " + std::to_string(rank));
  const int64_t axis = given < 0 ? given + rank : given;
  const llvm::ArrayRef<Dim> dims = shape;
  emitReshape(ctx, {ir::product(dims.take_front(axis)), ir::product(dims.drop_front(axis))});
}

// Axes are an attribute before opset 13.
IntsFrom axesOf(const ImportContext &ctx) { return {1, "axes", ctx.opset >= 13}; }

// Without axes: those of one element. A symbol is not known to be more.
Ints axesOfOne(const ImportContext &ctx, const IntsFrom &from) {
  Ints axes;
  const ir::Shape shape = shapeOf(ctx, 0);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].isConstant())
      throw Error("missing, expected for a tensor of symbolic shape " + ir::str(shape))
          .at(whereOf(from));
    if (shape[i].is(1))
      axes.push_back(static_cast<int64_t>(i));
  }
  return axes;
}

void importSqueeze(ImportContext &ctx) {
  ctx.required(0, "data");
  const ir::Shape shape = shapeOf(ctx, 0);
  const IntsFrom from = axesOf(ctx);
  const std::optional<Ints> given = intsFrom(ctx, from);
  const Ints axes = given ? axesInRange(*given, static_cast<int64_t>(shape.size()), whereOf(from))
                          : axesOfOne(ctx, from);
  ir::Shape kept, squeezed;
  for (size_t i = 0; i < shape.size(); ++i)
    (llvm::is_contained(axes, static_cast<int64_t>(i)) ? squeezed : kept).push_back(shape[i]);
  for (const Dim &dim : squeezed)
    if (dim.isConstant() && !dim.is(1))
      refuseInput("data", "shape " + ir::str(shape) + ", expected 1 at the axes to squeeze");
  emitReshape(ctx, kept);
}

void importUnsqueeze(ImportContext &ctx) {
  ctx.required(0, "data");
  const ir::Shape shape = shapeOf(ctx, 0);
  const IntsFrom from = axesOf(ctx);
  const std::optional<Ints> given = intsFrom(ctx, from);
  if (!given)
    throw Error("missing").at(whereOf(from));
  const Ints axes =
      axesInRange(*given, static_cast<int64_t>(shape.size() + given->size()), whereOf(from));
  ir::Shape dims = shape;
  for (int64_t axis : axes) // ascending: each index is the result's
    dims.insert(dims.begin() + axis, Dim(1));
  emitReshape(ctx, dims);
}

// --- Transpose, Expand, Concat, Tile -------------------------------------------------------------

void importTranspose(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "data");
  const int rank = ctx.fact(0).rank();
  std::optional<Ints> perm = ctx.attrs.integers("perm");
  if (!perm) {
    perm.emplace();
    for (int axis = rank - 1; axis >= 0; --axis)
      perm->push_back(axis);
  }
  if (perm->size() != static_cast<size_t>(rank))
    refuseAttribute("perm",
                    std::to_string(perm->size()) + " axes, expected " + std::to_string(rank));
  for (int64_t &axis : *perm)
    axis = axisInRange(axis, rank, "attribute 'perm'");
  ctx.emit(ir::Transpose{*perm}, {x});
}

void importExpand(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "input");
  ctx.required(1, "shape");
  const auto asked = ctx.contents(1);
  if (asked && llvm::all_of(*asked, ir::neverNegative))
    return ctx.emit(ir::Expand{ir::Shape(*asked)}, {x});
  const int64_t rank = std::max<int64_t>(ctx.fact(0).rank(), lengthOf(ctx, 1, "shape"));
  ctx.emit(ir::ExpandTo{rank}, {x, asInt64(ctx, ctx.input(1))});
}

void importConcat(ImportContext &ctx) {
  ctx.required(0, "inputs");
  const int64_t axis =
      axisInRange(ctx.attrs.requiredInteger("axis"), ctx.fact(0).rank(), "attribute 'axis'");
  if (ctx.numInputs() == 1)
    return ctx.set(0, ctx.input(0));
  ir::Values parts;
  for (size_t i = 0; i < ctx.numInputs(); ++i)
    parts.push_back(ctx.required(i, "inputs[" + std::to_string(i) + "]"));
  ctx.emit(ir::Concat{axis}, parts);
}

void importTile(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "input");
  const Dims repeats = knownDims(ctx, 1, "repeats");
  if (repeats.size() != shapeOf(ctx, 0).size())
    refuseInput("repeats", std::to_string(repeats.size()) + " elements, expected one an axis of " +
                               ir::str(shapeOf(ctx, 0)));
  ctx.emit(ir::Tile{ir::Shape(repeats)}, {x});
}

// --- Slice ---------------------------------------------------------------------------------------

struct SliceBounds {
  Ints axes;
  Dims starts, ends;
  Ints steps;
};

// One Slice an axis that loses elements; absent where a sign or a step is not known.
std::optional<llvm::SmallVector<ir::Slice, 4>> slicesOf(const ir::Shape &shape,
                                                        const SliceBounds &bounds) {
  llvm::SmallVector<ir::Slice, 4> slices;
  for (size_t i = 0; i < bounds.axes.size(); ++i) {
    const int64_t axis = bounds.axes[i], step = bounds.steps[i];
    const auto range = ir::sliceRange(bounds.starts[i], bounds.ends[i], step, shape[axis]);
    if (!range)
      return std::nullopt;
    const bool whole = step == 1 && range->start.is(0) && range->length == shape[axis];
    if (!whole)
      slices.push_back({axis, range->start, range->length, step});
  }
  return slices;
}

void emitSlices(ImportContext &ctx, llvm::ArrayRef<ir::Slice> slices) {
  ValueId x = ctx.input(0);
  if (slices.empty())
    return ctx.set(0, x);
  for (const ir::Slice &slice : slices.drop_back())
    x = ctx.add(slice, {x}, "axis_" + std::to_string(slice.axis));
  ctx.emit(slices.back(), {x});
}

Ints firstAxes(size_t count) {
  Ints axes;
  for (size_t i = 0; i < count; ++i)
    axes.push_back(static_cast<int64_t>(i));
  return axes;
}

// In the order given: starts and ends go with them.
Ints sliceAxes(const ImportContext &ctx, const std::optional<Ints> &given, size_t count,
               const IntsFrom &from) {
  const int64_t rank = ctx.fact(0).rank();
  Ints axes;
  for (int64_t axis : given ? *given : firstAxes(count))
    axes.push_back(axisInRange(axis, rank, whereOf(from)));
  axesInRange(axes, rank, whereOf(from)); // each once
  if (axes.size() != count)
    throw Error(std::to_string(axes.size()) + " axes, expected " + std::to_string(count))
        .at(whereOf(from));
  return axes;
}

void importSliceAttributes(ImportContext &ctx) {
  ctx.required(0, "data");
  const auto starts = ctx.attrs.integers("starts"), ends = ctx.attrs.integers("ends");
  if (!starts || !ends || starts->size() != ends->size())
    refuseAttribute("ends", "expected starts and ends of one length");
  SliceBounds bounds;
  bounds.axes = sliceAxes(ctx, ctx.attrs.integers("axes"), starts->size(), {0, "axes", false});
  bounds.starts.append(starts->begin(), starts->end());
  bounds.ends.append(ends->begin(), ends->end());
  bounds.steps.assign(starts->size(), 1);
  emitSlices(ctx, slicesOf(shapeOf(ctx, 0), bounds).value());
}

// The bounds where they are known.
std::optional<llvm::SmallVector<ir::Slice, 4>> knownSlices(const ImportContext &ctx,
                                                           const Ints &axes) {
  const auto starts = ctx.contents(1), ends = ctx.contents(2);
  SliceBounds bounds;
  bounds.axes = axes;
  bounds.steps.assign(axes.size(), 1);
  if (ctx.has(4)) {
    const auto steps = ctx.contents(4);
    if (!steps || !llvm::all_of(*steps, [](const Dim &step) { return step.isConstant(); }))
      return std::nullopt;
    for (size_t i = 0; i < axes.size(); ++i)
      bounds.steps[i] = *(*steps)[i].constant();
  }
  if (!starts || !ends)
    return std::nullopt;
  bounds.starts = *starts;
  bounds.ends = *ends;
  return slicesOf(shapeOf(ctx, 0), bounds);
}

void importSlice(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "data");
  const int64_t count = lengthOf(ctx, 1, "starts");
  const IntsFrom axesFrom = {3, "axes", true};
  const Ints axes = sliceAxes(ctx, intsFrom(ctx, axesFrom), static_cast<size_t>(count), axesFrom);
  const auto expectCount = [&](size_t input, const char *name) {
    if (lengthOf(ctx, input, name) != count)
      refuseInput(name, "shape " + ir::str(shapeOf(ctx, input)) + ", expected as many as starts");
  };
  expectCount(2, "ends");
  if (ctx.has(4))
    expectCount(4, "steps");
  if (const auto slices = knownSlices(ctx, axes))
    return emitSlices(ctx, *slices);
  const ValueId starts = asInt64(ctx, ctx.input(1)), ends = asInt64(ctx, ctx.input(2));
  const ValueId steps = ctx.has(4) ? asInt64(ctx, ctx.input(4)) : ir::kNoValue;
  ctx.emit(ir::SliceAt{axes}, {x, starts, ends, steps});
}

// --- Split ---------------------------------------------------------------------------------------

// Parts of equal length; the last one is shorter from opset 18 on, if it must be.
Dims equalParts(const ImportContext &ctx, const Dim &length, int64_t count) {
  if (const auto exact = length.dividedBy(count))
    return Dims(count, *exact);
  const bool uneven = ctx.opset >= 18;
  if (length.isConstant() && !uneven)
    refuseInput("input", "length " + length.str() + " of the axis, expected a multiple of the " +
                             std::to_string(count) + " outputs");
  const Dim part = Dim::floorDiv(uneven ? length + (count - 1) : length, count);
  Dims parts(count, part);
  if (uneven)
    parts.back() = Dim::max(length - part * (count - 1), 0);
  return parts;
}

// Trailing outputs that nobody named may lack: there are at least as many parts as outputs.
Dims splitParts(const ImportContext &ctx, const Dim &length) {
  const int64_t outputs = static_cast<int64_t>(ctx.numOutputs());
  const int64_t count = ctx.attrs.integer("num_outputs", outputs);
  const IntsFrom from = {1, "split", ctx.opset >= 13};
  Dims parts;
  if (from.isInput && ctx.has(1)) {
    parts = knownDims(ctx, 1, "split");
  } else if (const auto given = ctx.attrs.integers("split"); !from.isInput && given) {
    parts.append(given->begin(), given->end());
  } else {
    if (count < std::max<int64_t>(outputs, 1))
      refuseValue("num_outputs", count, "the " + std::to_string(outputs) + " outputs of the node");
    return equalParts(ctx, length, count);
  }
  if (static_cast<int64_t>(parts.size()) < outputs)
    throw Error(std::to_string(parts.size()) + " parts, expected one for each of the " +
                std::to_string(outputs) + " outputs")
        .at(whereOf(from));
  return parts;
}

void importSplit(ImportContext &ctx) {
  ctx.required(0, "input");
  const int64_t axis = axisAttribute(ctx, 0, ctx.fact(0).rank());
  const Dim length = shapeOf(ctx, 0)[axis];
  const Dims parts = splitParts(ctx, length);
  Dim sum = 0;
  for (const Dim &part : parts)
    sum = sum + part;
  const ValueId x = checkDims(ctx, ctx.input(0), {sum}, {DimRule(length)}, "split");
  Dim start = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (ctx.wants(i))
      ctx.set(i, ctx.b.add1(ir::Slice{axis, start, parts[i], 1}, {x}, "part_" + std::to_string(i),
                            ctx.outputName(i)));
    start = start + parts[i];
  }
}

// --- Pad -----------------------------------------------------------------------------------------

ir::PadMode padMode(const ImportContext &ctx) {
  const std::string mode = ctx.attrs.text("mode", "constant");
  const ir::Names names = ir::enumNames(ir::PadMode());
  for (size_t i = 0; i < names.size(); ++i)
    if (mode == names[i])
      return static_cast<ir::PadMode>(i);
  refuseAttribute("mode", "value '" + mode + "', expected 'constant', 'reflect', 'edge' or 'wrap'");
}

// Pads of the axes given, before and after, as pads of all axes.
ir::Shape padsOfAll(llvm::ArrayRef<Dim> pads, const Ints &axes, size_t rank,
                    const std::string &where) {
  if (pads.size() != 2 * axes.size())
    throw Error(std::to_string(pads.size()) + " elements, expected " +
                std::to_string(2 * axes.size()))
        .at(where);
  ir::Shape all(2 * rank, Dim(0));
  for (size_t i = 0; i < axes.size(); ++i) {
    all[axes[i]] = pads[i];
    all[rank + axes[i]] = pads[axes.size() + i];
  }
  return all;
}

void importPadAttributes(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "data");
  const size_t rank = shapeOf(ctx, 0).size();
  const auto given = ctx.attrs.integers("pads");
  if (!given)
    refuseAttribute("pads", "missing");
  const Dims pads(given->begin(), given->end());
  const ir::PadMode mode = padMode(ctx);
  const float value = ctx.attrs.real("value", 0.0f);
  ir::Values operands = {x};
  if (mode == ir::PadMode::kConstant && value != 0)
    operands.push_back(scalar(ctx, ctx.fact(0).dtype, value, "value"));
  ctx.emit(ir::Pad{mode, padsOfAll(pads, firstAxes(rank), rank, "attribute 'pads'")}, operands);
}

void importPad(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "data");
  const size_t rank = shapeOf(ctx, 0).size();
  const IntsFrom axesFrom = {3, "axes", true};
  const std::optional<Ints> given = intsFrom(ctx, axesFrom);
  const Ints axes = sliceAxes(ctx, given, given ? given->size() : rank, axesFrom);
  const ir::Shape pads = padsOfAll(knownDims(ctx, 1, "pads"), axes, rank, "input 'pads'");
  const ir::PadMode mode = padMode(ctx);
  ir::Values operands = {x};
  if (mode == ir::PadMode::kConstant && ctx.has(2))
    operands.push_back(ctx.input(2));
  ctx.emit(ir::Pad{mode, pads}, operands);
}

// --- ConstantOfShape, Range, Trilu ---------------------------------------------------------------

void importConstantOfShape(ImportContext &ctx) {
  ctx.required(0, "input");
  const ir::ConstRef given = ctx.attrs.tensor("value");
  if (given && given->count() != 1)
    refuseAttribute("value", std::to_string(given->count()) + " elements, expected 1");
  const ValueId value =
      ctx.b.constant(given ? given : ir::makeFloatConst(DType::kF32, {}, {0.0}), "value");
  const auto dims = ctx.contents(0);
  if (dims && llvm::all_of(*dims, ir::neverNegative))
    return ctx.emit(ir::Fill{ir::Shape(*dims)}, {value});
  ctx.emit(ir::FillTo{lengthOf(ctx, 0, "input")}, {value, asInt64(ctx, ctx.input(0))});
}

void importRange(ImportContext &ctx) {
  if (const int64_t stash = ctx.attrs.integer("stash_type", 1); stash != 1)
    refuseValue("stash_type", stash, "1");
  ctx.emit(ir::Range{},
           {ctx.required(0, "start"), ctx.required(1, "limit"), ctx.required(2, "delta")});
}

void importTrilu(ImportContext &ctx) {
  const ValueId x = ctx.required(0, "input");
  const bool upper = ctx.attrs.flag("upper", true);
  const Dim k = ctx.has(1) ? knownDim(ctx, 1, "k") : Dim(0);
  ctx.emit(ir::Trilu{upper, k}, {x});
}

} // namespace

llvm::ArrayRef<ImporterRow> shapeImporters() {
  static const ImporterRow kRows[] = {
      {"", "Shape", 1, 14, 1, 1, 1, "", "", importShape, ""},
      {"", "Shape", 15, kLatest, 1, 1, 1, "start:int end:int", "", importShape, ""},
      {"", "Size", 1, kLatest, 1, 1, 1, "", "", importSize, ""},
      {"", "Reshape", 5, 13, 2, 2, 1, "", "", importReshape, ""},
      {"", "Reshape", 14, kLatest, 2, 2, 1, "allowzero:int", "", importReshape, ""},
      {"", "Flatten", 1, kLatest, 1, 1, 1, "axis:int", "", importFlatten, ""},
      {"", "Squeeze", 1, 12, 1, 1, 1, "axes:ints", "", importSqueeze, ""},
      {"", "Squeeze", 13, kLatest, 1, 2, 1, "", "", importSqueeze,
       "axes that only the run knows; no axes, where a dim is symbolic"},
      {"", "Unsqueeze", 1, 12, 1, 1, 1, "axes:ints", "", importUnsqueeze, ""},
      {"", "Unsqueeze", 13, kLatest, 2, 2, 1, "", "", importUnsqueeze,
       "axes that only the run knows"},
      {"", "Transpose", 1, kLatest, 1, 1, 1, "perm:ints", "", importTranspose, ""},
      {"", "Expand", 8, kLatest, 2, 2, 1, "", "", importExpand, ""},
      {"", "Concat", 4, kLatest, 1, kLatest, 1, "axis:int", "", importConcat, ""},
      {"", "Tile", 6, kLatest, 2, 2, 1, "", "", importTile, "repeats that only the run knows"},
      {"", "Slice", 1, 9, 1, 1, 1, "axes:ints starts:ints ends:ints", "", importSliceAttributes,
       ""},
      {"", "Slice", 10, kLatest, 3, 5, 1, "", "", importSlice, "axes that only the run knows"},
      {"", "Split", 2, 12, 1, 1, kLatest, "axis:int split:ints", "", importSplit, ""},
      {"", "Split", 13, 17, 1, 2, kLatest, "axis:int", "", importSplit,
       "split that only the run knows"},
      {"", "Split", 18, kLatest, 1, 2, kLatest, "axis:int num_outputs:int", "", importSplit,
       "split that only the run knows"},
      {"", "Pad", 2, 10, 1, 1, 1, "mode:string pads:ints value:float", "", importPadAttributes, ""},
      {"", "Pad", 11, 17, 2, 3, 1, "mode:string", "", importPad, "pads that only the run knows"},
      {"", "Pad", 18, kLatest, 2, 4, 1, "mode:string", "", importPad,
       "pads and axes that only the run knows"},
      {"", "ConstantOfShape", 9, kLatest, 1, 1, 1, "value:tensor", "i64", importConstantOfShape,
       ""},
      {"", "Range", 11, 26, 3, 3, 1, "", "f32 f64 i16 i32 i64", importRange, ""},
      {"", "Range", 27, kLatest, 3, 3, 1, "stash_type:int", "f32 f16 bf16 f64 i16 i32 i64",
       importRange, ""},
      {"", "Trilu", 14, kLatest, 1, 2, 1, "upper:int", "", importTrilu,
       "k that only the run knows"},
  };
  return kRows;
}

} // namespace engine::frontend
