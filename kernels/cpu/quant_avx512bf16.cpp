// Products of bytes with VNNI; machines with the bf16 product have it. Everything here has internal
// linkage but int8OpsAvx512, which is only called there.
#include "kernels/cpu/quant.h"

#if defined(__AVX512VNNI__)

#include <immintrin.h>

namespace engine::cpu {

namespace {

// --- Activations
// ---------------------------------------------------------------------------------------

// How blocks of at least four bytes, a power of two of them, share the lanes of chunks.
struct Lanes {
  int64_t blocksPerChunk; // 1 to 16
  int chunkShift;         // the block of a chunk's first lane is chunk << chunkShift ...
  int blockShift;         // ... >> blockShift
  __m512i block;          // for each lane the index of its block in the chunk
};

int log2Of(int64_t powerOfTwo) {
  return __builtin_ctzll(static_cast<unsigned long long>(powerOfTwo));
}

Lanes lanesOf(const QuantFormat &f) {
  const int64_t bytes = f.blockBytes();
  if (bytes >= kChunkBytes)
    return {1, 0, log2Of(bytes / kChunkBytes), _mm512_setzero_si512()};
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const int lanesPerBlock = log2Of(bytes / 4);
  return {kChunkBytes / bytes, log2Of(kChunkBytes / bytes), 0,
          _mm512_srl_epi32(lane, _mm_cvtsi32_si128(lanesPerBlock))};
}

int64_t firstBlockOf(const Lanes &lanes, int64_t chunk) {
  return chunk << lanes.chunkShift >> lanes.blockShift;
}

// The largest magnitude of a block; NaN where an element is not finite.
float magnitudeOf(const float *x, int64_t count) {
  __m512 most = _mm512_setzero_ps();
  __m512 poison = _mm512_setzero_ps();
  for (int64_t i = 0; i < count; i += 16) {
    const __m512 v = _mm512_loadu_ps(x + i);
    most = _mm512_max_ps(most, _mm512_abs_ps(v));
    poison = _mm512_fmadd_ps(v, _mm512_setzero_ps(), poison);
  }
  return _mm512_reduce_max_ps(most) + _mm512_reduce_add_ps(poison);
}

// 16 codes of one block.
__m128i quantized(const float *x, float inverse) {
  const __m512 v = _mm512_mul_ps(_mm512_loadu_ps(x), _mm512_set1_ps(inverse));
  return _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(v));
}

// The codes of plane `plane` among 64 codes in order: every one of planes, 64 / planes of them.
void storePlane(__m512i codes, int64_t planes, int64_t plane, int8_t *to) {
  if (planes == 1)
    return _mm512_storeu_si512(to, codes);
  if (planes == 2) {
    const __m512i words = plane == 0 ? codes : _mm512_srli_epi16(codes, 8);
    return _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), _mm512_cvtepi16_epi8(words));
  }
  const __m512i words = _mm512_srl_epi32(codes, _mm_cvtsi64_si128(8 * plane));
  _mm_storeu_si128(reinterpret_cast<__m128i *>(to), _mm512_cvtepi32_epi8(words));
}

// Codes and scale of each block, in order of the codes; then planes, chunk by chunk.
void quantize(const QuantFormat &f, bool hasZeros, const float *x, const Int8Row &row) {
  const Lanes lanes = lanesOf(f);
  const int64_t planes = f.planes();
  const int64_t chunkCodes = kChunkBytes * planes;
  const int32_t factor = hasZeros ? 1 : -static_cast<int32_t>(f.middle());
  const int64_t blocks = f.blocks();
  for (int64_t chunk = 0; chunk < chunksOf(f); ++chunk) {
    alignas(64) int8_t codes[kChunkBytes * 4];
    float scales[kChunkLanes] = {};
    const int64_t firstBlock = firstBlockOf(lanes, chunk);
    for (int64_t i = 0; i < chunkCodes; i += 16)
      _mm_store_si128(reinterpret_cast<__m128i *>(codes + i), _mm_setzero_si128());
    for (int64_t b = 0; b < lanes.blocksPerChunk && firstBlock + b < blocks; ++b) {
      const float *values = x + (firstBlock + b) * f.blockSize;
      const float most = magnitudeOf(values, f.blockSize);
      const float inverse = most > 0 ? 127 / most : 0;
      scales[b] = most / 127;
      const int64_t part = f.blockSize >> lanes.blockShift;
      const int64_t partsBefore = chunk - (firstBlock << lanes.blockShift);
      const float *from = values + (lanes.blockShift ? partsBefore * part : 0);
      for (int64_t i = 0; i < part; i += 16)
        _mm_store_si128(reinterpret_cast<__m128i *>(codes + b * part + i),
                        quantized(from + i, inverse));
    }
    int8_t *to = row.codes + chunk * chunkCodes;
    __m512i sums = _mm512_setzero_si512();
    for (int64_t plane = 0; plane < planes; ++plane) {
      int8_t *out = to + plane * kChunkBytes;
      for (int64_t i = 0; i < planes; ++i)
        storePlane(_mm512_load_si512(codes + i * kChunkBytes), planes, plane,
                   out + i * kChunkBytes / planes);
      sums = _mm512_dpbusd_epi32(sums, _mm512_set1_epi8(1), _mm512_loadu_si512(out));
    }
    _mm512_storeu_si512(row.sums + chunk * kChunkLanes,
                        _mm512_mullo_epi32(sums, _mm512_set1_epi32(factor)));
    _mm512_storeu_ps(row.scales + chunk * kChunkLanes,
                     _mm512_permutexvar_ps(lanes.block, _mm512_loadu_ps(scales)));
  }
}

// --- Products
// ------------------------------------------------------------------------------------------

// What one chunk of a row of weights is.
struct Chunk {
  __mmask64 bytes;
  __mmask16 blocks;
  int64_t firstBlock;
};

template <int bits> __m512i planeOf(__m512i codes, int plane) {
  if (bits == 8)
    return codes;
  const __m512i mask = _mm512_set1_epi8((1 << bits) - 1);
  return _mm512_and_si512(plane == 0 ? codes : _mm512_srli_epi16(codes, plane * bits), mask);
}

constexpr int64_t kPrefetchBytes = 8192;

template <int bits, int rows, int columns, bool hasZeros>
__attribute__((always_inline)) inline void addChunk(const QuantTile &t, const Int8Row *rowsOfX,
                                                    int64_t chunk, const Chunk &c, __m512i index,
                                                    __m512 (&sum)[rows][columns]) {
  constexpr int kPlanes = 8 / bits;
  __m512i w[columns][kPlanes];
  __m512 scale[columns], zero[columns];
#pragma GCC unroll 4
  for (int j = 0; j < columns; ++j) {
    const uint8_t *from = t.codes[j] + chunk * kChunkBytes;
    const __m512i codes = _mm512_maskz_loadu_epi8(c.bytes, from);
    _mm_prefetch(reinterpret_cast<const char *>(from) + kPrefetchBytes, _MM_HINT_T1);
#pragma GCC unroll 4
    for (int p = 0; p < kPlanes; ++p)
      w[j][p] = planeOf<bits>(codes, p);
    scale[j] =
        _mm512_permutexvar_ps(index, _mm512_maskz_loadu_ps(c.blocks, t.scales[j] + c.firstBlock));
    if (hasZeros)
      zero[j] =
          _mm512_permutexvar_ps(index, _mm512_maskz_loadu_ps(c.blocks, t.zeros[j] + c.firstBlock));
  }
#pragma GCC unroll 4
  for (int m = 0; m < rows; ++m) {
    const int8_t *x = rowsOfX[m].codes + chunk * kChunkBytes * kPlanes;
    const __m512i sums = _mm512_loadu_si512(rowsOfX[m].sums + chunk * kChunkLanes);
    const __m512 xScale = _mm512_loadu_ps(rowsOfX[m].scales + chunk * kChunkLanes);
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j) {
      __m512i dot = hasZeros ? _mm512_setzero_si512() : sums;
#pragma GCC unroll 4
      for (int p = 0; p < kPlanes; ++p)
        dot = _mm512_dpbusd_epi32(dot, w[j][p], _mm512_loadu_si512(x + p * kChunkBytes));
      __m512 value = _mm512_cvtepi32_ps(dot);
      if (hasZeros)
        value = _mm512_fnmadd_ps(zero[j], _mm512_cvtepi32_ps(sums), value);
      sum[m][j] = _mm512_fmadd_ps(value, _mm512_mul_ps(scale[j], xScale), sum[m][j]);
    }
  }
}

template <int bits, int rows, int columns, bool hasZeros>
void multiplyTile(const QuantTile &t, const Int8Row *x) {
  const Lanes lanes = lanesOf(t.format);
  __m512 sum[rows][columns];
#pragma GCC unroll 4
  for (int m = 0; m < rows; ++m)
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j)
      sum[m][j] = _mm512_setzero_ps();
  const int64_t rowBytes = t.format.rowBytes();
  const int64_t whole = rowBytes / kChunkBytes;
  Chunk c = {~__mmask64{0}, static_cast<__mmask16>((1u << lanes.blocksPerChunk) - 1), 0};
  int64_t chunk = 0;
  for (; chunk < whole; ++chunk) {
    c.firstBlock = firstBlockOf(lanes, chunk);
    addChunk<bits, rows, columns, hasZeros>(t, x, chunk, c, lanes.block, sum);
  }
  if (const int64_t rest = rowBytes % kChunkBytes; rest != 0) {
    c.bytes = (__mmask64{1} << rest) - 1;
    c.firstBlock = firstBlockOf(lanes, chunk);
    c.blocks = static_cast<__mmask16>((1u << (t.format.blocks() - c.firstBlock)) - 1);
    addChunk<bits, rows, columns, hasZeros>(t, x, chunk, c, lanes.block, sum);
  }
#pragma GCC unroll 4
  for (int m = 0; m < rows; ++m)
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j)
      t.y[m * t.yStride + j] = _mm512_reduce_add_ps(sum[m][j]);
}

template <int bits, int rows, int columns> void multiplyAny(const QuantTile &t, const Int8Row *x) {
  if (t.zeros[0])
    multiplyTile<bits, rows, columns, true>(t, x);
  else
    multiplyTile<bits, rows, columns, false>(t, x);
}

// Whole tiles, and what is left of them one row or one column at a time.
template <int bits> void multiplyBits(const QuantTile &t, const Int8Row *x) {
  if (t.rows == kQuantRows && t.columns == kQuantColumns)
    return multiplyAny<bits, kQuantRows, kQuantColumns>(t, x);
  QuantTile part = t;
  if (t.columns == kQuantColumns) {
    for (int m = 0; m < t.rows; ++m) {
      part.y = t.y + m * t.yStride;
      multiplyAny<bits, 1, kQuantColumns>(part, x + m);
    }
    return;
  }
  for (int j = 0; j < t.columns; ++j) {
    part.codes[0] = t.codes[j];
    part.scales[0] = t.scales[j];
    part.zeros[0] = t.zeros[j];
    for (int m = 0; m < t.rows; ++m) {
      part.y = t.y + m * t.yStride + j;
      multiplyAny<bits, 1, 1>(part, x + m);
    }
  }
}

void multiply(const QuantTile &t, const Int8Row *x) {
  if (t.format.bits == 8)
    multiplyBits<8>(t, x);
  else if (t.format.bits == 4)
    multiplyBits<4>(t, x);
  else
    multiplyBits<2>(t, x);
}

constexpr Int8Ops kOps = {quantize, multiply};

} // namespace

const Int8Ops *int8OpsAvx512() { return &kOps; }

} // namespace engine::cpu

#else

namespace engine::cpu {

const Int8Ops *int8OpsAvx512() { return nullptr; }

} // namespace engine::cpu

#endif
