// Tile operations with the bf16 dot product: pairs of channels for scores, pairs of keys for
// values. Compiled for AVX-512 with bf16; everything here has internal linkage but setBf16Ops,
// which is only called where the machine has it.
#include "kernels/cpu/attention_tile.h"

#if defined(__AVX512BF16__)

#include "hwy/base.h"

#include <immintrin.h>

namespace engine::cpu::attn {

namespace {

constexpr int kRowBlock = 8;
constexpr int kLanes = 16;
constexpr int kKeyPairs = kTileKeys / 2;

int64_t pairsOf(int64_t count) { return (count + 1) / 2; }
int64_t roundedUp(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }
int64_t wordsPerQuery(int64_t headSize) { return roundedUp(headSize, 16); }

// Channels 2 * pair and 2 * pair + 1 of a row; a channel beyond its end is 0.
uint32_t pairAt(const uint16_t *row, int64_t pair, int64_t headSize) {
  const uint32_t low = row[2 * pair];
  return 2 * pair + 1 < headSize ? low | uint32_t{row[2 * pair + 1]} << 16 : low;
}

void packQuery(DType, const void *query, int64_t headSize, const float *, int64_t, void *packed) {
  uint16_t *to = static_cast<uint16_t *>(packed);
  __builtin_memcpy(to, query, headSize * sizeof(uint16_t));
  to[headSize] = 0; // the other half of the last pair, or not read
}

__m128i loadPairs(const uint16_t *row, int64_t pair) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i *>(row + 2 * pair));
}

void storeWords(uint32_t *to, __m128i words) {
  _mm_storeu_si128(reinterpret_cast<__m128i *>(to), words);
}

// Four rows of keys become four columns.
void transposeRows4(const uint16_t *const (&rows)[4], int64_t headSize, uint32_t *to) {
  int64_t pair = 0;
  for (; 2 * pair + 8 <= headSize; pair += 4) {
    const __m128i a = loadPairs(rows[0], pair);
    const __m128i b = loadPairs(rows[1], pair);
    const __m128i c = loadPairs(rows[2], pair);
    const __m128i d = loadPairs(rows[3], pair);
    const __m128i abLow = _mm_unpacklo_epi32(a, b);
    const __m128i abHigh = _mm_unpackhi_epi32(a, b);
    const __m128i cdLow = _mm_unpacklo_epi32(c, d);
    const __m128i cdHigh = _mm_unpackhi_epi32(c, d);
    uint32_t *column = to + pair * kStrip;
    storeWords(column, _mm_unpacklo_epi64(abLow, cdLow));
    storeWords(column + kStrip, _mm_unpackhi_epi64(abLow, cdLow));
    storeWords(column + 2 * kStrip, _mm_unpacklo_epi64(abHigh, cdHigh));
    storeWords(column + 3 * kStrip, _mm_unpackhi_epi64(abHigh, cdHigh));
  }
  for (; pair < pairsOf(headSize); ++pair) {
    for (int i = 0; i < 4; ++i)
      to[pair * kStrip + i] = pairAt(rows[i], pair, headSize);
  }
}

void packKeys(DType, const void *const *rows, int64_t headSize, void *panel, float *temp) {
  uint32_t *to = static_cast<uint32_t *>(panel);
  uint16_t *zeros = reinterpret_cast<uint16_t *>(temp);
  for (int64_t c = 0; c < headSize; ++c)
    zeros[c] = 0;
  for (int key = 0; key < kTileKeys; key += 4) {
    const uint16_t *four[4];
    for (int i = 0; i < 4; ++i)
      four[i] = rows[key + i] ? static_cast<const uint16_t *>(rows[key + i]) : zeros;
    transposeRows4(four, headSize, to + key / kStrip * pairsOf(headSize) * kStrip + key % kStrip);
  }
}

// Up to 16 channels as the low halves of words; `row` may be null.
__m512i loadChannels(const uint16_t *row, int64_t first, int64_t headSize) {
  const int64_t left = row ? headSize - first : 0;
  const __mmask16 mask = left >= 16  ? 0xffff
                         : left <= 0 ? 0
                                     : static_cast<__mmask16>((1 << left) - 1);
  const uint16_t *from = mask ? row + first : nullptr;
  return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
}

bool packValues(DType, const void *const *rows, int64_t headSize, void *panel, float *) {
  uint32_t *to = static_cast<uint32_t *>(panel);
  const __m512i exponents = _mm512_set1_epi16(0x7f80);
  __mmask32 special = 0;
  for (int pair = 0; pair < kKeyPairs; ++pair) {
    const uint16_t *even = static_cast<const uint16_t *>(rows[2 * pair]);
    const uint16_t *odd = static_cast<const uint16_t *>(rows[2 * pair + 1]);
    for (int64_t c = 0; c < roundedUp(headSize, kStrip); c += kLanes) {
      const __m512i low = loadChannels(even, c, headSize);
      const __m512i high = _mm512_slli_epi32(loadChannels(odd, c, headSize), 16);
      const __m512i both = _mm512_or_si512(low, high);
      special |= _mm512_cmpeq_epi16_mask(_mm512_and_si512(both, exponents), exponents);
      _mm512_storeu_si512(to + (c / kStrip * kKeyPairs + pair) * kStrip + c % kStrip, both);
    }
  }
  return special == 0;
}

// c[kRowBlock][kStrip] (+)= a[kRowBlock][pairs] * b[pairs][kStrip], two products a word.
template <bool kAccumulate>
inline void blockProduct(const uint32_t *a, int64_t aStride, const uint32_t *b, int64_t pairs,
                         float *c, int64_t cStride) {
  __m512 sums[kRowBlock][2];
  HWY_UNROLL(8)
  for (int i = 0; i < kRowBlock; ++i) {
    sums[i][0] = kAccumulate ? _mm512_loadu_ps(c + i * cStride) : _mm512_setzero_ps();
    sums[i][1] = kAccumulate ? _mm512_loadu_ps(c + i * cStride + kLanes) : _mm512_setzero_ps();
  }
  for (int64_t k = 0; k < pairs; ++k) {
    const __m512i b0 = _mm512_loadu_si512(b + k * kStrip);
    const __m512i b1 = _mm512_loadu_si512(b + k * kStrip + kLanes);
    HWY_UNROLL(8)
    for (int i = 0; i < kRowBlock; ++i) {
      const __m512i x = _mm512_set1_epi32(static_cast<int>(a[i * aStride + k]));
      sums[i][0] = _mm512_dpbf16_ps(sums[i][0], (__m512bh)x, (__m512bh)b0);
      sums[i][1] = _mm512_dpbf16_ps(sums[i][1], (__m512bh)x, (__m512bh)b1);
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < kRowBlock; ++i) {
    _mm512_storeu_ps(c + i * cStride, sums[i][0]);
    _mm512_storeu_ps(c + i * cStride + kLanes, sums[i][1]);
  }
}

void scores(const void *queries, int rows, const void *keyPanel, int64_t headSize,
            const BlockSpans &columns, float *scores) {
  const uint32_t *query = static_cast<const uint32_t *>(queries);
  const uint32_t *panel = static_cast<const uint32_t *>(keyPanel);
  const int64_t stride = wordsPerQuery(headSize);
  const int64_t pairs = pairsOf(headSize);
  for (int column = 0; column < kTileKeys; column += kStrip) {
    for (int row = 0; row < rows; row += kRowBlock) {
      const Span needed = columns.of[row / kRowBlock];
      if (column < needed.end && needed.begin < column + kStrip)
        blockProduct<false>(query + row * stride, stride, panel + column * pairs, pairs,
                            scores + row * kTileKeys + column, kTileKeys);
    }
  }
}

// Rounds the weights of whole strips to bf16.
void roundWeights(const float *weights, int rows, Span columns, uint16_t *to) {
  const int begin = columns.begin / kStrip * kStrip;
  for (int row = 0; row < rows; ++row) {
    for (int c = begin; c < columns.end; c += kLanes) {
      const __m512 x = _mm512_loadu_ps(weights + row * kTileKeys + c);
      const __m256i rounded = (__m256i)_mm512_cvtneps_pbh(x);
      _mm256_storeu_si256(reinterpret_cast<__m256i *>(to + row * kTileKeys + c), rounded);
    }
  }
}

void accumulate(const float *weights, int rows, const void *valuePanel, int64_t headSize,
                const BlockSpans &columns, float *out, int64_t outStride, void *temp) {
  uint16_t *rounded = static_cast<uint16_t *>(temp);
  const uint32_t *words = static_cast<const uint32_t *>(temp);
  const uint32_t *panel = static_cast<const uint32_t *>(valuePanel);
  for (int row = 0; row < rows; row += kRowBlock)
    roundWeights(weights + row * kTileKeys, kRowBlock, columns.of[row / kRowBlock],
                 rounded + row * kTileKeys);
  for (int64_t channel = 0; channel < headSize; channel += kStrip) {
    const uint32_t *strip = panel + channel / kStrip * kKeyPairs * kStrip;
    for (int row = 0; row < rows; row += kRowBlock) {
      const Span keys = columns.of[row / kRowBlock];
      const int first = keys.begin / 2;
      blockProduct<true>(words + row * kKeyPairs + first, kKeyPairs, strip + first * kStrip,
                         pairsOf(keys.end) - first, out + row * outStride + channel, outStride);
    }
  }
}

// --- Rows in place -------------------------------------------------------------------------------

constexpr int kKeyBlock = 4;
constexpr int64_t kPrefetchBytes = 8192; // see attention_stream.cpp

// The sums of four vectors, as one vector of four.
inline __m128 sumsOf4(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const __m512d ab2 = _mm512_castps_pd(ab);
  const __m512d cd2 = _mm512_castps_pd(cd);
  const __m512 low = _mm512_castpd_ps(_mm512_unpacklo_pd(ab2, cd2));
  const __m512 high = _mm512_castpd_ps(_mm512_unpackhi_pd(ab2, cd2));
  const __m512 sums = _mm512_add_ps(low, high);
  const __m256 halves =
      _mm256_add_ps(_mm512_castps512_ps256(sums), _mm512_extractf32x8_ps(sums, 1));
  return _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
}

// Four keys times kRows queries; writes four scores a row.
template <int kRows>
inline void dotBlock(const uint16_t *const (&keys)[kKeyBlock], int64_t ahead, int64_t headSize,
                     const uint32_t *queries, float *scores) {
  __m512 sums[kRows][kKeyBlock];
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int j = 0; j < kKeyBlock; ++j)
      sums[r][j] = _mm512_setzero_ps();
  }
  for (int64_t c = 0; c < headSize; c += 2 * kLanes) {
    __m512i key[kKeyBlock];
    HWY_UNROLL(4)
    for (int j = 0; j < kKeyBlock; ++j) {
      key[j] = _mm512_loadu_si512(keys[j] + c);
      __builtin_prefetch(reinterpret_cast<const char *>(keys[j] + c) + ahead, 0, 2);
    }
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      const __m512i query = _mm512_loadu_si512(queries + r * wordsPerQuery(headSize) + c / 2);
      HWY_UNROLL(4)
      for (int j = 0; j < kKeyBlock; ++j)
        sums[r][j] = _mm512_dpbf16_ps(sums[r][j], (__m512bh)query, (__m512bh)key[j]);
    }
  }
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r)
    _mm_storeu_ps(scores + r * kTileKeys, sumsOf4(sums[r][0], sums[r][1], sums[r][2], sums[r][3]));
}

// headSize is a multiple of kBf16Channels.
void dotRows(DType, const void *keys, int64_t keyStride, int count, int64_t headSize,
             const void *queries, int rows, float *scores, float *) {
  const uint32_t *query = static_cast<const uint32_t *>(queries);
  const int64_t stride = wordsPerQuery(headSize);
  const int64_t rowsAhead = kPrefetchBytes / (headSize * 2);
  const int64_t ahead = (rowsAhead > 0 ? rowsAhead : 1) * keyStride;
  for (int first = 0; first < count; first += kKeyBlock) {
    const uint16_t *block[kKeyBlock];
    for (int j = 0; j < kKeyBlock; ++j) {
      const int64_t key = first + j < count ? first + j : count - 1;
      block[j] =
          reinterpret_cast<const uint16_t *>(static_cast<const char *>(keys) + key * keyStride);
    }
    int r = 0;
    for (; r + 4 <= rows; r += 4)
      dotBlock<4>(block, ahead, headSize, query + r * stride, scores + r * kTileKeys + first);
    for (; r < rows; ++r)
      dotBlock<1>(block, ahead, headSize, query + r * stride, scores + r * kTileKeys + first);
  }
}

} // namespace

void setBf16Ops(TileOps &ops) {
  ops.packQuery = packQuery;
  ops.packKeys = packKeys;
  ops.packValues = packValues;
  ops.rowBlock = kRowBlock;
  ops.scores = scores;
  ops.accumulate = accumulate;
  ops.dotRows = dotRows;
}

} // namespace engine::cpu::attn

#else

namespace engine::cpu::attn {

void setBf16Ops(TileOps &) {}

} // namespace engine::cpu::attn

#endif
