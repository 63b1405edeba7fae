// Small kernels, most of them wrong: what the simulator has to find (sim_test.cpp).
#pragma once

#include "kernels/cuda/sim/executor.h"
#include "tests/cuda/toy_args.h"

// name, what is wrong with it
#define ENGINE_TOY_KERNELS(X)                                                                      \
  X(toyReverse)            /* nothing: a block's values reversed through shared memory */          \
  X(toyReduce)             /* nothing: a warp sum by shuffles */                                   \
  X(toyCopy)               /* nothing: cp.async in two stages */                                   \
  X(toyOrder)              /* nothing: the order in which threads pass */                          \
  X(toyPartialWarp)        /* nothing: halves of a warp synchronise apart */                       \
  X(toyHandOver)           /* nothing: block 0 waits for block 1 */                                \
  X(toyAtomic)             /* nothing: a histogram by atomics in shared memory */                  \
  X(toyEarlyExit)          /* nothing: some threads leave before a barrier */                      \
  X(toyUninitialised)      /* reads shared memory that nobody wrote */                             \
  X(toyMissingBarrier)     /* the reverse without its barrier */                                   \
  X(toyMissingWarpBarrier) /* lanes exchange through shared memory without a warp barrier */       \
  X(toyWrongWarpBarrier)   /* a warp barrier where a block barrier is needed */                    \
  X(toyOverwrite)          /* writes a value that others still read */                             \
  X(toyDivergentBarrier)   /* two barriers, half of the block in each */                           \
  X(toyDeadlock)           /* half of the block in a barrier, the rest in a shuffle of its warp */ \
  X(toyNotInMask)          /* a lane calls with a mask without itself */                           \
  X(toyOverlappingMasks)   /* lanes disagree about the mask */                                     \
  X(toyDivergentShuffle)   /* some lanes vote while others shuffle */                              \
  X(toyDivergentMma)       /* two ldmatrix in two branches */                                      \
  X(toyAbsentLane)         /* takes a value from a lane that is not in the mask */                 \
  X(toySharedAfter)        /* writes behind the end of shared memory */                            \
  X(toySharedFarAfter)     /* the same by 64 KB */                                                 \
  X(toySharedBefore)       /* writes in front of shared memory */                                  \
  X(toyGlobalRead)         /* reads one element too many */                                        \
  X(toyGlobalWrite)        /* writes one element too many */                                       \
  X(toyLdmatrixOdd)        /* a row that is not aligned */                                         \
  X(toyLdmatrixOutside)    /* a row behind shared memory */                                        \
  X(toyCopyOdd)            /* cp.async from an address that is not aligned */                      \
  X(toyCopySharedOdd)      /* cp.async to one */                                                   \
  X(toyCopyOutside)        /* cp.async to behind shared memory */                                  \
  X(toyCopyGlobalOutside)  /* cp.async from behind an allocation */                                \
  X(toyCopyNoWait)         /* reads before waiting: only late copies show it */                    \
  X(toyCopyTooEarly)       /* overwrites what is still read: only early copies show it */          \
  X(toyCopyNoBarrier)      /* waits for its own copies only */                                     \
  X(toyStack)              /* recursion */                                                         \
  X(toyNull)               /* reads address 8 */                                                   \
  X(toyLivelock)           /* waits for a flag that nobody sets */                                 \
  X(toyConflicts)          /* nothing wrong, but ldmatrix on rows 128 bytes apart */               \
  X(toySwizzled)           /* the same rows swizzled */

#define ENGINE_DECLARE(name) extern "C" const engine::sim::Kernel name;
ENGINE_TOY_KERNELS(ENGINE_DECLARE)
#undef ENGINE_DECLARE
