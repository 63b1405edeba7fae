// Tile sizes of the flash prefill kernel, for the kernel and for whoever launches it.
#pragma once

#include <cstddef>

namespace engine::cuda {

// kWidth: the head size that the tiles have room for, a multiple of 64.
template <int kWidth> struct PrefillShape {
  static constexpr int kThreads = 128;
  static constexpr int kRows = 64;
  static constexpr int kKeys = kWidth <= 128 ? 64 : 32;
  static constexpr size_t kSharedBytes = (kRows + 4 * kKeys) * kWidth * size_t{2};
};

} // namespace engine::cuda
