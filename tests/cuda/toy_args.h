// The arguments of the kernels of sim_kernels.cu.
#pragma once

#include <cstdint>

namespace engine::test {

struct ToyArgs {
  uint32_t *out = nullptr;
  const uint32_t *in = nullptr;
  int n = 0;
};

} // namespace engine::test
