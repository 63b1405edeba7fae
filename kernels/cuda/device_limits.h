// What host functions need to know of a device to say whether a kernel can run there, and how it is
// best launched.
#pragma once

#include <cstddef>
#include <cstdint>

namespace engine::cuda {

struct DeviceLimits {
  int capability = 80; // 10 * major + minor
  int multiprocessors = 108;
  size_t sharedPerBlock = 166912; // with opt-in
  int64_t maxGrid = 2147483647;   // blocks along x
};

} // namespace engine::cuda
