#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemv_simd.cpp"
#include "hwy/foreach_target.h"

#include "kernels/cpu/gemv.h"
#include "kernels/cpu/simd-inl.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace engine::cpu {
namespace HWY_NAMESPACE {

// --- Row-major
// -----------------------------------------------------------------------------------------

// Rows of w that are added up before they are added to y.
constexpr int kDepthBlock = 8;
// Elements of y at a time: they stay in the first-level cache.
constexpr int64_t kResultBlock = 2048;

template <class T> HWY_INLINE void prefetch(const T *at) { __builtin_prefetch(at, 0, 2); }

// The first `count` elements, zeros behind.
template <class T> HWY_INLINE VF loadSome(const T *from, int64_t count) {
  if (count >= kLanes)
    return load(from);
  T rest[kLanes] = {};
  std::memcpy(rest, from, count * sizeof(T));
  return load(rest);
}

// One vector of columns of `depth` rows: adds x[m][k] * w[k] to y[m], or sets y[m].
template <int rows, int depth, class T>
HWY_INLINE void addColumns(const T *w, int64_t stride, int64_t lanes, const GemvProblem &p,
                           int64_t k, int64_t column, bool first) {
  const F d;
  VF sum[rows];
#pragma GCC unroll 8
  for (int j = 0; j < depth; ++j) {
    const VF v = loadSome(w + j * stride, lanes);
#pragma GCC unroll 4
    for (int m = 0; m < rows; ++m) {
      const VF x = hn::Set(d, p.x.data[m * p.x.stride + k + j]);
      sum[m] = j == 0 ? hn::Mul(x, v) : hn::MulAdd(x, v, sum[m]);
    }
  }
#pragma GCC unroll 4
  for (int m = 0; m < rows; ++m) {
    float *y = p.y.data + m * p.y.stride + column;
    if (lanes >= kLanes) {
      hn::StoreU(first ? sum[m] : hn::Add(sum[m], hn::LoadU(d, y)), d, y);
      continue;
    }
    float rest[kLanes];
    hn::StoreU(first ? sum[m] : hn::Add(sum[m], loadRest(y, lanes, 0)), d, rest);
    std::memcpy(y, rest, lanes * sizeof(float));
  }
}

template <int rows, int depth, class T>
HWY_INLINE void addRows(const T *w, const GemvProblem &p, int64_t k, int64_t begin, int64_t end) {
  const T *from = w + k * p.wStride;
  // What the next rows of this block of columns are, in time for them.
  const T *next = k + 2 * depth <= p.depth ? from + depth * p.wStride : from;
  int64_t column = begin;
  for (; column + kLanes <= end; column += kLanes) {
#pragma GCC unroll 8
    for (int j = 0; j < depth; ++j)
      prefetch(next + j * p.wStride + column);
    addColumns<rows, depth>(from + column, p.wStride, kLanes, p, k, column, k == 0);
  }
  if (column < end)
    addColumns<rows, depth>(from + column, p.wStride, end - column, p, k, column, k == 0);
}

template <int rows, class T> HWY_INLINE void rowMajorRows(const T *w, const GemvProblem &p) {
  constexpr int64_t kColumns = kResultBlock / rows / kLanes * kLanes;
  for (int64_t begin = 0; begin < p.columns; begin += kColumns) {
    const int64_t end = std::min(begin + kColumns, p.columns);
    int64_t k = 0;
    for (; k + kDepthBlock <= p.depth; k += kDepthBlock)
      addRows<rows, kDepthBlock>(w, p, k, begin, end);
    for (; k < p.depth; ++k)
      addRows<rows, 1>(w, p, k, begin, end);
  }
}

// --- Transposed
// ----------------------------------------------------------------------------------------

// Columns of w that are read at a time.
constexpr int kDotBlock = 4;
constexpr int64_t kPrefetchBytes = 8192;

template <int rows, int columns, class T>
HWY_INLINE void dotColumns(const T *w, const GemvProblem &p, int64_t column) {
  const F d;
  const T *from = w + column * p.wStride;
  VF sum[rows][columns];
#pragma GCC unroll 4
  for (int m = 0; m < rows; ++m)
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j)
      sum[m][j] = hn::Zero(d);
  const auto step = [&](int64_t k, int64_t lanes) HWY_ATTR {
    VF v[columns];
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j)
      v[j] = loadSome(from + j * p.wStride + k, lanes);
#pragma GCC unroll 4
    for (int m = 0; m < rows; ++m) {
      const float *x = p.x.data + m * p.x.stride + k;
      const VF xs = lanes >= kLanes ? hn::LoadU(d, x) : loadRest(x, lanes, 0);
#pragma GCC unroll 4
      for (int j = 0; j < columns; ++j)
        sum[m][j] = hn::MulAdd(xs, v[j], sum[m][j]);
    }
  };
  constexpr int64_t kAhead = kPrefetchBytes / static_cast<int64_t>(sizeof(T)) / columns;
  int64_t k = 0;
  for (; k + kLanes <= p.depth; k += kLanes) {
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j)
      prefetch(from + j * p.wStride + k + kAhead);
    step(k, kLanes);
  }
  if (k < p.depth)
    step(k, p.depth - k);
#pragma GCC unroll 4
  for (int m = 0; m < rows; ++m)
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j)
      p.y.data[m * p.y.stride + column + j] = hn::GetLane(hn::SumOfLanes(d, sum[m][j]));
}

template <int rows, class T> HWY_INLINE void transposedRows(const T *w, const GemvProblem &p) {
  int64_t column = 0;
  for (; column + kDotBlock <= p.columns; column += kDotBlock)
    dotColumns<rows, kDotBlock>(w, p, column);
  for (; column < p.columns; ++column)
    dotColumns<rows, 1>(w, p, column);
}

// --- Types and row counts
// ------------------------------------------------------------------------------

// Calls body(pointer to w's elements, number of rows as a constant).
template <class Body> HWY_INLINE void withRows(const GemvProblem &p, const Body &body) {
  const auto withType = [&](const auto *w) HWY_ATTR {
    switch (p.rows) {
    case 1:
      return body(w, std::integral_constant<int, 1>());
    case 2:
      return body(w, std::integral_constant<int, 2>());
    case 3:
      return body(w, std::integral_constant<int, 3>());
    default:
      return body(w, std::integral_constant<int, kGemvRows>());
    }
  };
  if (p.type == DType::kF16)
    withType(static_cast<const hwy::float16_t *>(p.w));
  else if (p.type == DType::kBF16)
    withType(static_cast<const hwy::bfloat16_t *>(p.w));
  else
    withType(static_cast<const float *>(p.w));
}

void rowMajor(const GemvProblem &p) {
  withRows(p,
           [&](const auto *w, auto rows) HWY_ATTR { rowMajorRows<decltype(rows)::value>(w, p); });
}

void transposed(const GemvProblem &p) {
  withRows(p,
           [&](const auto *w, auto rows) HWY_ATTR { transposedRows<decltype(rows)::value>(w, p); });
}

void setGemvOps(GemvOps &ops) {
  ops.rowMajor = rowMajor;
  ops.transposed = transposed;
}

} // namespace HWY_NAMESPACE
} // namespace engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::cpu {

static GemvOps makeGemvOps(Isa isa) {
  GemvOps ops;
#if HWY_TARGETS & HWY_AVX3
  if (isa >= Isa::kAvx512) {
    N_AVX3::setGemvOps(ops);
    return ops;
  }
#endif
#if HWY_TARGETS & HWY_AVX2
  if (isa >= Isa::kAvx2) {
    N_AVX2::setGemvOps(ops);
    return ops;
  }
#endif
  static_cast<void>(isa);
  HWY_STATIC_DISPATCH(setGemvOps)(ops);
  return ops;
}

const GemvOps &gemvOps(Isa isa) {
  static const GemvOps base = makeGemvOps(Isa::kBase);
  static const GemvOps avx2 = makeGemvOps(Isa::kAvx2);
  static const GemvOps avx512 = makeGemvOps(Isa::kAvx512);
  if (isa >= Isa::kAvx512)
    return avx512;
  return isa == Isa::kAvx2 ? avx2 : base;
}

} // namespace engine::cpu
#endif
