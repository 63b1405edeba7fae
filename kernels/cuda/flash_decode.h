// Which problems the flash decode kernels take and how they are launched. Pure functions of problem
// and device.
#pragma once

#include "kernels/cuda/make_sdpa_args.h"

namespace engine::cuda {

inline constexpr int kDecodeThreads = 128;

struct DecodePlan {
  int width = 0; // selects the kernel, with the types of queries and cache
  int splits = 1;
  int64_t blocks = 0;
  size_t sharedBytes = 0;
  int64_t mergeBlocks = 0;
  int64_t outFloats = 0; // of the workspace
  int64_t statsFloats = 0;
};

std::string flashDecodeWhyNot(const SdpaProblem &problem, const DeviceLimits &device);
DecodePlan planFlashDecode(const SdpaProblem &problem, const DeviceLimits &device);

} // namespace engine::cuda
