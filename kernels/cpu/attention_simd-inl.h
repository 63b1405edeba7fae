// Vector helpers of the attention kernels, compiled once per target (Highway's include guard).
#if defined(ENGINE_KERNELS_CPU_ATTENTION_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ENGINE_KERNELS_CPU_ATTENTION_SIMD_INL_H
#undef ENGINE_KERNELS_CPU_ATTENTION_SIMD_INL_H
#else
#define ENGINE_KERNELS_CPU_ATTENTION_SIMD_INL_H
#endif

#include "ir/half.h"
#include "kernels/cpu/attention_tile.h"

#include "hwy/highway.h"

#include <cstring>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace engine::cpu::attn {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using I = hn::RebindToSigned<F>;
using VF = hn::Vec<F>;

inline constexpr int kLanes = static_cast<int>(hn::MaxLanes(F()));
// 32 vector registers, or 16.
inline constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3;
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// kLanes elements as f32.
HWY_INLINE VF load(const float *from) { return hn::LoadU(F(), from); }
HWY_INLINE VF load(const hwy::float16_t *from) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::PromoteTo(F(), hn::LoadU(hn::Rebind<hwy::float16_t, F>(), from));
#else
  // Highway's emulation takes infinities for 65536. The product with 2^112 moves the exponent, of
  // subnormals too.
  const hn::RebindToUnsigned<F> du;
  const hn::Rebind<uint16_t, F> narrow;
  const auto half = hn::PromoteTo(du, hn::LoadU(narrow, reinterpret_cast<const uint16_t *>(from)));
  const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(du, 0x8000u)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(du, 0x7fffu)));
  const VF finite = hn::Mul(hn::BitCast(F(), magnitude), hn::Set(F(), 0x1p112f));
  const auto special = hn::Or(magnitude, hn::Set(du, 0x7f800000u));
  const auto isFinite = hn::Lt(hn::BitCast(I(), magnitude), hn::Set(I(), 0x7c00 << 13));
  const VF value = hn::IfThenElse(hn::RebindMask(F(), isFinite), finite, hn::BitCast(F(), special));
  return hn::Or(value, hn::BitCast(F(), sign));
#endif
}
HWY_INLINE VF load(const hwy::bfloat16_t *from) {
  return hn::PromoteTo(F(), hn::LoadU(hn::Rebind<hwy::bfloat16_t, F>(), from));
}
HWY_INLINE VF load(const int8_t *from) {
  return hn::ConvertTo(F(), hn::PromoteTo(I(), hn::LoadU(hn::Rebind<int8_t, F>(), from)));
}

// Two channels of the 4-bit cache.
struct Nibbles {
  uint8_t bits;
};

// The element of channel c, where that is the first of whole bytes.
template <class T> HWY_INLINE const T *channelAt(const T *row, int64_t c) { return row + c; }
HWY_INLINE const Nibbles *channelAt(const Nibbles *row, int64_t c) { return row + c / 2; }
template <class T> constexpr int64_t rowBytes(int64_t channels) {
  return std::is_same_v<T, Nibbles> ? channels / 2 : channels * static_cast<int64_t>(sizeof(T));
}

// The first kLanes of 16 bytes.
template <class D> HWY_INLINE hn::Vec<hn::Rebind<uint8_t, F>> firstBytes(D, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == kLanes) {
    return v;
  } else {
    const hn::Half<D> half;
    return firstBytes(half, hn::LowerHalf(half, v));
  }
}

HWY_INLINE VF load(const Nibbles *from) {
  const hn::FixedTag<uint8_t, 16> d;
  uint64_t word = 0;
  std::memcpy(&word, from, kLanes / 2);
  const auto bytes = hn::BitCast(d, hn::Set(hn::FixedTag<uint64_t, 2>(), word));
  const auto low = hn::And(bytes, hn::Set(d, uint8_t{15}));
  const auto high = hn::And(hn::ShiftRight<4>(bytes), hn::Set(d, uint8_t{15}));
  const auto codes = hn::PromoteTo(I(), firstBytes(d, hn::InterleaveLower(d, low, high)));
  return hn::ConvertTo(F(), hn::Sub(codes, hn::Set(I(), 8)));
}

// 2^n for n in [-126, 128].
HWY_INLINE VF powerOfTwo(hn::Vec<I> n) {
  return hn::BitCast(F(), hn::ShiftLeft<23>(hn::Add(n, hn::Set(I(), 127))));
}

// exp(r) for |r| <= ln(2) / 2.
HWY_INLINE VF expNearZero(VF r) {
  const F d;
  VF p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  return hn::MulAdd(hn::Mul(p, r), r, hn::Add(r, hn::Set(d, 1.0f)));
}

// x - n * ln(2), in two steps.
HWY_INLINE VF minusLog2Multiple(VF x, VF n) {
  const F d;
  const VF r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  return hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
}

// exp(x) to 2 ulp for x <= 88; 0 where that is below the normal numbers, -inf included; NaN stays
// NaN.
HWY_INLINE VF expNonPositive(VF x) {
  const F d;
  const VF log2 = hn::Set(d, 1.44269504f);
#if HWY_TARGET == HWY_AVX3
  // The maximum returns its second operand where either is NaN.
  x = VF{_mm512_max_ps(_mm512_set1_ps(-126.0f), x.raw)};
  const VF n = hn::Round(hn::Mul(x, log2));
  return VF{_mm512_scalef_ps(expNearZero(minusLog2Multiple(x, n)).raw, n.raw)};
#else
  const hn::Vec<I> n = hn::NearestInt(hn::Mul(x, log2));
  const VF r = minusLog2Multiple(x, hn::ConvertTo(d, n));
  const VF result = hn::Mul(expNearZero(r), powerOfTwo(n));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.3f)), result);
#endif
}

// tanh(x) to about 2 ulp, near zero as well; NaN stays NaN.
HWY_INLINE VF tanhAll(VF x) {
  const F d;
  const VF magnitude = hn::Abs(x);
  const VF square = hn::Mul(x, x);
  VF p = hn::Set(d, -5.70498872745e-3f);
  p = hn::MulAdd(p, square, hn::Set(d, 2.06390887954e-2f));
  p = hn::MulAdd(p, square, hn::Set(d, -5.37397155531e-2f));
  p = hn::MulAdd(p, square, hn::Set(d, 1.33314422036e-1f));
  p = hn::MulAdd(p, square, hn::Set(d, -3.33332819422e-1f));
  const VF small = hn::MulAdd(hn::Mul(p, square), x, x);
  // 1 - 2 / (exp(2 |x|) + 1) with exp(-2 |x|), which cannot overflow.
  const VF e = expNonPositive(hn::Mul(magnitude, hn::Set(d, -2.0f)));
  const VF one = hn::Set(d, 1.0f);
  const VF large = hn::CopySignToAbs(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x);
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), small, large);
}

// Calls body with a pointer of the element type.
template <class Body> HWY_INLINE void withElements(DType type, const void *data, Body &&body) {
  switch (type) {
  case DType::kF16:
    return body(static_cast<const hwy::float16_t *>(data));
  case DType::kBF16:
    return body(static_cast<const hwy::bfloat16_t *>(data));
  case DType::kI8:
    return body(static_cast<const int8_t *>(data));
  case DType::kU8:
    return body(static_cast<const Nibbles *>(data));
  default:
    return body(static_cast<const float *>(data));
  }
}

template <class T> HWY_INLINE void widenVectors(const T *from, int64_t count, float *to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    hn::StoreU(load(channelAt(from, i)), F(), to + i);
  if (i == count)
    return;
  T rest[kLanes] = {};
  float widened[kLanes];
  std::memcpy(rest, channelAt(from, i), rowBytes<T>(count - i));
  hn::StoreU(load(rest), F(), widened);
  std::memcpy(to + i, widened, (count - i) * sizeof(float));
}

HWY_INLINE void widen(DType type, const void *from, int64_t count, float *to) {
  withElements(type, from,
               [&](const auto *elements) HWY_ATTR { widenVectors(elements, count, to); });
}

HWY_INLINE void narrowToHalf(const float *from, int64_t count, uint16_t *to) {
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  const hn::Rebind<hwy::float16_t, F> half;
  for (; i + kLanes <= count; i += kLanes)
    hn::StoreU(hn::DemoteTo(half, hn::LoadU(F(), from + i)), half,
               reinterpret_cast<hwy::float16_t *>(to + i));
#endif
  for (; i < count; ++i)
    to[i] = floatToHalf(from[i]);
}

// Rounds to nearest even, which Highway's own conversion does not.
HWY_INLINE void narrowToBFloat16(const float *from, int64_t count, uint16_t *to) {
  const hn::RebindToUnsigned<F> du;
  const hn::Rebind<uint16_t, F> narrow;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const VF x = hn::LoadU(F(), from + i);
    const auto bits = hn::BitCast(du, x);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
    const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd);
    const auto quiet = hn::Or(bits, hn::Set(du, 0x400000u));
    const auto isNan = hn::RebindMask(du, hn::IsNaN(x));
    const auto top = hn::ShiftRight<16>(hn::IfThenElse(isNan, quiet, rounded));
    hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(I(), top)), narrow, to + i);
  }
  for (; i < count; ++i)
    to[i] = floatToBFloat16(from[i]);
}

} // namespace HWY_NAMESPACE
} // namespace engine::cpu::attn
HWY_AFTER_NAMESPACE();

#endif // include guard per target
