// What kernels call on the simulated device. Only for code that runs inside a launch:
// kernels/cuda/prim.h and translated PTX; everything reports its faults by ending the launch.
#pragma once

#include "kernels/cuda/sim/executor.h"

#include <cstring>
#include <type_traits>

namespace engine::sim {

struct ThreadInfo {
  Dim3 thread;
  Dim3 block;
  Dim3 blockSize;
  Dim3 gridSize;
  int lane = 0;
  unsigned char *shared = nullptr;
  size_t sharedBytes = 0;
};

// The running thread's, or null outside of a launch.
constinit extern thread_local const ThreadInfo *currentThread;

// The same for kernels: the simulated thread that calls it stays the same.
[[gnu::const]] const ThreadInfo &thisThread();

inline Site here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  return {file, line};
}

[[noreturn]] void fail(FaultKind kind, const std::string &what, Site site);

void syncBlock(Site site);
void syncWarp(uint32_t mask, Site site);
uint32_t ballot(uint32_t mask, bool vote, Site site);

// The bits of lane `source`'s value.
uint64_t shuffleBits(uint32_t mask, uint64_t value, int source, Site site);

// mma.sync.m16n8k16, row.col, f32 accumulators: d += a * b.
void mma16816(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], bool bf16, Site site);
// ldmatrix.m8n8 of `count` (1, 2, 4) matrices of 16-bit elements.
void ldmatrix(uint32_t *registers, const void *row, int count, bool transposed, Site site);

void copyAsync(void *shared, const void *global, int bytes, int sourceBytes, Site site);
void commitCopies();
void waitCopies(int groupsInFlight);

// A place where a thread that waits for another block gives way, and counts as polling.
void poll(Site site);
// Something happened that a polling thread may wait for.
void progress();

// A memory access by the running thread. Instrumented code calls it by the compiler's hand.
void noteAccess(const void *address, size_t bytes, bool write, Site site);
// The same for an operation that is atomic: it never races with another atomic one.
void noteAtomic(const void *address, size_t bytes, Site site);
// With the range and alignment checks that a device's load or store has.
void checkShared(const void *address, size_t bytes, bool write, Site site);
void checkGlobal(const void *address, size_t bytes, bool write, Site site);

template <class T> T shuffle(uint32_t mask, T value, int source, Site site) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = shuffleBits(mask, bits, source, site);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

enum class AtomicOp : uint8_t { kAdd, kMin, kMax, kExchange, kOr, kAnd };
uint32_t atomicU32(AtomicOp op, uint32_t *address, uint32_t value, Site site);
int32_t atomicS32(AtomicOp op, int32_t *address, int32_t value, Site site);
uint64_t atomicU64(AtomicOp op, uint64_t *address, uint64_t value, Site site);
float atomicF32(AtomicOp op, float *address, float value, Site site);
uint32_t compareAndSwapU32(uint32_t *address, uint32_t expected, uint32_t value, Site site);

} // namespace engine::sim
