// Reduce, ArgReduce, CumSum.
#include "kernels/reference/support.h"

#include <cmath>
#include <limits>

namespace engine {
namespace reference {
namespace {

// --- Reduce --------------------------------------------------------------------------------------

bool isNan(double value) { return std::isnan(value); }
template <class C> bool isNan(C) { return false; }

// What Max of nothing gives: the lowest value of the type.
template <class C> C lowestOf(DType dtype) {
  if constexpr (std::is_same_v<C, double>)
    return -std::numeric_limits<double>::infinity();
  else if constexpr (std::is_same_v<C, int64_t>)
    return std::numeric_limits<int64_t>::min() >> (64 - dtypeInfo(dtype).bits);
  else
    return 0;
}

template <class C> C highestOf(DType dtype) {
  if constexpr (std::is_same_v<C, double>)
    return std::numeric_limits<double>::infinity();
  else
    return dtype == DType::kBool ? C(1)
                                 : std::numeric_limits<C>::max() >> (64 - dtypeInfo(dtype).bits);
}

// NaN wins.
template <class C> C extremum(llvm::ArrayRef<C> values, C start, bool largest) {
  C best = start;
  for (C value : values) {
    if (isNan(value))
      return value;
    best = largest ? std::max(best, value) : std::min(best, value);
  }
  return best;
}

double logSumExp(llvm::ArrayRef<double> values) {
  const double top = extremum(values, -std::numeric_limits<double>::infinity(), /*largest=*/true);
  if (!std::isfinite(top))
    return top;
  double sum = 0;
  for (double value : values)
    sum += std::exp(value - top);
  return top + std::log(sum);
}

template <class C> C absolute(C value) { return value < C(0) ? times(value, C(-1)) : value; }

// Kinds that integers have in their own arithmetic.
template <class C> C reduceExactly(ir::ReduceKind kind, llvm::ArrayRef<C> values, DType dtype) {
  using K = ir::ReduceKind;
  C result = kind == K::kProd ? C(1) : C(0);
  switch (kind) {
  case K::kMax:
    return extremum(values, lowestOf<C>(dtype), /*largest=*/true);
  case K::kMin:
    return extremum(values, highestOf<C>(dtype), /*largest=*/false);
  case K::kProd:
    for (C value : values)
      result = times(result, value);
    return result;
  case K::kSumSquare:
    for (C value : values)
      result = plus(result, times(value, value));
    return result;
  case K::kL1:
    for (C value : values)
      result = plus(result, absolute(value));
    return result;
  default:
    for (C value : values)
      result = plus(result, value);
    return result;
  }
}

double reduceInDouble(ir::ReduceKind kind, llvm::ArrayRef<double> values) {
  using K = ir::ReduceKind;
  switch (kind) {
  case K::kMean:
    return reduceExactly(K::kSum, values, DType::kF64) / static_cast<double>(values.size());
  case K::kL2:
    return std::sqrt(reduceExactly(K::kSumSquare, values, DType::kF64));
  case K::kLogSum:
    return std::log(reduceExactly(K::kSum, values, DType::kF64));
  case K::kLogSumExp:
    return logSumExp(values);
  default:
    return reduceExactly(kind, values, DType::kF64);
  }
}

bool needsDouble(ir::ReduceKind kind) {
  using K = ir::ReduceKind;
  return kind == K::kMean || kind == K::kL2 || kind == K::kLogSum || kind == K::kLogSumExp;
}

// The kept axes first, then the reduced ones.
Index keptFirst(int rank, llvm::ArrayRef<int64_t> axes) {
  Index perm;
  for (int axis = 0; axis < rank; ++axis)
    if (!llvm::is_contained(axes, axis))
      perm.push_back(axis);
  perm.append(axes.begin(), axes.end());
  return perm;
}

void runReduce(const ir::Reduce &op, const KernelCall &call) {
  if (op.axes.empty())
    return copyView(call.operand(0), call.result(0));
  const View x = permuted(call.operand(0), keptFirst(call.operand(0).rank, op.axes));
  const int kept = x.rank - static_cast<int>(op.axes.size());
  const View y = reshaped(call.result(0), dimsOf(x).take_front(kept));
  withCompute(needsDouble(op.kind) ? DType::kF64 : x.dtype, [&](auto compute) {
    using C = typename decltype(compute)::type;
    forEachInner({x, y}, kept, [&](llvm::ArrayRef<View> parts) {
      const auto values = loadAll<C>(parts[0]);
      if constexpr (std::is_same_v<C, double>)
        storeAll<C>(parts[1], reduceInDouble(op.kind, values));
      else
        storeAll<C>(parts[1], reduceExactly<C>(op.kind, values, x.dtype));
    });
  });
}

// --- ArgReduce -----------------------------------------------------------------------------------

template <class C> bool better(C candidate, C best, const ir::ArgReduce &op) {
  if (candidate == best)
    return op.lastIndex;
  return op.largest ? candidate > best : candidate < best;
}

template <class C> int64_t bestPosition(llvm::ArrayRef<C> line, const ir::ArgReduce &op) {
  size_t best = 0;
  for (size_t i = 1; i < line.size(); ++i)
    if (better(line[i], line[best], op))
      best = i;
  return static_cast<int64_t>(best);
}

void runArgReduce(const ir::ArgReduce &op, const KernelCall &call) {
  const int axis = normalAxis(op.axis, call.operand(0).rank);
  const View x = permuted(call.operand(0), keptFirst(call.operand(0).rank, {axis}));
  const View y = reshaped(call.result(0), dimsOf(x).drop_back());
  if (y.count() != 0 && x.dims[x.rank - 1] == 0)
    throw Error("an axis without elements has no largest or smallest one").at("operand 'x'");
  withCompute(x.dtype, [&](auto compute) {
    using C = typename decltype(compute)::type;
    forEachInner({x, y}, y.rank, [&](llvm::ArrayRef<View> parts) {
      storeAll<int64_t>(parts[1], bestPosition<C>(loadAll<C>(parts[0]), op));
    });
  });
}

// --- CumSum --------------------------------------------------------------------------------------

template <class C> void accumulate(llvm::MutableArrayRef<C> line, const ir::CumSum &op) {
  C sum = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    C &element = line[op.reverse ? line.size() - 1 - i : i];
    const C before = sum;
    sum = plus(sum, element);
    element = op.exclusive ? before : sum;
  }
}

void runCumSum(const ir::CumSum &op, const KernelCall &call) {
  const int axis = normalAxis(op.axis, call.operand(0).rank);
  const Index perm = keptFirst(call.operand(0).rank, {axis});
  const View x = permuted(call.operand(0), perm), y = permuted(call.result(0), perm);
  withCompute(x.dtype, [&](auto compute) {
    using C = typename decltype(compute)::type;
    forEachInner({x, y}, x.rank - 1, [&](llvm::ArrayRef<View> lines) {
      auto line = loadAll<C>(lines[0]);
      accumulate<C>(line, op);
      storeAll<C>(lines[1], line);
    });
  });
}

} // namespace
} // namespace reference

llvm::ArrayRef<KernelRow> referenceReduceRows() {
  using namespace reference;
  static const KernelRow kRows[] = {
      referenceRow<ir::Reduce, runReduce>(),
      referenceRow<ir::ArgReduce, runArgReduce>(),
      referenceRow<ir::CumSum, runCumSum>(),
  };
  return kRows;
}

} // namespace engine
