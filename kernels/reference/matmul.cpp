// MatMul, by numpy.matmul's rules.
#include "kernels/reference/support.h"

namespace engine {
namespace reference {
namespace {

// Rank-1 operands get the axis that numpy gives them, which the result then lacks.
struct Operands {
  View a, b, y; // [batch.., m, k], [batch.., k, n], [batch.., m, n]
};

View withAxis(const View &view, int at) {
  View out = view;
  ++out.rank;
  for (int i = out.rank - 1; i > at; --i) {
    out.dims[i] = view.dims[i - 1];
    out.strides[i] = view.strides[i - 1];
  }
  out.dims[at] = 1;
  out.strides[at] = 0;
  return out;
}

View withBatch(const View &matrix, llvm::ArrayRef<int64_t> batch) {
  Index dims(batch.begin(), batch.end());
  dims.push_back(matrix.dims[matrix.rank - 2]);
  dims.push_back(matrix.dims[matrix.rank - 1]);
  return broadcastTo(matrix, dims);
}

Operands operandsOf(const KernelCall &call) {
  Operands o{call.operand(0), call.operand(1), call.result(0)};
  const bool vectorA = o.a.rank == 1, vectorB = o.b.rank == 1;
  if (vectorB) {
    o.b = withAxis(o.b, 1);
    o.y = withAxis(o.y, o.y.rank);
  }
  if (vectorA) {
    o.a = withAxis(o.a, 0);
    o.y = withAxis(o.y, o.y.rank - 1);
  }
  const llvm::ArrayRef<int64_t> batch = dimsOf(o.y).drop_back(2);
  o.a = withBatch(o.a, batch);
  o.b = withBatch(o.b, batch);
  return o;
}

// Every element of b is loaded once; the products are summed in the type to compute in.
template <class C> void multiply(const View &a, const View &b, const View &y) {
  const int64_t m = a.dims[0], k = a.dims[1], n = b.dims[1];
  const auto left = loadAll<C>(a);
  Elements<C> sums(m * n, C(0));
  for (int64_t i = 0; i < k; ++i) {
    const auto row = loadAll<C>(select(b, 0, i));
    for (int64_t r = 0; r < m; ++r) {
      const C factor = left[r * k + i];
      C *sum = sums.data() + r * n;
      for (int64_t c = 0; c < n; ++c)
        sum[c] = plus(sum[c], times(factor, row[c]));
    }
  }
  storeAll<C>(y, sums);
}

void runMatMul(const ir::MatMul &, const KernelCall &call) {
  const Operands o = operandsOf(call);
  requireDim(o.b, o.b.rank - 2, o.a.dims[o.a.rank - 1], "b");
  if (o.y.count() == 0)
    return;
  forEachInner({o.a, o.b, o.y}, o.y.rank - 2, [](llvm::ArrayRef<View> matrices) {
    withCompute(matrices[2].dtype, [&](auto compute) {
      multiply<typename decltype(compute)::type>(matrices[0], matrices[1], matrices[2]);
    });
  });
}

} // namespace
} // namespace reference

llvm::ArrayRef<KernelRow> referenceMatmulRows() {
  using namespace reference;
  static const KernelRow kRows[] = {referenceRow<ir::MatMul, runMatMul>()};
  return kRows;
}

} // namespace engine
