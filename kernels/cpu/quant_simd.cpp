#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quant_simd.cpp"
#include "hwy/foreach_target.h"

#include "kernels/cpu/quant.h"
#include "kernels/cpu/simd-inl.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace engine::cpu {
namespace HWY_NAMESPACE {

// A block in vectors of D, which its bytes fill.
template <int bits, class D>
HWY_INLINE void dequantizeBlock(D d, const uint8_t *codes, int64_t bytes, float scale, float zero,
                                float *values) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<uint8_t, D> db;
  const auto s = hn::Set(d, scale);
  const auto z = hn::Set(d, zero);
  const auto mask = hn::Set(di, (1 << bits) - 1);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < bytes; i += lanes) {
    auto word = hn::PromoteTo(di, hn::LoadU(db, codes + i));
    for (int plane = 0; plane < 8 / bits; ++plane) {
      const auto code = bits == 8 ? word : hn::And(word, mask);
      hn::StoreU(hn::Mul(hn::Sub(hn::ConvertTo(d, code), z), s), d, values);
      values += lanes;
      word = hn::ShiftRight < bits == 8 ? 0 : bits > (word);
    }
  }
}

template <int bits, class D>
HWY_INLINE void dequantizeRow(D d, const QuantFormat &f, const uint8_t *codes, const float *scales,
                              const float *zeros, float *values) {
  const int64_t bytes = f.blockBytes();
  for (int64_t b = 0; b < f.blocks(); ++b)
    dequantizeBlock<bits>(d, codes + b * bytes, bytes, scales[b], zeros ? zeros[b] : f.middle(),
                          values + b * f.blockSize);
}

template <int bits>
HWY_INLINE void dequantizeBits(const QuantFormat &f, const uint8_t *codes, const float *scales,
                               const float *zeros, float *values) {
  // Narrow blocks of few bits are shorter than a vector.
  if (f.blockBytes() == 4)
    return dequantizeRow<bits>(hn::CappedTag<float, 4>(), f, codes, scales, zeros, values);
  if (f.blockBytes() == 8)
    return dequantizeRow<bits>(hn::CappedTag<float, 8>(), f, codes, scales, zeros, values);
  dequantizeRow<bits>(F(), f, codes, scales, zeros, values);
}

void dequantize(const QuantFormat &f, const uint8_t *codes, const float *scales, const float *zeros,
                float *values) {
  if (f.bits == 8)
    dequantizeBits<8>(f, codes, scales, zeros, values);
  else if (f.bits == 4)
    dequantizeBits<4>(f, codes, scales, zeros, values);
  else
    dequantizeBits<2>(f, codes, scales, zeros, values);
}

// --- Products
// ------------------------------------------------------------------------------------------

// Codes of one plane less a zero point.
template <int bits, class D> class Decoder {
public:
  Decoder(D d, float zero) : zero_(hn::Set(d, zero)) {}
  HWY_INLINE hn::Vec<D> operator()(hn::Vec<hn::RebindToSigned<D>> word) const {
    const D d;
    const hn::RebindToSigned<D> di;
    const auto code = bits == 8 ? word : hn::And(word, hn::Set(di, (1 << bits) - 1));
    return hn::Sub(hn::ConvertTo(d, code), zero_);
  }

private:
  hn::Vec<D> zero_;
};

#if HWY_TARGET == HWY_AVX3
// A table by the low four bits of a word, which may hold the bits of further codes.
template <int bits> class TableDecoder {
public:
  TableDecoder(F d, float zero) {
    float codes[kLanes];
    for (int i = 0; i < kLanes; ++i)
      codes[i] = static_cast<float>(i & ((1 << bits) - 1));
    table_ = hn::Sub(hn::LoadU(d, codes), hn::Set(d, zero));
  }
  HWY_INLINE VF operator()(hn::Vec<I> word) const {
    return VF{_mm512_permutexvar_ps(word.raw, table_.raw)};
  }

private:
  VF table_;
};
template <> class Decoder<4, F> : public TableDecoder<4> { using TableDecoder::TableDecoder; };
template <> class Decoder<2, F> : public TableDecoder<2> { using TableDecoder::TableDecoder; };
#endif

constexpr int64_t kPrefetchBytes = 4096;

// Adds one block of column j: `place` is where its values stand in x.
template <int bits, int rows, class D, class Decode>
HWY_INLINE void addBlock(D d, const Decode &decode, const uint8_t *codes, int64_t bytes,
                         const float *x, int64_t xStride, float scale, hn::Vec<D> *sums) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<uint8_t, D> db;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> part[rows];
  for (int m = 0; m < rows; ++m)
    part[m] = hn::Zero(d);
  for (int64_t i = 0; i < bytes; i += lanes) {
    auto word = hn::PromoteTo(di, hn::LoadU(db, codes + i));
#pragma GCC unroll 4
    for (int plane = 0; plane < 8 / bits; ++plane) {
      const auto value = decode(word);
#pragma GCC unroll 4
      for (int m = 0; m < rows; ++m)
        part[m] = hn::MulAdd(value, hn::LoadU(d, x + m * xStride), part[m]);
      x += lanes;
      word = hn::ShiftRight < bits == 8 ? 0 : bits > (word);
    }
  }
  const auto s = hn::Set(d, scale);
#pragma GCC unroll 4
  for (int m = 0; m < rows; ++m)
    sums[m] = hn::MulAdd(part[m], s, sums[m]);
}

template <int bits, int rows, int columns, class D>
HWY_INLINE void multiplyTile(D d, const QuantTile &t, const float *x, int64_t xStride) {
  const QuantFormat &f = t.format;
  const int64_t bytes = f.blockBytes(), blocks = f.blocks();
  hn::Vec<D> sums[columns][rows];
#pragma GCC unroll 4
  for (int j = 0; j < columns; ++j)
#pragma GCC unroll 4
    for (int m = 0; m < rows; ++m)
      sums[j][m] = hn::Zero(d);
  const Decoder<bits, D> middle(d, f.middle());
  for (int64_t b = 0; b < blocks; ++b) {
    const float *values = x + b * f.blockSize;
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j) {
      const uint8_t *codes = t.codes[j] + b * bytes;
      __builtin_prefetch(codes + kPrefetchBytes, 0, 2);
      if (t.zeros[0])
        addBlock<bits, rows>(d, Decoder<bits, D>(d, t.zeros[j][b]), codes, bytes, values, xStride,
                             t.scales[j][b], sums[j]);
      else
        addBlock<bits, rows>(d, middle, codes, bytes, values, xStride, t.scales[j][b], sums[j]);
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < columns; ++j)
#pragma GCC unroll 4
    for (int m = 0; m < rows; ++m)
      t.y[m * t.yStride + j] = hn::GetLane(hn::SumOfLanes(d, sums[j][m]));
}

template <int bits, class D>
HWY_INLINE void multiplyLanes(D d, const QuantTile &t, const float *x, int64_t xStride) {
  if (t.rows == kQuantRows && t.columns == kQuantColumns)
    return multiplyTile<bits, kQuantRows, kQuantColumns>(d, t, x, xStride);
  // What is left of tiles: row by row, or element by element.
  QuantTile part = t;
  for (int m = 0; m < t.rows; ++m) {
    part.y = t.y + m * t.yStride;
    if (t.columns == kQuantColumns) {
      multiplyTile<bits, 1, kQuantColumns>(d, part, x + m * xStride, xStride);
      continue;
    }
    for (int j = 0; j < t.columns; ++j) {
      QuantTile one = part;
      one.codes[0] = t.codes[j];
      one.scales[0] = t.scales[j];
      one.zeros[0] = t.zeros[j];
      one.y += j;
      multiplyTile<bits, 1, 1>(d, one, x + m * xStride, xStride);
    }
  }
}

template <int bits> void multiplyBits(const QuantTile &t, const float *x, int64_t xStride) {
  if (t.format.blockBytes() == 4)
    return multiplyLanes<bits>(hn::CappedTag<float, 4>(), t, x, xStride);
  if (t.format.blockBytes() == 8)
    return multiplyLanes<bits>(hn::CappedTag<float, 8>(), t, x, xStride);
  multiplyLanes<bits>(F(), t, x, xStride);
}

void multiply(const QuantTile &t, const float *x, int64_t xStride) {
  if (t.format.bits == 8)
    multiplyBits<8>(t, x, xStride);
  else if (t.format.bits == 4)
    multiplyBits<4>(t, x, xStride);
  else
    multiplyBits<2>(t, x, xStride);
}

void setQuantOps(QuantOps &ops) {
  ops.lanes = kLanes;
  ops.dequantize = dequantize;
  ops.multiply = multiply;
}

} // namespace HWY_NAMESPACE
} // namespace engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::cpu {

static QuantOps makeQuantOps(Isa isa) {
  QuantOps ops;
#if HWY_TARGETS & HWY_AVX3
  if (isa >= Isa::kAvx512) {
    N_AVX3::setQuantOps(ops);
    return ops;
  }
#endif
#if HWY_TARGETS & HWY_AVX2
  if (isa >= Isa::kAvx2) {
    N_AVX2::setQuantOps(ops);
    return ops;
  }
#endif
  static_cast<void>(isa);
  HWY_STATIC_DISPATCH(setQuantOps)(ops);
  return ops;
}

const QuantOps &quantOps(Isa isa) {
  static const QuantOps base = makeQuantOps(Isa::kBase);
  static const QuantOps avx2 = makeQuantOps(Isa::kAvx2);
  static const QuantOps avx512 = makeQuantOps(Isa::kAvx512);
  if (isa >= Isa::kAvx512)
    return avx512;
  return isa == Isa::kAvx2 ? avx2 : base;
}

} // namespace engine::cpu
#endif
