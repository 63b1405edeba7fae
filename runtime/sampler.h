// The next token from a row of logits, as generate.h's Sampling says.
#pragma once

#include "runtime/generate.h"

#include <random>

namespace engine {

class Sampler {
public:
  // Throws Error for values that make no sense.
  explicit Sampler(const Sampling &sampling);

  // Throws Error for a row without a number to choose.
  int64_t choose(const float *logits, int64_t count);

private:
  int64_t greedy(const float *logits, int64_t count) const;

  Sampling sampling_;
  std::mt19937_64 random_;
  std::vector<int64_t> order_;
  std::vector<double> weights_;
};

} // namespace engine
