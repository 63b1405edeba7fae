// Vectors of f32 for every CPU kernel, compiled once per target (Highway's include guard).
#if defined(ENGINE_KERNELS_CPU_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ENGINE_KERNELS_CPU_SIMD_INL_H
#undef ENGINE_KERNELS_CPU_SIMD_INL_H
#else
#define ENGINE_KERNELS_CPU_SIMD_INL_H
#endif

#include "kernels/cpu/attention_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace engine::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using attn::HWY_NAMESPACE::expNonPositive;
using attn::HWY_NAMESPACE::F;
using attn::HWY_NAMESPACE::I;
using attn::HWY_NAMESPACE::kInfinity;
using attn::HWY_NAMESPACE::kLanes;
using attn::HWY_NAMESPACE::load;
using attn::HWY_NAMESPACE::narrowToBFloat16;
using attn::HWY_NAMESPACE::narrowToHalf;
using attn::HWY_NAMESPACE::tanhAll;
using attn::HWY_NAMESPACE::VF;
using attn::HWY_NAMESPACE::widen;

// Calls body(offset, vector) for whole vectors of x, and for the rest with its lanes loaded and the
// others zero; body returns the vector to store to y. y may be x.
template <class Body>
HWY_INLINE void mapVectors(const float *x, int64_t count, float *y, Body &&body) {
  const F d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    hn::StoreU(body(i, hn::LoadU(d, x + i)), d, y + i);
  if (i == count)
    return;
  float rest[kLanes] = {};
  std::memcpy(rest, x + i, (count - i) * sizeof(float));
  hn::StoreU(body(i, hn::LoadU(d, rest)), d, rest);
  std::memcpy(y + i, rest, (count - i) * sizeof(float));
}

// The first `count` (fewer than kLanes) elements, the other lanes as `fill`.
HWY_INLINE VF loadRest(const float *x, int64_t count, float fill) {
  float rest[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    rest[lane] = fill;
  std::memcpy(rest, x, count * sizeof(float));
  return hn::LoadU(F(), rest);
}

} // namespace HWY_NAMESPACE
} // namespace engine::cpu
HWY_AFTER_NAMESPACE();

#endif // include guard per target
