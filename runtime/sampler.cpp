#include "runtime/sampler.h"

#include "ir/error.h"

#include <algorithm>
#include <cmath>

namespace engine {

Sampler::Sampler(const Sampling &sampling) : sampling_(sampling), random_(sampling.seed) {
  if (!(sampling.temperature >= 0) || std::isinf(sampling.temperature))
    throw Error("got " + std::to_string(sampling.temperature) + ", expected a number from 0 on")
        .at("temperature");
  if (sampling.topK < 0)
    throw Error("got " + std::to_string(sampling.topK) + ", expected a count, or 0 for all tokens")
        .at("top-k");
  if (!(sampling.topP > 0 && sampling.topP <= 1))
    throw Error("got " + std::to_string(sampling.topP) + ", expected a number in (0, 1]")
        .at("top-p");
}

int64_t Sampler::greedy(const float *logits, int64_t count) const {
  int64_t best = -1;
  for (int64_t i = 0; i < count; ++i)
    if (!std::isnan(logits[i]) && (best < 0 || logits[i] > logits[best]))
      best = i;
  if (best < 0)
    throw Error("the logits hold no number: there is no token to choose");
  return best;
}

int64_t Sampler::choose(const float *logits, int64_t count) {
  const int64_t best = greedy(logits, count);
  if (sampling_.temperature == 0)
    return best;

  order_.clear();
  for (int64_t i = 0; i < count; ++i)
    if (!std::isnan(logits[i]))
      order_.push_back(i);
  const auto isBefore = [&](int64_t a, int64_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  if (sampling_.topK > 0 && sampling_.topK < static_cast<int64_t>(order_.size())) {
    std::partial_sort(order_.begin(), order_.begin() + sampling_.topK, order_.end(), isBefore);
    order_.resize(static_cast<size_t>(sampling_.topK));
  } else {
    std::sort(order_.begin(), order_.end(), isBefore);
  }

  weights_.clear();
  double sum = 0;
  for (int64_t token : order_) {
    const double difference = static_cast<double>(logits[token]) - logits[best];
    // Infinite logits differ by NaN.
    const double weight =
        logits[token] == logits[best] ? 1 : std::exp(difference / sampling_.temperature);
    weights_.push_back(weight);
    sum += weight;
  }
  double kept = 0;
  size_t candidates = 0;
  while (candidates < weights_.size() && (candidates == 0 || kept < sampling_.topP * sum))
    kept += weights_[candidates++];

  double left = static_cast<double>(random_() >> 11) * 0x1p-53 * kept;
  for (size_t i = 0; i + 1 < candidates; ++i) {
    if (left < weights_[i])
      return order_[i];
    left -= weights_[i];
  }
  return order_[candidates - 1];
}

} // namespace engine
