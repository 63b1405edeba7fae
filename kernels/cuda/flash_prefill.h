// Which problems the flash prefill kernel takes and how it is launched. Pure functions of problem
// and device.
#pragma once

#include "kernels/cuda/make_sdpa_args.h"

namespace engine::cuda {

inline constexpr int kPrefillThreads = 128;

struct PrefillPlan {
  int width = 0; // selects the kernel, with the type of the queries
  int64_t blocks = 0;
  size_t sharedBytes = 0;
};

std::string flashPrefillWhyNot(const SdpaProblem &problem, const DeviceLimits &device);
PrefillPlan planFlashPrefill(const SdpaProblem &problem, const DeviceLimits &device);

} // namespace engine::cuda
