#include "kernels/cuda/prim.h"

#include "tests/cuda/toy_args.h"

using namespace engine;
using engine::test::ToyArgs;

namespace {

ENGINE_DEVICE uint32_t *words() { return reinterpret_cast<uint32_t *>(prim::sharedMemory()); }

ENGINE_DEVICE int me() { return prim::threadIndex(); }

ENGINE_DEVICE void reverse(const ToyArgs &a) {
  words()[me()] = a.in[me()];
  prim::syncBlock();
  a.out[me()] = words()[prim::threadCount() - 1 - me()];
}

ENGINE_DEVICE void reduce(const ToyArgs &a) {
  uint32_t sum = a.in[me()];
  for (int step = 16; step > 0; step /= 2)
    sum += prim::shuffleXor(sum, step);
  a.out[me()] = sum;
}

ENGINE_DEVICE void stage(const ToyArgs &a, int i) {
  prim::copyAsync16(words() + (i % 2) * 128 + 4 * me(), a.in + i * 128 + 4 * me(), true);
  prim::commitCopies();
}

ENGINE_DEVICE void copy(const ToyArgs &a) {
  stage(a, 0);
  for (int i = 0; i < a.n; ++i) {
    if (i + 1 < a.n)
      stage(a, i + 1);
    else
      prim::commitCopies();
    prim::waitCopies<1>();
    prim::syncBlock();
    for (int j = 0; j < 4; ++j)
      a.out[i * 128 + 32 * j + me()] = words()[(i % 2) * 128 + 127 - (32 * j + me())];
    prim::syncBlock();
  }
}

ENGINE_DEVICE void order(const ToyArgs &a) { a.out[prim::addRelease(a.out + a.n, 1)] = me(); }

ENGINE_DEVICE void partialWarp(const ToyArgs &a) {
  const uint32_t mask = me() % 32 < 16 ? 0x0000ffffu : 0xffff0000u;
  words()[me()] = a.in[me()];
  prim::syncWarp(mask);
  const uint32_t other = words()[me() ^ 1];
  prim::syncWarp(mask);
  words()[me()] = other;
  a.out[me()] = prim::shuffleXor(other, 2, mask);
}

ENGINE_DEVICE void handOver(const ToyArgs &a) {
  uint32_t *flag = a.out + a.n;
  if (prim::blockIndex().x == 1) {
    a.out[me()] = a.in[me()];
    prim::syncBlock();
    if (me() == 0)
      prim::addRelease(flag, 1);
    return;
  }
  while (prim::loadAcquire(flag) == 0) {
  }
  a.out[a.n + 1 + me()] = a.out[me()] + 1;
}

ENGINE_DEVICE void atomic(const ToyArgs &a) {
  if (me() < 4)
    words()[me()] = 0;
  prim::syncBlock();
  prim::addAtomic(words() + a.in[me()] % 4, 1);
  prim::syncBlock();
  if (me() < 4)
    a.out[me()] = words()[me()];
}

ENGINE_DEVICE void earlyExit(const ToyArgs &a) {
  if (me() >= a.n)
    return;
  words()[me()] = a.in[me()];
  prim::syncBlock();
  a.out[me()] = words()[a.n - 1 - me()];
}

ENGINE_DEVICE void uninitialised(const ToyArgs &a) { a.out[me()] = words()[me()]; }

ENGINE_DEVICE void missingBarrier(const ToyArgs &a) {
  words()[me()] = a.in[me()];
  a.out[me()] = words()[prim::threadCount() - 1 - me()];
}

ENGINE_DEVICE void missingWarpBarrier(const ToyArgs &a) {
  words()[me()] = a.in[me()];
  const uint32_t votes = prim::ballot(true); // orders nothing
  a.out[me()] = words()[me() ^ 1] + votes;
}

ENGINE_DEVICE void wrongWarpBarrier(const ToyArgs &a) {
  words()[me()] = a.in[me()];
  prim::syncWarp();
  a.out[me()] = words()[me() ^ 32];
}

ENGINE_DEVICE void overwrite(const ToyArgs &a) {
  words()[me()] = a.in[me()];
  prim::syncBlock();
  a.out[me()] = words()[(me() + 1) % prim::threadCount()];
  words()[me()] = 0;
}

ENGINE_DEVICE void divergentBarrier(const ToyArgs &a) {
  if (me() < 32)
    prim::syncBlock();
  else
    prim::syncBlock();
  a.out[me()] = 1;
}

ENGINE_DEVICE void deadlock(const ToyArgs &a) {
  if (me() < 40)
    prim::syncBlock();
  a.out[me()] = prim::shuffleXor(a.in[me()], 1);
}

ENGINE_DEVICE void notInMask(const ToyArgs &a) {
  a.out[me()] = prim::shuffle(a.in[me()], 0, 0x7fffffffu);
}

ENGINE_DEVICE void overlappingMasks(const ToyArgs &a) {
  a.out[me()] = prim::shuffle(a.in[me()], me() % 32, me() % 32 < 8 ? 0xffu : prim::kAllLanes);
  prim::syncBlock();
}

ENGINE_DEVICE void divergentShuffle(const ToyArgs &a) {
  a.out[me()] = me() % 2 ? prim::ballot(true) : prim::shuffle(a.in[me()], 0);
}

ENGINE_DEVICE void divergentMma(const ToyArgs &a) {
  uint32_t r[4] = {};
  const void *row = words() + 4 * me();
  if (me() % 2)
    prim::ldmatrix4(r, row);
  else
    prim::ldmatrix4(r, row);
  a.out[me()] = r[0];
}

ENGINE_DEVICE void absentLane(const ToyArgs &a) {
  if (me() < 8)
    a.out[me()] = prim::shuffle(a.in[me()], 9, 0xffu);
}

ENGINE_DEVICE void sharedAfter(const ToyArgs &a) { words()[me() + a.n] = 1; }
ENGINE_DEVICE void sharedFarAfter(const ToyArgs &) { words()[me() + (64 << 8)] = 1; }
ENGINE_DEVICE void sharedBefore(const ToyArgs &) { words()[me() - 1] = 1; }
ENGINE_DEVICE void globalRead(const ToyArgs &a) { a.out[me()] = a.in[me() + 1]; }
ENGINE_DEVICE void globalWrite(const ToyArgs &a) { a.out[me() + 1] = a.in[me()]; }

ENGINE_DEVICE void ldmatrixAt(const ToyArgs &a, const unsigned char *row) {
  uint32_t r[4];
  prim::ldmatrix4(r, row);
  a.out[me()] = r[0] + r[1] + r[2] + r[3];
}
ENGINE_DEVICE void ldmatrixOdd(const ToyArgs &a) {
  ldmatrixAt(a, prim::sharedMemory() + 16 * me() + 8);
}
ENGINE_DEVICE void ldmatrixOutside(const ToyArgs &a) {
  ldmatrixAt(a, prim::sharedMemory() + 16 * (me() + 1));
}
ENGINE_DEVICE void conflicts(const ToyArgs &a) { ldmatrixAt(a, prim::sharedMemory() + 128 * me()); }
ENGINE_DEVICE void swizzled(const ToyArgs &a) {
  ldmatrixAt(a, prim::sharedMemory() + 128 * me() + 16 * (me() % 8));
}

ENGINE_DEVICE void copyOdd(const ToyArgs &a) {
  prim::copyAsync16(words() + 4 * me(), a.in + 1, true);
}
ENGINE_DEVICE void copySharedOdd(const ToyArgs &a) { prim::copyAsync16(words() + 1, a.in, true); }
ENGINE_DEVICE void copyOutside(const ToyArgs &a) {
  prim::copyAsync16(words() + 4 * (me() + 1), a.in, true);
}
ENGINE_DEVICE void copyGlobalOutside(const ToyArgs &a) {
  prim::copyAsync16(words() + 4 * me(), a.in + 4 * me(), true);
}

ENGINE_DEVICE void copyNoWait(const ToyArgs &a) {
  prim::copyAsync16(words() + 4 * me(), a.in + 4 * me(), true);
  prim::commitCopies();
  for (int i = 0; i < 4; ++i)
    a.out[4 * me() + i] = words()[4 * me() + i];
}

ENGINE_DEVICE void copyTooEarly(const ToyArgs &a) {
  words()[4 * me()] = 7;
  prim::copyAsync16(words() + 4 * me(), a.in, true);
  prim::commitCopies();
  a.out[me()] = words()[4 * me()];
  prim::waitCopies<0>();
}

ENGINE_DEVICE void copyNoBarrier(const ToyArgs &a) {
  prim::copyAsync16(words() + 4 * me(), a.in + 4 * (me() % 16), true);
  prim::commitCopies();
  prim::waitCopies<0>();
  a.out[me()] = words()[4 * (me() ^ 1)];
}

#if !defined(__CUDACC__) // no recursion in translated PTX
inline uint32_t recurse(volatile uint32_t *values, uint32_t depth) {
  volatile uint32_t local[256];
  for (int i = 0; i < 256; ++i)
    local[i] = values[i % 4] + depth;
  return depth == 0 ? local[0] : recurse(local, depth - 1) + local[1];
}
ENGINE_DEVICE void stack(const ToyArgs &a) {
  volatile uint32_t start[4] = {1, 2, 3, 4};
  a.out[0] = recurse(start, 1 << 20);
}
#endif

ENGINE_DEVICE void null(const ToyArgs &a) {
  a.out[0] = *reinterpret_cast<const volatile uint32_t *>(a.n * 8ll);
}

ENGINE_DEVICE void livelock(const ToyArgs &a) {
  while (prim::loadAcquire(a.out + a.n) == 0) {
  }
}

} // namespace

ENGINE_KERNEL_ENTRY(toyReverse, 1024, ToyArgs, reverse)
ENGINE_KERNEL_ENTRY(toyReduce, 1024, ToyArgs, reduce)
ENGINE_KERNEL_ENTRY(toyCopy, 32, ToyArgs, copy)
ENGINE_KERNEL_ENTRY(toyOrder, 1024, ToyArgs, order)
ENGINE_KERNEL_ENTRY(toyPartialWarp, 1024, ToyArgs, partialWarp)
ENGINE_KERNEL_ENTRY(toyHandOver, 1024, ToyArgs, handOver)
ENGINE_KERNEL_ENTRY(toyAtomic, 1024, ToyArgs, atomic)
ENGINE_KERNEL_ENTRY(toyEarlyExit, 1024, ToyArgs, earlyExit)
ENGINE_KERNEL_ENTRY(toyUninitialised, 1024, ToyArgs, uninitialised)
ENGINE_KERNEL_ENTRY(toyMissingBarrier, 1024, ToyArgs, missingBarrier)
ENGINE_KERNEL_ENTRY(toyMissingWarpBarrier, 1024, ToyArgs, missingWarpBarrier)
ENGINE_KERNEL_ENTRY(toyWrongWarpBarrier, 1024, ToyArgs, wrongWarpBarrier)
ENGINE_KERNEL_ENTRY(toyOverwrite, 1024, ToyArgs, overwrite)
ENGINE_KERNEL_ENTRY(toyDivergentBarrier, 1024, ToyArgs, divergentBarrier)
ENGINE_KERNEL_ENTRY(toyDeadlock, 1024, ToyArgs, deadlock)
ENGINE_KERNEL_ENTRY(toyNotInMask, 1024, ToyArgs, notInMask)
ENGINE_KERNEL_ENTRY(toyOverlappingMasks, 1024, ToyArgs, overlappingMasks)
ENGINE_KERNEL_ENTRY(toyDivergentShuffle, 1024, ToyArgs, divergentShuffle)
ENGINE_KERNEL_ENTRY(toyDivergentMma, 1024, ToyArgs, divergentMma)
ENGINE_KERNEL_ENTRY(toyAbsentLane, 1024, ToyArgs, absentLane)
ENGINE_KERNEL_ENTRY(toySharedAfter, 1024, ToyArgs, sharedAfter)
ENGINE_KERNEL_ENTRY(toySharedFarAfter, 1024, ToyArgs, sharedFarAfter)
ENGINE_KERNEL_ENTRY(toySharedBefore, 1024, ToyArgs, sharedBefore)
ENGINE_KERNEL_ENTRY(toyGlobalRead, 1024, ToyArgs, globalRead)
ENGINE_KERNEL_ENTRY(toyGlobalWrite, 1024, ToyArgs, globalWrite)
ENGINE_KERNEL_ENTRY(toyLdmatrixOdd, 1024, ToyArgs, ldmatrixOdd)
ENGINE_KERNEL_ENTRY(toyLdmatrixOutside, 1024, ToyArgs, ldmatrixOutside)
ENGINE_KERNEL_ENTRY(toyCopyOdd, 1024, ToyArgs, copyOdd)
ENGINE_KERNEL_ENTRY(toyCopySharedOdd, 1024, ToyArgs, copySharedOdd)
ENGINE_KERNEL_ENTRY(toyCopyOutside, 1024, ToyArgs, copyOutside)
ENGINE_KERNEL_ENTRY(toyCopyGlobalOutside, 1024, ToyArgs, copyGlobalOutside)
ENGINE_KERNEL_ENTRY(toyCopyNoWait, 1024, ToyArgs, copyNoWait)
ENGINE_KERNEL_ENTRY(toyCopyTooEarly, 1024, ToyArgs, copyTooEarly)
ENGINE_KERNEL_ENTRY(toyCopyNoBarrier, 1024, ToyArgs, copyNoBarrier)
#if !defined(__CUDACC__)
ENGINE_KERNEL_ENTRY(toyStack, 1024, ToyArgs, stack)
#endif
ENGINE_KERNEL_ENTRY(toyNull, 1024, ToyArgs, null)
ENGINE_KERNEL_ENTRY(toyLivelock, 1024, ToyArgs, livelock)
ENGINE_KERNEL_ENTRY(toyConflicts, 1024, ToyArgs, conflicts)
ENGINE_KERNEL_ENTRY(toySwizzled, 1024, ToyArgs, swizzled)
