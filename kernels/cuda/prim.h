// The vocabulary of the CUDA kernels, and the only file with PTX. Every function has a device
// branch and a host branch: kernels written in it compile with nvcc, and as host C++ for the
// simulator (kernels/cuda/sim).
//
// Rules for such kernels (docs: kernels/cuda/README.md):
//   - shared memory is dynamic, from sharedMemory(); no static shared arrays
//   - memory that another block writes is read by loadAcquire only
//   - element types are engine::Half and engine::BFloat16 as storage; arithmetic goes through
//   toFloat and pack2
#pragma once

#include "ir/half.h"

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define ENGINE_DEVICE __device__ __forceinline__
#define ENGINE_UNROLL _Pragma("unroll")
// An entry point `name` for the device function `body(args)`, with a name that every tool sees
// unmangled.
#define ENGINE_KERNEL_ENTRY(name, threads, Args, body)                                             \
  extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ Args args) {  \
    body(args);                                                                                    \
  }
#else
#include "kernels/cuda/sim/device_api.h"

#include <cmath>
#define ENGINE_DEVICE inline
#define ENGINE_UNROLL
#define ENGINE_KERNEL_ENTRY(name, threads, Args, body)                                             \
  static void name##Thread(const void *args) {                                                     \
    const Args ownArgs = *static_cast<const Args *>(args);                                         \
    body(ownArgs);                                                                                 \
  }                                                                                                \
  extern "C" const engine::sim::Kernel name;                                                       \
  const engine::sim::Kernel name = {#name, &name##Thread, sizeof(Args), threads};
#endif

namespace engine::prim {

inline constexpr uint32_t kAllLanes = 0xffffffffu;

template <class T> inline constexpr bool kIsBf16 = false;
template <> inline constexpr bool kIsBf16<BFloat16> = true;

struct Index3 {
  int x, y, z;
};

#if defined(__CUDACC__)

// --- On the device.

ENGINE_DEVICE int threadIndex() { return static_cast<int>(threadIdx.x); }
ENGINE_DEVICE int threadCount() { return static_cast<int>(blockDim.x); }
ENGINE_DEVICE Index3 blockIndex() {
  return {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)};
}
ENGINE_DEVICE Index3 gridSize() {
  return {static_cast<int>(gridDim.x), static_cast<int>(gridDim.y), static_cast<int>(gridDim.z)};
}

ENGINE_DEVICE unsigned char *sharedMemory() {
  extern __shared__ __align__(128) unsigned char engineSharedMemory[];
  return engineSharedMemory;
}

ENGINE_DEVICE void syncBlock() { __syncthreads(); }
ENGINE_DEVICE void syncWarp(uint32_t mask = kAllLanes) { __syncwarp(mask); }

// Values from other lanes. All lanes of `mask` call the same function.
template <class T> ENGINE_DEVICE T shuffle(T value, int lane, uint32_t mask = kAllLanes) {
  return __shfl_sync(mask, value, lane);
}
template <class T> ENGINE_DEVICE T shuffleXor(T value, int bits, uint32_t mask = kAllLanes) {
  return __shfl_xor_sync(mask, value, bits);
}
// From the lane `distance` above; lanes without one keep their value.
template <class T> ENGINE_DEVICE T shuffleDown(T value, int distance, uint32_t mask = kAllLanes) {
  return __shfl_down_sync(mask, value, distance);
}
template <class T> ENGINE_DEVICE T shuffleUp(T value, int distance, uint32_t mask = kAllLanes) {
  return __shfl_up_sync(mask, value, distance);
}
ENGINE_DEVICE uint32_t ballot(bool vote, uint32_t mask = kAllLanes) {
  return __ballot_sync(mask, vote);
}

ENGINE_DEVICE uint32_t sharedAddress(const void *p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Four 8x8 matrices of 16-bit elements; lane 8 m + i gives the address of row i of matrix m.
ENGINE_DEVICE void ldmatrix4(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(sharedAddress(row))
               : "memory");
}
ENGINE_DEVICE void ldmatrix4Transposed(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(sharedAddress(row))
               : "memory");
}
ENGINE_DEVICE void ldmatrix2Transposed(uint32_t (&r)[2], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(sharedAddress(row))
               : "memory");
}

// d (16x8, f32) += a (16x16, row major) * b (16x8, column major).
template <class T>
ENGINE_DEVICE void mma16816(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (kIsBf16<T>)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// 16 bytes, or zeros unless `valid`; the global address is not read then, but has to be aligned.
ENGINE_DEVICE void copyAsync16(void *shared, const void *global, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(shared)),
               "l"(global), "r"(valid ? 16 : 0)
               : "memory");
}
ENGINE_DEVICE void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most `kGroups` of this thread's groups are in flight.
template <int kGroups> ENGINE_DEVICE void waitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}

// 2^x; subnormal results are 0.
ENGINE_DEVICE float exp2Fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
ENGINE_DEVICE float tanhAccurate(float x) { return tanhf(x); }

ENGINE_DEVICE float toFloat(Half x) { return __half2float(__ushort_as_half(x.bits)); }
ENGINE_DEVICE float toFloat(BFloat16 x) { return __bfloat162float(__ushort_as_bfloat16(x.bits)); }

// Two elements in a register, the first in the low half; round to nearest even.
template <class T> ENGINE_DEVICE uint32_t pack2(float low, float high) {
  uint32_t r;
  if constexpr (kIsBf16<T>)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

// In shared or global memory; gives the value before. Orders nothing else.
ENGINE_DEVICE uint32_t addAtomic(uint32_t *p, uint32_t value) { return atomicAdd(p, value); }

// For blocks that talk to each other, in global memory.
ENGINE_DEVICE uint32_t loadAcquire(const uint32_t *p) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}
ENGINE_DEVICE uint32_t addRelease(uint32_t *p, uint32_t value) {
  uint32_t old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(old)
               : "l"(p), "r"(value)
               : "memory");
  return old;
}

#else

// --- In the simulator. What a call passes as `site` is the kernel's line.

#define ENGINE_SITE sim::Site site = sim::here()

inline int threadIndex() { return static_cast<int>(sim::thisThread().thread.x); }
inline int threadCount() { return static_cast<int>(sim::thisThread().blockSize.x); }
inline Index3 toIndex(sim::Dim3 d) {
  return {static_cast<int>(d.x), static_cast<int>(d.y), static_cast<int>(d.z)};
}
inline Index3 blockIndex() { return toIndex(sim::thisThread().block); }
inline Index3 gridSize() { return toIndex(sim::thisThread().gridSize); }

inline unsigned char *sharedMemory() { return sim::thisThread().shared; }

inline void syncBlock(ENGINE_SITE) { sim::syncBlock(site); }
inline void syncWarp(uint32_t mask = kAllLanes, ENGINE_SITE) { sim::syncWarp(mask, site); }

template <class T> inline T shuffle(T value, int lane, uint32_t mask = kAllLanes, ENGINE_SITE) {
  return sim::shuffle(mask, value, lane & 31, site);
}
template <class T> inline T shuffleXor(T value, int bits, uint32_t mask = kAllLanes, ENGINE_SITE) {
  return sim::shuffle(mask, value, (sim::thisThread().lane ^ bits) & 31, site);
}
template <class T>
inline T shuffleDown(T value, int distance, uint32_t mask = kAllLanes, ENGINE_SITE) {
  const int lane = sim::thisThread().lane;
  return sim::shuffle(mask, value, lane + distance < 32 ? lane + distance : lane, site);
}
template <class T>
inline T shuffleUp(T value, int distance, uint32_t mask = kAllLanes, ENGINE_SITE) {
  const int lane = sim::thisThread().lane;
  return sim::shuffle(mask, value, lane >= distance ? lane - distance : lane, site);
}
inline uint32_t ballot(bool vote, uint32_t mask = kAllLanes, ENGINE_SITE) {
  return sim::ballot(mask, vote, site);
}

inline void ldmatrix4(uint32_t (&r)[4], const void *row, ENGINE_SITE) {
  sim::ldmatrix(r, row, 4, false, site);
}
inline void ldmatrix4Transposed(uint32_t (&r)[4], const void *row, ENGINE_SITE) {
  sim::ldmatrix(r, row, 4, true, site);
}
inline void ldmatrix2Transposed(uint32_t (&r)[2], const void *row, ENGINE_SITE) {
  sim::ldmatrix(r, row, 2, true, site);
}
template <class T>
inline void mma16816(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, ENGINE_SITE) {
  sim::mma16816(d, a, {b0, b1}, kIsBf16<T>, site);
}

inline void copyAsync16(void *shared, const void *global, bool valid, ENGINE_SITE) {
  sim::copyAsync(shared, global, 16, valid ? 16 : 0, site);
}
inline void commitCopies() { sim::commitCopies(); }
template <int kGroups> inline void waitCopies() { sim::waitCopies(kGroups); }

inline float exp2Fast(float x) {
  const float y = std::exp2(x);
  return y < 1.17549435e-38f ? 0.0f : y;
}
inline float tanhAccurate(float x) { return std::tanh(x); }

inline float toFloat(Half x) { return halfToFloat(x.bits); }
inline float toFloat(BFloat16 x) { return bfloat16ToFloat(x.bits); }
template <class T> inline uint32_t pack2(float low, float high) {
  if constexpr (kIsBf16<T>)
    return floatToBFloat16(low) | static_cast<uint32_t>(floatToBFloat16(high)) << 16;
  else
    return floatToHalf(low) | static_cast<uint32_t>(floatToHalf(high)) << 16;
}

inline uint32_t addAtomic(uint32_t *p, uint32_t value, ENGINE_SITE) {
  return sim::atomicU32(sim::AtomicOp::kAdd, p, value, site);
}
inline uint32_t loadAcquire(const uint32_t *p, ENGINE_SITE) {
  sim::poll(site);
  sim::checkGlobal(p, sizeof *p, false, site);
  return *p;
}
inline uint32_t addRelease(uint32_t *p, uint32_t value, ENGINE_SITE) {
  return sim::atomicU32(sim::AtomicOp::kAdd, p, value, site);
}

#undef ENGINE_SITE
#endif

// --- Both.

ENGINE_DEVICE float toFloat(float x) { return x; }

ENGINE_DEVICE float absolute(float x) { return x < 0.0f ? -x : x; }

template <class T> ENGINE_DEVICE T fromFloat(float x) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return x;
  } else {
    T value;
    value.bits = static_cast<uint16_t>(pack2<T>(x, 0.0f));
    return value;
  }
}

} // namespace engine::prim
