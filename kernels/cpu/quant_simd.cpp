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

void setQuantOps(QuantOps &ops) {
  ops.lanes = kLanes;
  ops.dequantize = dequantize;
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
