// Sizes of the flash decode kernels, for the kernels and for whoever launches them.
#pragma once

#include "kernels/cuda/sdpa_args.h"

#include <cstddef>
#include <cstdint>

namespace engine::cuda {

// kWidth: the head size that the tiles have room for, a multiple of 64. A warp has 16 of a tile's
// 64 keys, and a pipeline of its own.
template <int kWidth, int kCacheBytes> struct DecodeShape {
  static constexpr int kThreads = 128;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kRows = 16; // (query, head) pairs of one KV head
  static constexpr int kKeysOfWarp = 16;
  static constexpr int kKeys = kWarps * kKeysOfWarp;
  static constexpr int kStages = kWidth * kCacheBytes <= 128 ? 3 : 2;
  static constexpr size_t kQueryBytes = size_t{kRows} * kWidth * 2;
  static constexpr size_t kTileBytes =
      size_t{kKeysOfWarp} * kWidth * kCacheBytes; // keys or values of a warp
  static constexpr size_t kPipelineBytes = kWarps * kStages * 2 * kTileBytes;
  // Where the warps' results meet, over the same memory.
  static constexpr size_t kMergeBytes = size_t{kWarps} * kRows * (kWidth + 2) * sizeof(float);
  static constexpr size_t kSharedBytes =
      kQueryBytes + kPipelineBytes > kMergeBytes ? kQueryBytes + kPipelineBytes : kMergeBytes;
};

// Partial results of `splits` parts of the keys: for row (b * heads + h) * queries + i and part s,
// `out` has vHeadSize channels and `stats` the maximum and the sum.
struct DecodeArgs {
  SdpaArgs sdpa;
  float *out = nullptr;
  float *stats = nullptr;
  int32_t splits = 1;
};

} // namespace engine::cuda
