// One kernel that runs each function of kernels/cuda/prim.h on a warp's worth of input
// (primitives_test.cpp).
#pragma once

#include <cstdint>

namespace engine::test {

enum class Primitive : int32_t {
  kMmaF16,
  kMmaBf16,
  kLdmatrix4,
  kLdmatrix4Transposed,
  kLdmatrix2Transposed,
  kShuffle,
  kShufflePartial,
  kPackF16,
  kPackBf16,
  kToFloat,
  kExp2,
  kTanh,
  kCopyAsync,
  kAtomic,
  kCount,
};

inline constexpr int kInWords = 16; // a lane
inline constexpr int kOutWords = 8;
inline constexpr int kPrimitiveShared = 4096;

struct PrimitiveArgs {
  const uint32_t *in = nullptr; // [32][kInWords]
  uint32_t *out = nullptr;      // [32][kOutWords]
  Primitive which = Primitive::kMmaF16;
};

} // namespace engine::test
