// Products of a few query rows with key and value rows that stay where they are: decoding. What
// bounds them is memory, so each row is read once for all query heads that share it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_stream.cpp"
#include "hwy/foreach_target.h"

#include "kernels/cpu/attention_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace engine::cpu::attn {
namespace HWY_NAMESPACE {

constexpr int kKeyBlock = 4;
constexpr int kDotRows = kManyRegisters ? 4 : 2;
constexpr int kAddVectors = kManyRegisters ? 4 : 2;
// How far ahead of the read the cache lines are asked for, into L2: nearer or into L1 halves the
// rate.
constexpr int64_t kPrefetchBytes = 8192;

HWY_INLINE void prefetch(const void *p, int64_t ahead) {
  __builtin_prefetch(static_cast<const char *>(p) + ahead, 0, 2);
}

// Rows `ahead` bytes on are kPrefetchBytes of rows on, also where the rows of other heads lie
// between.
HWY_INLINE int64_t prefetchDistance(int64_t rowStride, int64_t rowBytes) {
  const int64_t rows = kPrefetchBytes / rowBytes;
  return (rows > 0 ? rows : 1) * rowStride;
}

// Sums the blocks of 128 bits.
template <class D> HWY_INLINE hn::Vec<hn::FixedTag<float, 4>> sumBlocks(D, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return sumBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The sums of four vectors, as one vector of four.
HWY_INLINE hn::Vec<hn::FixedTag<float, 4>> sumsOf4(VF a, VF b, VF c, VF e) {
  const F d;
  const hn::Repartition<double, F> d2;
  const VF ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const VF ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const auto ab2 = hn::BitCast(d2, ab);
  const auto ce2 = hn::BitCast(d2, ce);
  const VF low = hn::BitCast(d, hn::InterleaveLower(d2, ab2, ce2));
  const VF high = hn::BitCast(d, hn::InterleaveUpper(d2, ab2, ce2));
  return sumBlocks(d, hn::Add(low, high));
}

// Four keys times kRows queries; writes four scores a row.
template <int kRows, class T>
HWY_INLINE void dotBlock(const T *const (&keys)[kKeyBlock], int64_t ahead, int64_t headSize,
                         const float *HWY_RESTRICT queries, float *HWY_RESTRICT scores) {
  const F d;
  const int64_t stride = queryStride(headSize);
  VF sums[kRows][kKeyBlock];
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int j = 0; j < kKeyBlock; ++j)
      sums[r][j] = hn::Zero(d);
  }
  for (int64_t c = 0; c < headSize; c += kLanes) {
    VF key[kKeyBlock];
    HWY_UNROLL(4)
    for (int j = 0; j < kKeyBlock; ++j) {
      key[j] = load(channelAt(keys[j], c));
      prefetch(channelAt(keys[j], c), ahead);
    }
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      const VF query = hn::LoadU(d, queries + r * stride + c);
      HWY_UNROLL(4)
      for (int j = 0; j < kKeyBlock; ++j)
        sums[r][j] = hn::MulAdd(query, key[j], sums[r][j]);
    }
  }
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r)
    hn::StoreU(sumsOf4(sums[r][0], sums[r][1], sums[r][2], sums[r][3]), hn::FixedTag<float, 4>(),
               scores + r * kTileKeys);
}

// headSize is a multiple of kLanes. Writes scores for a multiple of kKeyBlock keys.
template <class T>
HWY_INLINE void dotRowsOf(const T *keys, int64_t keyStride, int count, int64_t headSize,
                          const float *queries, int rows, float *scores) {
  const int64_t ahead = prefetchDistance(keyStride, rowBytes<T>(headSize));
  const int64_t stride = queryStride(headSize);
  for (int first = 0; first < count; first += kKeyBlock) {
    const T *block[kKeyBlock];
    for (int j = 0; j < kKeyBlock; ++j) {
      const int64_t key = first + j < count ? first + j : count - 1;
      block[j] =
          reinterpret_cast<const T *>(reinterpret_cast<const char *>(keys) + key * keyStride);
    }
    int r = 0;
    for (; r + kDotRows <= rows; r += kDotRows)
      dotBlock<kDotRows>(block, ahead, headSize, queries + r * stride,
                         scores + r * kTileKeys + first);
    for (; r < rows; ++r)
      dotBlock<1>(block, ahead, headSize, queries + r * stride, scores + r * kTileKeys + first);
  }
}

// Adds weights[r][j] * values[j] to kVectors vectors of kRows output rows.
template <int kRows, int kVectors, class T>
HWY_INLINE void addBlock(const T *values, int64_t valueStride, int64_t ahead, int count,
                         const float *HWY_RESTRICT weights, float *HWY_RESTRICT out,
                         int64_t outStride) {
  const F d;
  VF sums[kRows][kVectors];
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] = hn::LoadU(d, out + r * outStride + v * kLanes);
  }
  const char *row = reinterpret_cast<const char *>(values);
  for (int j = 0; j < count; ++j, row += valueStride) {
    const T *value = reinterpret_cast<const T *>(row);
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const VF x = load(channelAt(value, v * kLanes));
      prefetch(channelAt(value, v * kLanes), ahead);
      HWY_UNROLL(4)
      for (int r = 0; r < kRows; ++r)
        sums[r][v] = hn::MulAdd(hn::Set(d, weights[r * kTileKeys + j]), x, sums[r][v]);
    }
  }
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(sums[r][v], d, out + r * outStride + v * kLanes);
  }
}

template <int kRows, class T>
HWY_INLINE void addRowBlock(const T *values, int64_t valueStride, int count, int64_t headSize,
                            const float *weights, float *out, int64_t outStride) {
  const int64_t ahead = prefetchDistance(valueStride, rowBytes<T>(headSize));
  int64_t c = 0;
  for (; c + kAddVectors * kLanes <= headSize; c += kAddVectors * kLanes)
    addBlock<kRows, kAddVectors>(channelAt(values, c), valueStride, ahead, count, weights, out + c,
                                 outStride);
  for (; c < headSize; c += kLanes)
    addBlock<kRows, 1>(channelAt(values, c), valueStride, ahead, count, weights, out + c,
                       outStride);
}

template <class T>
HWY_INLINE void addRowsOf(const T *values, int64_t valueStride, int count, int64_t headSize,
                          const float *weights, int rows, float *out, int64_t outStride) {
  int r = 0;
  for (; r + 4 <= rows; r += 4)
    addRowBlock<4>(values, valueStride, count, headSize, weights + r * kTileKeys,
                   out + r * outStride, outStride);
  for (; r < rows; ++r)
    addRowBlock<1>(values, valueStride, count, headSize, weights + r * kTileKeys,
                   out + r * outStride, outStride);
}

// Rows that vectors do not divide go through f32 rows padded with zeros.
bool needsWidening(int64_t headSize) { return headSize % kLanes != 0; }

// Widens up to kWidenedKeys rows, padded to whole vectors of zeros.
HWY_INLINE void widenRows(DType type, const void *rows, int64_t rowStride, int count,
                          int64_t headSize, int64_t padded, float *to) {
  for (int j = 0; j < count; ++j) {
    float *row = to + j * padded;
    widen(type, static_cast<const char *>(rows) + j * rowStride, headSize, row);
    for (int64_t c = headSize; c < padded; ++c)
      row[c] = 0;
  }
}

template <class Body>
HWY_INLINE void forWidened(DType type, const void *rows, int64_t rowStride, int count,
                           int64_t headSize, int64_t padded, float *temp, Body &&body) {
  for (int first = 0; first < count; first += kWidenedKeys) {
    const int n = count - first < kWidenedKeys ? count - first : kWidenedKeys;
    const char *from = static_cast<const char *>(rows) + first * rowStride;
    widenRows(type, from, rowStride, n, headSize, padded, temp);
    body(first, n);
  }
}

void dotRows(DType type, const void *keys, int64_t keyStride, int count, int64_t headSize,
             const void *packedQueries, int rows, float *scores, float *temp) {
  const float *queries = static_cast<const float *>(packedQueries);
  if (needsWidening(headSize)) {
    const int64_t padded = queryStride(headSize);
    const auto dot = [&](int first, int n) HWY_ATTR {
      dotRowsOf(temp, padded * sizeof(float), n, padded, queries, rows, scores + first);
    };
    return forWidened(type, keys, keyStride, count, headSize, padded, temp, dot);
  }
  withElements(type, keys, [&](const auto *elements) HWY_ATTR {
    dotRowsOf(elements, keyStride, count, headSize, queries, rows, scores);
  });
}

void addRows(DType type, const void *values, int64_t valueStride, int count, int64_t headSize,
             const float *weights, int rows, float *out, int64_t outStride, float *temp) {
  if (needsWidening(headSize)) {
    const int64_t padded = roundUp(headSize, 16);
    const auto add = [&](int first, int n) HWY_ATTR {
      addRowsOf(temp, padded * sizeof(float), n, padded, weights + first, rows, out, outStride);
    };
    return forWidened(type, values, valueStride, count, headSize, padded, temp, add);
  }
  withElements(type, values, [&](const auto *elements) HWY_ATTR {
    addRowsOf(elements, valueStride, count, headSize, weights, rows, out, outStride);
  });
}

void setStreamOps(TileOps &ops) {
  ops.dotRows = dotRows;
  ops.addRows = addRows;
}

} // namespace HWY_NAMESPACE
} // namespace engine::cpu::attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::cpu::attn {

void setStreamOps(Isa isa, TileOps &ops) {
#if HWY_TARGETS & HWY_AVX3
  if (isa >= Isa::kAvx512)
    return N_AVX3::setStreamOps(ops);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (isa >= Isa::kAvx2)
    return N_AVX2::setStreamOps(ops);
#endif
  static_cast<void>(isa);
  HWY_STATIC_DISPATCH(setStreamOps)(ops);
}

} // namespace engine::cpu::attn
#endif
