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

// 2^n for n in [-126, 128].
HWY_INLINE VF powerOfTwo(hn::Vec<I> n) {
  return hn::BitCast(F(), hn::ShiftLeft<23>(hn::Add(n, hn::Set(I(), 127))));
}

// exp(x) to 2 ulp for x <= 88; below -87.3, -inf included, 0; NaN stays NaN.
HWY_INLINE VF expNonPositive(VF x) {
  const F d;
  const hn::Vec<I> n = hn::NearestInt(hn::Mul(x, hn::Set(d, 1.44269504f)));
  const VF whole = hn::ConvertTo(d, n);
  VF r = hn::NegMulAdd(whole, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(whole, hn::Set(d, -2.12194440e-4f), r);
  VF p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  p = hn::MulAdd(hn::Mul(p, r), r, hn::Add(r, hn::Set(d, 1.0f)));
  const VF result = hn::Mul(p, powerOfTwo(n));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.3f)), result);
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

// Calls body with a pointer of the element type; 4-bit types have none and are widened elsewhere.
template <class Body> HWY_INLINE void withElements(DType type, const void *data, Body &&body) {
  switch (type) {
  case DType::kF16:
    return body(static_cast<const hwy::float16_t *>(data));
  case DType::kBF16:
    return body(static_cast<const hwy::bfloat16_t *>(data));
  case DType::kI8:
    return body(static_cast<const int8_t *>(data));
  default:
    return body(static_cast<const float *>(data));
  }
}

template <class T> HWY_INLINE void widenVectors(const T *from, int64_t count, float *to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    hn::StoreU(load(from + i), F(), to + i);
  if (i == count)
    return;
  T rest[kLanes] = {};
  float widened[kLanes];
  std::memcpy(rest, from + i, (count - i) * sizeof(T));
  hn::StoreU(load(rest), F(), widened);
  std::memcpy(to + i, widened, (count - i) * sizeof(float));
}

// 16 channels from 8 bytes of the 4-bit cache.
HWY_INLINE void widenNibbles16(const uint8_t *from, float *to) {
  const hn::FixedTag<uint8_t, 16> d;
  const hn::Half<decltype(d)> half;
  const auto bytes = hn::ZeroExtendVector(d, hn::LoadU(half, from));
  const auto low = hn::And(bytes, hn::Set(d, uint8_t{15}));
  const auto high = hn::ShiftRight<4>(bytes);
  HWY_ALIGN uint8_t channels[16];
  hn::Store(hn::InterleaveLower(d, low, high), d, channels);
  const hn::Rebind<uint8_t, F> narrow;
  for (int i = 0; i < 16; i += kLanes) {
    const auto code = hn::PromoteTo(I(), hn::LoadU(narrow, channels + i));
    hn::StoreU(hn::ConvertTo(F(), hn::Sub(code, hn::Set(I(), 8))), F(), to + i);
  }
}

HWY_INLINE void widenNibbles(const uint8_t *from, int64_t count, float *to) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    widenNibbles16(from + i / 2, to + i);
  for (; i < count; ++i) {
    const int code = i % 2 == 0 ? from[i / 2] & 15 : from[i / 2] >> 4;
    to[i] = static_cast<float>(code - 8);
  }
}

HWY_INLINE void widen(DType type, const void *from, int64_t count, float *to) {
  if (type == DType::kU8)
    return widenNibbles(static_cast<const uint8_t *>(from), count, to);
  withElements(type, from,
               [&](const auto *elements) HWY_ATTR { widenVectors(elements, count, to); });
}

} // namespace HWY_NAMESPACE
} // namespace engine::cpu::attn
HWY_AFTER_NAMESPACE();

#endif // include guard per target
