// The attention mask as an interval: the one place where causal, window, valid length and alignment
// are decided (design.md, rule 2). A plain header, host and device; all arithmetic is signed and
// saturates, so no offset is ever clamped; it is exact for values within +-2^60.
//
// A query at position p sees the key positions [p - left, p + right]; an open end sees everything
// on that side. Rows of the key tensor are positions keyStart, keyStart + 1, ... and only the first
// keyCount of them hold keys. Both ends may be negative: left = -1 with right = 0 sees nothing.
//
//   causal                          left open,   right = 0
//   GroupQueryAttention window W    left = W-1,  right = 0    (W = 0 sees nothing)
//   Attention-25 windows L, R       left = L,    right = R    (-1 in ONNX is an open end)
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define ENGINE_HOST_DEVICE __host__ __device__
#else
#define ENGINE_HOST_DEVICE
#endif

namespace engine {

namespace detail {
ENGINE_HOST_DEVICE constexpr int64_t saturatingAdd(int64_t a, int64_t b) {
  if (b > 0 && a > INT64_MAX - b)
    return INT64_MAX;
  if (b < 0 && a < INT64_MIN - b)
    return INT64_MIN;
  return a + b;
}
ENGINE_HOST_DEVICE constexpr int64_t saturatingSub(int64_t a, int64_t b) {
  if (b == INT64_MIN)
    return a >= 0 ? INT64_MAX : a - b;
  return saturatingAdd(a, -b);
}
} // namespace detail

struct Band {
  static constexpr int64_t kOpen = INT64_MAX;

  int64_t left = kOpen;
  int64_t right = kOpen;

  bool operator==(const Band &) const = default;

  ENGINE_HOST_DEVICE constexpr bool open() const { return left == kOpen && right == kOpen; }
  // No query sees any position: its interval ends before it starts.
  ENGINE_HOST_DEVICE constexpr bool empty() const {
    if (left == kOpen || right == kOpen)
      return false;
    return detail::saturatingAdd(left, right) < 0;
  }
  // Neither end may see further than before: causal on top of a window, say.
  ENGINE_HOST_DEVICE constexpr Band intersect(Band other) const {
    return {left < other.left ? left : other.left, right < other.right ? right : other.right};
  }
};

inline constexpr Band kCausalBand{Band::kOpen, 0};

// Half-open range of key rows. Empty ranges are canonical: lo == hi == 0.
struct KeyRange {
  int64_t lo = 0;
  int64_t hi = 0;

  bool operator==(const KeyRange &) const = default;
  ENGINE_HOST_DEVICE constexpr bool empty() const { return lo >= hi; }
  ENGINE_HOST_DEVICE constexpr int64_t size() const { return empty() ? 0 : hi - lo; }
  ENGINE_HOST_DEVICE constexpr bool contains(int64_t row) const { return row >= lo && row < hi; }
};

namespace detail {
ENGINE_HOST_DEVICE constexpr KeyRange canonical(int64_t lo, int64_t hi) {
  return lo < hi ? KeyRange{lo, hi} : KeyRange{0, 0};
}
} // namespace detail

// Where one batch entry's queries and keys stand: query row i is position queryStart + i, key row j
// is position keyStart + j, and rows at or beyond keyCount hold no key.
struct BandFrame {
  Band band;
  int64_t queryStart = 0;
  int64_t keyStart = 0;
  int64_t keyCount = 0;

  // The key rows that query row i sees.
  ENGINE_HOST_DEVICE constexpr KeyRange rowRange(int64_t i) const {
    const int64_t p = detail::saturatingSub(detail::saturatingAdd(queryStart, i), keyStart);
    int64_t lo = 0;
    int64_t hi = keyCount;
    if (band.left != Band::kOpen) {
      const int64_t first = detail::saturatingSub(p, band.left);
      lo = first > 0 ? first : 0;
    }
    if (band.right != Band::kOpen) {
      const int64_t end = detail::saturatingAdd(detail::saturatingAdd(p, band.right), 1);
      hi = end < keyCount ? end : keyCount;
    }
    return detail::canonical(lo, hi);
  }

  // The key rows that at least one of the query rows [i0, i1) sees: which key tiles exist. Exactly
  // those: the intervals of neighbouring rows are shifted by one, so that what they cover together
  // has no gap.
  ENGINE_HOST_DEVICE constexpr KeyRange unionRange(int64_t i0, int64_t i1) const {
    if (i0 >= i1 || band.empty())
      return {};
    const BandFrame start{{band.left, Band::kOpen}, queryStart, keyStart, keyCount};
    const BandFrame end{{Band::kOpen, band.right}, queryStart, keyStart, keyCount};
    const KeyRange first = start.rowRange(i0);
    const KeyRange last = end.rowRange(i1 - 1);
    if (first.empty() || last.empty())
      return {};
    return detail::canonical(first.lo, last.hi);
  }

  // The key rows that every query row of [i0, i1) sees, exactly: tiles inside it need no element
  // test.
  ENGINE_HOST_DEVICE constexpr KeyRange commonRange(int64_t i0, int64_t i1) const {
    if (i0 >= i1)
      return {};
    const KeyRange first = rowRange(i0);
    const KeyRange last = rowRange(i1 - 1);
    if (first.empty() || last.empty())
      return {};
    return detail::canonical(last.lo, first.hi);
  }
};

} // namespace engine
