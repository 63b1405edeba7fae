// Gathers and scatters, TopK: operators whose operands hold positions.
#include "kernels/reference/support.h"

#include <cmath>
#include <numeric>

namespace engine {
namespace reference {
namespace {

// Calls f with each index tuple of `dims`, row-major.
void forEachIndex(llvm::ArrayRef<int64_t> dims, llvm::function_ref<void(const Index &)> f) {
  for (int64_t dim : dims)
    if (dim == 0)
      return;
  Index index(dims.size(), 0);
  while (true) {
    f(index);
    size_t axis = dims.size();
    while (axis > 0 && ++index[axis - 1] == dims[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return;
  }
}

// The part of a view that remains after fixing its first axes.
View at(View view, llvm::ArrayRef<int64_t> index) {
  for (int64_t i : index)
    view = select(view, 0, i);
  return view;
}

// --- Gather --------------------------------------------------------------------------------------

void runGather(const ir::Gather &op, const KernelCall &call) {
  const View x = call.operand(0), indices = call.operand(1);
  const int axis = normalAxis(op.axis, x.rank);
  const auto flat = loadAll<int64_t>(indices);
  if (call.result(0).count() == 0) {
    for (int64_t index : flat)
      checkedIndex(index, x.dims[axis], "indices");
    return;
  }
  // The index axes of the result as one.
  Index dims(x.dims, x.dims + x.rank);
  dims[axis] = static_cast<int64_t>(flat.size());
  const View y = reshaped(call.result(0), dims);
  for (size_t i = 0; i < flat.size(); ++i)
    copyView(select(x, axis, checkedIndex(flat[i], x.dims[axis], "indices")),
             select(y, axis, static_cast<int64_t>(i)));
}

// Indices for single elements: off the indexed axis they must be elements of x's too.
void requireInside(const View &indices, const View &x, int axis) {
  for (int i = 0; i < x.rank; ++i)
    if (i != axis && indices.dims[i] > x.dims[i])
      requireDim(indices, i, x.dims[i], "indices");
}

void runGatherElements(const ir::GatherElements &op, const KernelCall &call) {
  const View x = call.operand(0), y = call.result(0);
  const int axis = normalAxis(op.axis, x.rank);
  requireInside(call.operand(1), x, axis);
  const auto flat = loadAll<int64_t>(call.operand(1));
  const int64_t *next = flat.data();
  forEachIndex(dimsOf(y), [&](const Index &to) {
    Index from = to;
    from[axis] = checkedIndex(*next++, x.dims[axis], "indices");
    copyView(at(x, from), at(y, to));
  });
}

// Rows of the last axis of `indices`: each names a part of a view whose first axes it fixes.
Index tupleAt(const View &indices, llvm::ArrayRef<int64_t> position, llvm::ArrayRef<int64_t> dims) {
  const auto values = loadAll<int64_t>(at(indices, position));
  Index tuple;
  for (size_t i = 0; i < values.size(); ++i)
    tuple.push_back(checkedIndex(values[i], dims[i], "indices"));
  return tuple;
}

void runGatherNd(const ir::GatherNd &op, const KernelCall &call) {
  const View x = call.operand(0), indices = call.operand(1), y = call.result(0);
  for (int64_t i = 0; i < op.batchDims; ++i)
    requireDim(indices, static_cast<int>(i), x.dims[i], "indices");
  const llvm::ArrayRef<int64_t> indexed = dimsOf(x).drop_front(op.batchDims);
  forEachIndex(dimsOf(indices).drop_back(), [&](const Index &position) {
    const llvm::ArrayRef<int64_t> batch =
        llvm::ArrayRef<int64_t>(position).take_front(op.batchDims);
    copyView(at(at(x, batch), tupleAt(indices, position, indexed)), at(y, position));
  });
}

// --- Scatter -------------------------------------------------------------------------------------

template <class C> C combined(ir::ScatterReduction reduction, C old, C update) {
  switch (reduction) {
  case ir::ScatterReduction::kNone:
    return update;
  case ir::ScatterReduction::kAdd:
    return plus(old, update);
  case ir::ScatterReduction::kMul:
    return times(old, update);
  case ir::ScatterReduction::kMax:
    return std::max(old, update);
  case ir::ScatterReduction::kMin:
    return std::min(old, update);
  }
  throw Error::internal("unknown scatter reduction");
}

void scatterInto(ir::ScatterReduction reduction, const View &update, const View &to) {
  if (reduction == ir::ScatterReduction::kNone)
    return copyView(update, to);
  withCompute(to.dtype, [&](auto compute) {
    using C = typename decltype(compute)::type;
    auto values = loadAll<C>(to);
    const auto updates = loadAll<C>(update);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = combined(reduction, values[i], updates[i]);
    storeAll<C>(to, values);
  });
}

// indices' dims without the last, then those that its tuples leave of x.
void requireScatterUpdates(const View &indices, const View &x, const View &updates) {
  const int outer = indices.rank - 1;
  const int tuple = static_cast<int>(indices.dims[outer]);
  for (int i = 0; i < updates.rank; ++i)
    requireDim(updates, i, i < outer ? indices.dims[i] : x.dims[i - outer + tuple], "updates");
}

void runScatterNd(const ir::ScatterNd &op, const KernelCall &call) {
  const View x = call.operand(0), indices = call.operand(1), updates = call.operand(2);
  const View y = call.result(0);
  requireScatterUpdates(indices, x, updates);
  copyView(x, y);
  forEachIndex(dimsOf(indices).drop_back(), [&](const Index &position) {
    scatterInto(op.reduction, at(updates, position), at(y, tupleAt(indices, position, dimsOf(y))));
  });
}

void runScatterElements(const ir::ScatterElements &op, const KernelCall &call) {
  const View x = call.operand(0), updates = call.operand(2), y = call.result(0);
  const int axis = normalAxis(op.axis, x.rank);
  requireInside(call.operand(1), x, axis);
  for (int i = 0; i < x.rank; ++i)
    requireDim(updates, i, call.operand(1).dims[i], "updates");
  const auto flat = loadAll<int64_t>(call.operand(1));
  const int64_t *next = flat.data();
  copyView(x, y);
  forEachIndex(dimsOf(updates), [&](const Index &from) {
    Index to = from;
    to[axis] = checkedIndex(*next++, y.dims[axis], "indices");
    scatterInto(op.reduction, at(updates, from), at(y, to));
  });
}

// --- TopK ----------------------------------------------------------------------------------------

bool isNan(double value) { return std::isnan(value); }
template <class C> bool isNan(C) { return false; }

// NaN counts as the largest value, so that the order is one.
template <class C> bool less(C a, C b) { return isNan(a) ? false : isNan(b) || a < b; }

// Positions of the k first elements; of equal ones the earlier comes first.
template <class C>
Elements<int64_t> topPositions(llvm::ArrayRef<C> line, int64_t k, bool largest) {
  Elements<int64_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return largest ? less(line[j], line[i]) : less(line[i], line[j]);
  });
  order.resize(k);
  return order;
}

View lastAxis(const View &view, int axis) {
  Index perm;
  for (int i = 0; i < view.rank; ++i)
    if (i != axis)
      perm.push_back(i);
  perm.push_back(axis);
  return permuted(view, perm);
}

void runTopK(const ir::TopK &op, const KernelCall &call) {
  const int axis = normalAxis(op.axis, call.operand(0).rank);
  const int64_t k = op.k.evaluate(call.symbols), size = call.operand(0).dims[axis];
  if (k < 0 || k > size)
    throw Error(std::to_string(k) + " elements asked for, the axis has " + std::to_string(size))
        .at("operand 'k'");
  const View x = lastAxis(call.operand(0), axis);
  // An unused result is not there; its place is taken by the operand, which is not written.
  const bool wantsValues = call.result(0).present(), wantsIndices = call.result(1).present();
  const View values = wantsValues ? lastAxis(call.result(0), axis) : x;
  const View indices = wantsIndices ? lastAxis(call.result(1), axis) : x;
  withCompute(x.dtype, [&](auto compute) {
    using C = typename decltype(compute)::type;
    forEachInner({x, values, indices}, x.rank - 1, [&](llvm::ArrayRef<View> lines) {
      const auto line = loadAll<C>(lines[0]);
      const auto positions = topPositions<C>(line, k, op.largest);
      Elements<C> chosen;
      for (int64_t position : positions)
        chosen.push_back(line[position]);
      if (wantsValues)
        storeAll<C>(lines[1], chosen);
      if (wantsIndices)
        storeAll<int64_t>(lines[2], positions);
    });
  });
}

} // namespace
} // namespace reference

llvm::ArrayRef<KernelRow> referenceIndexRows() {
  using namespace reference;
  static const KernelRow kRows[] = {
      referenceRow<ir::Gather, runGather>(),
      referenceRow<ir::GatherElements, runGatherElements>(),
      referenceRow<ir::GatherNd, runGatherNd>(),
      referenceRow<ir::ScatterNd, runScatterNd>(),
      referenceRow<ir::ScatterElements, runScatterElements>(),
      referenceRow<ir::TopK, runTopK>(),
  };
  return kRows;
}

} // namespace engine
