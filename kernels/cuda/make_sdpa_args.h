// SdpaProblem with device pointers to kernel arguments, and the objections that all flash kernels
// share.
#pragma once

#include "kernels/cuda/device_limits.h"
#include "kernels/cuda/sdpa_args.h"
#include "kernels/sdpa_problem.h"

#include <string>

namespace engine::cuda {

SdpaArgs makeSdpaArgs(const SdpaProblem &problem);

// Why the flash kernels cannot do it, or an empty string. `cache` is the type that k and v may have
// beside q's.
std::string flashWhyNot(const SdpaProblem &problem, const DeviceLimits &device);

// The width of the tiles for a problem's head sizes: 64, 128, 192 or 256.
int flashWidth(const SdpaProblem &problem);

} // namespace engine::cuda
