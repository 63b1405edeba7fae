#include "kernels/cpu/matmul_operands.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace engine::cpu {

namespace {

// The view with `rank` axes: new leading ones have one element.
View withRank(View view, int rank) {
  const int added = rank - view.rank;
  for (int i = view.rank - 1; i >= 0; --i) {
    view.dims[i + added] = view.dims[i];
    view.strides[i + added] = view.strides[i];
  }
  for (int i = 0; i < added; ++i) {
    view.dims[i] = 1;
    view.strides[i] = 0;
  }
  view.rank = rank;
  return view;
}

View insertAxis(View view, int axis) {
  for (int i = view.rank; i > axis; --i) {
    view.dims[i] = view.dims[i - 1];
    view.strides[i] = view.strides[i - 1];
  }
  view.dims[axis] = 1;
  view.strides[axis] = 0;
  ++view.rank;
  return view;
}

// [.., M, K] as [prod, K] where the axes lie dense within each other.
std::optional<View> flattenRows(const View &view) {
  View flat = view;
  flat.rank = 2;
  int64_t rows = 1;
  int64_t expected = 0;
  for (int i = view.rank - 2; i >= 0; --i) {
    if (view.dims[i] == 1)
      continue;
    if (rows == 1)
      flat.strides[0] = view.strides[i];
    else if (view.strides[i] != expected)
      return std::nullopt;
    rows *= view.dims[i];
    expected = view.strides[i] * view.dims[i];
  }
  if (rows <= 1)
    flat.strides[0] = view.dims[view.rank - 1];
  flat.dims[0] = rows;
  flat.dims[1] = view.dims[view.rank - 1];
  flat.strides[1] = view.strides[view.rank - 1];
  return flat;
}

} // namespace

MatMulOperands matMulOperands(const KernelCall &call) {
  MatMulOperands m{call.operand(0), call.operand(1), call.result(0)};
  const bool vectorA = m.a.rank == 1, vectorB = m.b.rank == 1;
  if (vectorA) {
    m.a = insertAxis(m.a, 0);
    m.y = insertAxis(m.y, m.y.rank - (vectorB ? 0 : 1));
  }
  if (vectorB) {
    m.b = insertAxis(m.b, 1);
    m.y = insertAxis(m.y, m.y.rank);
  }
  // One matrix on the right: all batch axes of the left are rows.
  if (m.b.rank == 2 && m.a.rank > 2) {
    const std::optional<View> a = flattenRows(m.a);
    const std::optional<View> y = flattenRows(m.y);
    if (a && y) {
      m.a = *a;
      m.y = *y;
    }
  }
  const int rank = std::max({m.a.rank, m.b.rank, m.y.rank});
  m.a = withRank(m.a, rank);
  m.b = withRank(m.b, rank);
  m.y = withRank(m.y, rank);
  return m;
}

void clearResult(const MatMulOperands &m) {
  if (m.y.count() != 0)
    std::memset(m.y.data, 0, static_cast<size_t>(m.y.bytes()));
}

} // namespace engine::cpu
