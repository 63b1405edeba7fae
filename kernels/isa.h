// Instruction sets that the CPU kernels are compiled for. Always a parameter, never global state,
// so that a lower one can be forced for one run.
#pragma once

#include <cstdint>

namespace engine {

enum class Isa : uint8_t {
  kBase,       // SSE4.2
  kAvx2,       // AVX2, FMA, F16C
  kAvx512,     // AVX-512 F, VL, DQ, BW
  kAvx512Bf16, // and the bf16 dot product
};

inline constexpr Isa kAllIsas[] = {Isa::kBase, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16};

constexpr const char *isaName(Isa isa) {
  switch (isa) {
  case Isa::kBase:
    return "base";
  case Isa::kAvx2:
    return "avx2";
  case Isa::kAvx512:
    return "avx512";
  case Isa::kAvx512Bf16:
    return "avx512bf16";
  }
  return "?";
}

// The highest one that this machine runs; it runs all lower ones too.
Isa bestIsa();

} // namespace engine
