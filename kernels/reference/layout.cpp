// Operators that move elements without looking at them.
#include "kernels/reference/support.h"

namespace engine {
namespace reference {
namespace {

// --- Reshape, Transpose, Expand ------------------------------------------------------------------

// The result is dense: in row-major order it is the operand.
void copyReshaped(const KernelCall &call) {
  const View x = call.operand(0);
  copyView(x, reshaped(call.result(0), dimsOf(x)));
}

void runReshape(const ir::Reshape &, const KernelCall &call) { copyReshaped(call); }
void runReshapeTo(const ir::ReshapeTo &, const KernelCall &call) { copyReshaped(call); }

void runTranspose(const ir::Transpose &op, const KernelCall &call) {
  copyView(permuted(call.operand(0), op.perm), call.result(0));
}

void copyBroadcast(const KernelCall &call) {
  const View y = call.result(0);
  copyView(broadcastTo(call.operand(0), dimsOf(y)), y);
}

void runExpand(const ir::Expand &, const KernelCall &call) { copyBroadcast(call); }
void runExpandTo(const ir::ExpandTo &, const KernelCall &call) { copyBroadcast(call); }
void runFill(const ir::Fill &, const KernelCall &call) {
  const View value = call.operand(0), y = call.result(0);
  copyView(broadcastTo(reshaped(value, {}), dimsOf(y)), y);
}
void runFillTo(const ir::FillTo &, const KernelCall &call) { runFill({}, call); }

// --- Slice ---------------------------------------------------------------------------------------

void runSlice(const ir::Slice &op, const KernelCall &call) {
  const std::optional<View> part = asView(op, call.operand(0), call.symbols);
  if (!part)
    throw Error(std::string("slices of ") + dtypeName(call.operand(0).dtype) +
                " are not supported");
  copyView(*part, call.result(0));
}

// First element of a slice after ONNX's clamping; the result's dims tell how many there are.
int64_t clampedStart(int64_t start, int64_t step, int64_t size) {
  if (start < 0)
    start += size;
  return step > 0 ? std::clamp<int64_t>(start, 0, size) : std::clamp<int64_t>(start, -1, size - 1);
}

void runSliceAt(const ir::SliceAt &op, const KernelCall &call) {
  const View y = call.result(0);
  const auto starts = loadAll<int64_t>(call.operand(1));
  const View steps = call.operand(3);
  const auto stepValues =
      steps.present() ? loadAll<int64_t>(steps) : Elements<int64_t>(starts.size(), 1);
  View x = call.operand(0);
  if (y.count() == 0)
    return;
  for (size_t i = 0; i < op.axes.size(); ++i) {
    const int axis = normalAxis(op.axes[i], x.rank);
    const int64_t start = clampedStart(starts[i], stepValues[i], x.dims[axis]);
    x = sliced(x, axis, start, y.dims[axis], stepValues[i]);
  }
  copyView(x, y);
}

// --- Concat --------------------------------------------------------------------------------------

void runConcat(const ir::Concat &op, const KernelCall &call) {
  const View y = call.result(0);
  const int axis = normalAxis(op.axis, y.rank);
  int64_t start = 0;
  for (const View &x : call.operands) {
    for (int i = 0; i < y.rank; ++i)
      if (i != axis)
        requireDim(x, i, y.dims[i], "xs");
    copyView(x, sliced(y, axis, start, x.dims[axis]));
    start += x.dims[axis];
  }
}

// --- Pad, Tile: each axis of the result names the operand's index it copies ----------------------

using AxisMap = Elements<int64_t>;
constexpr int64_t kFilled = -1; // no source: stays as it is

void copyMapped(const View &x, const View &y, llvm::ArrayRef<AxisMap> maps) {
  if (maps.empty())
    return copyView(x, y);
  for (int64_t i = 0; i < y.dims[0]; ++i)
    if (maps.front()[i] != kFilled)
      copyMapped(select(x, 0, maps.front()[i]), select(y, 0, i), maps.drop_front());
}

int64_t floorMod(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r < 0 ? r + b : r;
}

// Source of position `i` of an axis of `size`, counted from the operand's first element.
int64_t padSource(ir::PadMode mode, int64_t i, int64_t size) {
  if (i >= 0 && i < size)
    return i;
  switch (mode) {
  case ir::PadMode::kConstant:
    return kFilled;
  case ir::PadMode::kEdge:
    return i < 0 ? 0 : size - 1;
  case ir::PadMode::kWrap:
    return floorMod(i, size);
  case ir::PadMode::kReflect:
    break;
  }
  if (size == 1)
    return 0;
  const int64_t folded = floorMod(i, 2 * (size - 1));
  return folded < size ? folded : 2 * (size - 1) - folded;
}

void fillZeroOr(const View &value, const View &y) {
  uint64_t zero = 0;
  const View filler = value.present() ? reshaped(value, {}) : makeView(&zero, y.dtype, {});
  copyView(broadcastTo(filler, dimsOf(y)), y);
}

void runPad(const ir::Pad &op, const KernelCall &call) {
  const View x = call.operand(0), y = call.result(0);
  if (op.mode == ir::PadMode::kConstant)
    fillZeroOr(call.operand(1), y);
  else if (x.count() == 0 && y.count() != 0)
    throw Error("pads of an empty tensor have nothing to repeat").at("operand 'x'");
  llvm::SmallVector<AxisMap, kMaxRank> maps(y.rank);
  for (int axis = 0; axis < y.rank; ++axis) {
    const int64_t before = op.pads[axis].evaluate(call.symbols);
    for (int64_t i = 0; i < y.dims[axis]; ++i)
      maps[axis].push_back(padSource(op.mode, i - before, x.dims[axis]));
  }
  copyMapped(x, y, maps);
}

void runTile(const ir::Tile &, const KernelCall &call) {
  const View x = call.operand(0), y = call.result(0);
  llvm::SmallVector<AxisMap, kMaxRank> maps(y.rank);
  for (int axis = 0; axis < y.rank; ++axis)
    for (int64_t i = 0; i < y.dims[axis]; ++i)
      maps[axis].push_back(i % x.dims[axis]);
  copyMapped(x, y, maps);
}

// --- Trilu ---------------------------------------------------------------------------------------

void runTrilu(const ir::Trilu &op, const KernelCall &call) {
  const View x = call.operand(0), y = call.result(0);
  const int64_t k = op.k.evaluate(call.symbols);
  fillZeroOr(View(), y);
  forEachInner({x, y}, y.rank - 2, [&](llvm::ArrayRef<View> matrices) {
    const int64_t rows = matrices[0].dims[0], columns = matrices[0].dims[1];
    for (int64_t r = 0; r < rows; ++r) {
      // Upper keeps columns from r + k on, lower those up to r + k.
      const int64_t diagonal = std::clamp<int64_t>(op.upper ? r + k : r + k + 1, 0, columns);
      const int64_t begin = op.upper ? diagonal : 0, end = op.upper ? columns : diagonal;
      copyView(sliced(select(matrices[0], 0, r), 0, begin, end - begin),
               sliced(select(matrices[1], 0, r), 0, begin, end - begin));
    }
  });
}

// --- Range ---------------------------------------------------------------------------------------

void runRange(const ir::Range &, const KernelCall &call) {
  const View y = call.result(0);
  withCompute(y.dtype, [&](auto compute) {
    using C = typename decltype(compute)::type;
    const C start = loadScalar<C>(call.operand(0)), delta = loadScalar<C>(call.operand(2));
    Elements<C> values;
    for (int64_t i = 0; i < y.count(); ++i)
      values.push_back(plus(start, times(static_cast<C>(i), delta)));
    storeAll<C>(y, values);
  });
}

} // namespace
} // namespace reference

llvm::ArrayRef<KernelRow> referenceLayoutRows() {
  using namespace reference;
  static const KernelRow kRows[] = {
      referenceRow<ir::Reshape, runReshape>(),
      referenceRow<ir::ReshapeTo, runReshapeTo>(),
      referenceRow<ir::Transpose, runTranspose>(),
      referenceRow<ir::Slice, runSlice>(),
      referenceRow<ir::SliceAt, runSliceAt>(),
      referenceRow<ir::Expand, runExpand>(),
      referenceRow<ir::ExpandTo, runExpandTo>(),
      referenceRow<ir::Concat, runConcat>(),
      referenceRow<ir::Pad, runPad>(),
      referenceRow<ir::Fill, runFill>(),
      referenceRow<ir::FillTo, runFillTo>(),
      referenceRow<ir::Range, runRange>(),
      referenceRow<ir::Tile, runTile>(),
      referenceRow<ir::Trilu, runTrilu>(),
  };
  return kRows;
}

} // namespace engine
