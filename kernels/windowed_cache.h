// The layout of GroupQueryAttention's windowed cache, for every kernel that needs it. A plain
// header.
#pragma once

#include <cstdint>

namespace engine {

// Rows in use after `tokens` tokens; row i holds position tokens - rows + i. capacity >= window.
// Eviction drops capacity - window + 1 positions at once, so the whole window always stays.
constexpr int64_t residentRows(int64_t tokens, int64_t capacity, int64_t window) {
  if (tokens <= capacity)
    return tokens;
  const int64_t atOnce = capacity - window + 1;
  return tokens - atOnce * ((tokens - capacity + atOnce - 1) / atOnce);
}

} // namespace engine
