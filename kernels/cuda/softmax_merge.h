// Partial softmax results over disjoint keys: max = largest logit, sum = sum of exp(logit - max),
// and for each channel the sum of exp(logit - max) * value. A part without a key is max = -inf, sum
// = 0, channels 0.
#pragma once

#include "kernels/cuda/prim.h"

namespace engine::cuda {

inline constexpr float kLog2E = 1.44269504088896340736f;

ENGINE_DEVICE float minusInfinity() { return -__builtin_huge_valf(); }
ENGINE_DEVICE float larger(float a, float b) { return a > b ? a : b; }

// exp(logit - max). The difference comes first: the lowest float times log2 e would be -inf.
ENGINE_DEVICE float weightOf(float logit, float max) {
  return prim::exp2Fast((logit - max) * kLog2E);
}

struct SoftmaxPart {
  float max;
  float sum;
};

struct SoftmaxMerge {
  SoftmaxPart part;
  float keep; // what the channels of the first part are multiplied by,
  float add;  // and those of the second, before they are added
};

ENGINE_DEVICE SoftmaxMerge mergeParts(SoftmaxPart a, SoftmaxPart b) {
  const float max = larger(a.max, b.max);
  const float base = max == minusInfinity() ? 0.0f : max; // -inf - -inf is no number
  const float keep = weightOf(a.max, base);
  const float add = weightOf(b.max, base);
  return {{max, a.sum * keep + b.sum * add}, keep, add};
}

// What the channels of a complete row are multiplied by; a sink is a logit without a value (-inf
// for none). A row without a key is 0 whatever the sink.
ENGINE_DEVICE float finalFactor(SoftmaxPart part, float sink) {
  if (part.sum == 0.0f)
    return 0.0f;
  const SoftmaxMerge merged = mergeParts(part, {sink, sink == minusInfinity() ? 0.0f : 1.0f});
  return merged.keep / merged.part.sum;
}

} // namespace engine::cuda
