// f16 and bf16 as storage types with conversions to and from f32, rounding to nearest even.
// A plain header. Vectorised conversions live in kernels/cpu.
#pragma once

#include <cstdint>
#include <cstring>

namespace engine {

namespace detail {
inline uint32_t bitsOf(float f) {
  uint32_t u;
  std::memcpy(&u, &f, sizeof u);
  return u;
}
inline float floatOf(uint32_t u) {
  float f;
  std::memcpy(&f, &u, sizeof f);
  return f;
}
} // namespace detail

inline float halfToFloat(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 0x1fu;
  const uint32_t mantissa = h & 0x3ffu;
  if (exponent == 31)
    return detail::floatOf(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return detail::floatOf(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Zero and subnormals: mantissa * 2^-24 is exact in f32.
  const float magnitude = static_cast<float>(mantissa) * detail::floatOf(0x33800000u);
  return detail::floatOf(sign | detail::bitsOf(magnitude));
}

inline uint16_t floatToHalf(float value) {
  const uint32_t u = detail::bitsOf(value);
  const uint16_t sign = static_cast<uint16_t>((u >> 16) & 0x8000u);
  const uint32_t magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) // NaN stays NaN
    return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) // rounds to 65536 or more
    return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Subnormal result: adding 0.5 leaves the rounded mantissa in the low bits.
    const float shifted = detail::floatOf(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (detail::bitsOf(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

inline float bfloat16ToFloat(uint16_t b) {
  return detail::floatOf(static_cast<uint32_t>(b) << 16);
}

inline uint16_t floatToBFloat16(float value) {
  const uint32_t u = detail::bitsOf(value);
  if ((u & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((u >> 16) | 0x40u);
  return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

struct Half {
  uint16_t bits;
  Half() = default;
  explicit Half(float f) : bits(floatToHalf(f)) {}
  explicit operator float() const { return halfToFloat(bits); }
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float f) : bits(floatToBFloat16(f)) {}
  explicit operator float() const { return bfloat16ToFloat(bits); }
};

} // namespace engine
