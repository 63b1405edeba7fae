// What C++ translated from PTX (tools/ptx2cpp.py) is written in. Shared addresses are offsets from
// the block's shared memory.
#pragma once

#include "ir/half.h"
#include "kernels/cuda/sim/device_api.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace engine::sim::ptx {

template <class To, class From> inline To bits(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

inline char *sharedAt(uint32_t offset) {
  return reinterpret_cast<char *>(thisThread().shared) + static_cast<int32_t>(offset);
}

template <class T, int kCount> void load_shared(const char *p, T *values, Site site) {
  checkShared(p, sizeof(T) * kCount, false, site);
  std::memcpy(values, p, sizeof(T) * kCount);
}
template <class T, int kCount> void store_shared(char *p, const T *values, Site site) {
  checkShared(p, sizeof(T) * kCount, true, site);
  std::memcpy(p, values, sizeof(T) * kCount);
}
template <class T, int kCount> void load_global(const char *p, T *values, Site site) {
  checkGlobal(p, sizeof(T) * kCount, false, site);
  std::memcpy(values, p, sizeof(T) * kCount);
}
template <class T, int kCount> void store_global(char *p, const T *values, Site site) {
  checkGlobal(p, sizeof(T) * kCount, true, site);
  std::memcpy(p, values, sizeof(T) * kCount);
  progress();
}
template <class T, int kCount> void load_local(const char *p, T *values, Site) {
  std::memcpy(values, p, sizeof(T) * kCount);
}
template <class T, int kCount> void store_local(char *p, const T *values, Site) {
  std::memcpy(p, values, sizeof(T) * kCount);
}

template <bool kBf16> float fromHalf(uint16_t h) {
  return kBf16 ? bfloat16ToFloat(h) : halfToFloat(h);
}
template <bool kBf16> uint16_t toHalf(float f) {
  if (f != f)
    return 0x7fff;
  return kBf16 ? floatToBFloat16(f) : floatToHalf(f);
}

template <bool kBf16, int kElements, class F, class... Bits>
uint32_t halfByHalf(F function, Bits... operands) {
  uint32_t result = 0;
  for (int i = 0; i < kElements; ++i) {
    const float value =
        function(fromHalf<kBf16>(static_cast<uint16_t>(uint32_t{operands} >> (16 * i)))...);
    result |= static_cast<uint32_t>(toHalf<kBf16>(value)) << (16 * i);
  }
  return result;
}
#define ENGINE_PTX_HALF2(name, expression)                                                         \
  template <bool kBf16, int kElements> uint32_t half_##name(uint32_t a, uint32_t b) {              \
    return halfByHalf<kBf16, kElements>([](float x, float y) { return expression; }, a, b);        \
  }
ENGINE_PTX_HALF2(add, x + y)
ENGINE_PTX_HALF2(sub, x - y)
ENGINE_PTX_HALF2(mul, x *y)
ENGINE_PTX_HALF2(min, std::fmin(x, y))
ENGINE_PTX_HALF2(max, std::fmax(x, y))
#undef ENGINE_PTX_HALF2
template <bool kBf16, int kElements> uint32_t half_fma(uint32_t a, uint32_t b, uint32_t c) {
  return halfByHalf<kBf16, kElements>([](float x, float y, float z) { return std::fma(x, y, z); },
                                      a, b, c);
}
template <bool kBf16, int kElements> uint32_t half_neg(uint32_t a) {
  return a ^ (kElements == 2 ? 0x80008000u : 0x8000u);
}
template <bool kBf16, int kElements> uint32_t half_abs(uint32_t a) {
  return a & (kElements == 2 ? 0x7fff7fffu : 0x7fffu);
}

// A NaN loses against a number.
template <class T> T minimum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmin(a, b);
  else
    return a < b ? a : b;
}
template <class T> T maximum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmax(a, b);
  else
    return a > b ? a : b;
}

// Saturates; NaN gives 0.
template <class T> T toInteger(double value) {
  if (value != value)
    return 0;
  constexpr T kLow = std::numeric_limits<T>::min();
  constexpr T kHigh = std::numeric_limits<T>::max();
  if (value <= static_cast<double>(kLow))
    return kLow;
  return value >= static_cast<double>(kHigh) ? kHigh : static_cast<T>(value);
}

template <class T> T mulHigh(T a, T b) {
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return static_cast<T>((static_cast<Wide>(a) * b) >> (8 * sizeof(T)));
}

inline bool unordered(double a, double b) { return a != a || b != b; }

inline float flushSubnormal(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

template <class T> T insertBits(T from, T into, uint32_t position, uint32_t length) {
  const uint32_t p = position & 255;
  const uint32_t n = length & 255;
  constexpr uint32_t kBits = 8 * sizeof(T);
  if (p >= kBits || n == 0)
    return into;
  const T ones = n >= kBits ? ~T{0} : static_cast<T>((T{1} << n) - 1);
  const T mask = static_cast<T>(ones << p);
  return static_cast<T>((into & ~mask) | ((from << p) & mask));
}

template <class T> T extractBits(T from, uint32_t position, uint32_t length) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  const uint32_t p = position & 255;
  const uint32_t n = length & 255;
  if (n == 0)
    return 0;
  using Unsigned = std::make_unsigned_t<T>;
  const bool negative =
      std::is_signed_v<T> && (from >> (p + n <= kBits ? p + n - 1 : kBits - 1) & 1);
  Unsigned value = p >= kBits ? 0 : static_cast<Unsigned>(from) >> p;
  if (n >= kBits)
    return static_cast<T>(value);
  const Unsigned mask = (Unsigned{1} << n) - 1;
  value &= mask;
  return static_cast<T>(negative ? value | ~mask : value);
}

inline uint32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selectors) {
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t selector = selectors >> (4 * i) & 15;
    uint32_t byte = bytes >> (8 * (selector & 7)) & 255;
    if (selector & 8) // its sign, eight times
      byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

inline uint32_t logic3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (int i = 0; i < 32; ++i) {
    const uint32_t row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
    result |= (table >> row & 1) << i;
  }
  return result;
}

template <class T> T reverseBits(T value) {
  T result = 0;
  for (size_t i = 0; i < 8 * sizeof(T); ++i)
    result = static_cast<T>(result << 1 | (value >> i & 1));
  return result;
}

template <bool kWrap> uint32_t funnelLeft(uint32_t low, uint32_t high, uint32_t n) {
  n = kWrap ? n & 31 : n < 32 ? n : 32;
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  return static_cast<uint32_t>((both << n) >> 32);
}
template <bool kWrap> uint32_t funnelRight(uint32_t low, uint32_t high, uint32_t n) {
  n = kWrap ? n & 31 : n < 32 ? n : 32;
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  return static_cast<uint32_t>(both >> n);
}

// shfl.sync: `clamp` holds the segment's mask in bits 8..12 and its end in bits 0..4.
struct ShuffleRange {
  int lane, low, high;
  explicit ShuffleRange(uint32_t clamp) : lane(thisThread().lane) {
    const int segment = static_cast<int>(clamp >> 8 & 31);
    const int end = static_cast<int>(clamp & 31);
    low = lane & segment;
    high = low | (end & ~segment);
  }
};
inline uint32_t shuffleFrom(uint32_t value, int source, bool valid, uint32_t mask, Site site) {
  return shuffle(mask, value, valid ? source : thisThread().lane, site);
}
inline uint32_t shuffle_idx(uint32_t value, uint32_t lane, uint32_t clamp, uint32_t mask,
                            bool &valid, Site site) {
  const ShuffleRange range(clamp);
  const int segment = static_cast<int>(clamp >> 8 & 31);
  const int source = range.low | (static_cast<int>(lane & 31) & ~segment);
  valid = source <= range.high;
  return shuffleFrom(value, source, valid, mask, site);
}
inline uint32_t shuffle_bfly(uint32_t value, uint32_t lanes, uint32_t clamp, uint32_t mask,
                             bool &valid, Site site) {
  const ShuffleRange range(clamp);
  const int source = range.lane ^ static_cast<int>(lanes & 31);
  valid = source <= range.high;
  return shuffleFrom(value, source, valid, mask, site);
}
inline uint32_t shuffle_up(uint32_t value, uint32_t distance, uint32_t clamp, uint32_t mask,
                           bool &valid, Site site) {
  const ShuffleRange range(clamp);
  const int source = range.lane - static_cast<int>(distance & 31);
  valid = source >= range.high; // shfl.up clamps at the segment's start
  return shuffleFrom(value, source, valid, mask, site);
}
inline uint32_t shuffle_down(uint32_t value, uint32_t distance, uint32_t clamp, uint32_t mask,
                             bool &valid, Site site) {
  const ShuffleRange range(clamp);
  const int source = range.lane + static_cast<int>(distance & 31);
  valid = source <= range.high;
  return shuffleFrom(value, source, valid, mask, site);
}

} // namespace engine::sim::ptx
