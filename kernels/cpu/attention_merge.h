// Partial softmax results of one row, over disjoint keys, and how two become one.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace engine::cpu {

// out = sum over the keys of exp(logit - max) * value, sum = the same without the value. A part
// that has seen no key is max = -inf, sum = 0, out = 0.
struct SoftmaxPart {
  float max = -std::numeric_limits<float>::infinity();
  float sum = 0;
  float *out = nullptr;
};

// `into` becomes the part over both sets of keys; `from.out` may be null for a key without a value
// (a sink). Not-a-number sums stay so.
inline void mergeParts(const SoftmaxPart &from, int64_t width, SoftmaxPart &into) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const float max = from.max > into.max ? from.max : into.max;
  const float base = max == kLowest ? 0 : max;
  const float keep = std::exp(into.max - base);
  const float add = std::exp(from.max - base);
  into.max = max;
  into.sum = into.sum * keep + from.sum * add;
  for (int64_t c = 0; c < width; ++c)
    into.out[c] *= keep;
  if (!from.out)
    return;
  for (int64_t c = 0; c < width; ++c)
    into.out[c] += from.out[c] * add;
}

} // namespace engine::cpu
