// Runs CUDA kernels on the host: each CUDA thread is a fiber, and everything that the programming
// model leaves open is decided so that mistakes show.
//
//   order        threads run as far as they can, in the order that Options::schedule says
//   blocks       one after another, or several at once, switching between them at every wait
//   shared       starts as 0xff (NaN), with canaries around it and a page behind it that faults
//   cp.async     lands as late as the model allows, or as early
//   collectives  check mask, membership, operation and place
//   waits        a wait that nobody can end is reported with all who wait
//   accesses     of kernels built with -fsanitize=thread (and of translated PTX): races in shared
//   memory between barriers,
//                global memory outside Options::memory
//
// A fault ends the launch as an exception. All state is of the launching host thread: several may
// launch at a time.
#pragma once

#include "ir/error.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace engine::sim {

struct Dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

enum class Schedule : uint8_t { kAscending, kDescending, kRandom };
enum class CopyTiming : uint8_t { kLate, kEarly };

// The global memory that kernels may touch.
class MemoryMap {
public:
  void add(const void *data, size_t bytes, std::string name);
  void remove(const void *data);
  bool contains(const void *data, size_t bytes) const;
  // For a message: the allocation that an address lies in or near.
  std::string describe(const void *data) const;

private:
  struct Range {
    uintptr_t begin;
    uintptr_t end;
    std::string name;
  };
  std::vector<Range> ranges_;
};

struct Options {
  Schedule schedule = Schedule::kAscending;
  uint64_t seed = 1; // of Schedule::kRandom
  CopyTiming copies = CopyTiming::kLate;
  int residentBlocks = 1;            // blocks that run interleaved
  size_t sharedLimit = 232448;       // bytes a block may have: sm_90's opt-in limit
  bool findRaces = true;             // costs time only where accesses are seen
  const MemoryMap *memory = nullptr; // null: any address is good
  int64_t spinLimit = 20000;         // polls without any progress before a livelock is reported
};

// What a launch did.
struct Stats {
  int64_t blocks = 0;
  int64_t threads = 0;
  int64_t switches = 0;
  int64_t barriers = 0;    // block barriers, counted once a block
  int64_t collectives = 0; // of warps
  int64_t mmas = 0;
  int64_t asyncCopies = 0;
  int64_t asyncBytes = 0;
  // 16-byte rows of ldmatrix in units of 8 rows: what it took and what it takes without bank
  // conflicts.
  int64_t ldmatrixWaves = 0;
  int64_t ldmatrixWavesIdeal = 0;
  int64_t globalBytesRead = 0; // only seen in instrumented kernels
  int64_t globalBytesWritten = 0;

  void add(const Stats &other);
};

enum class FaultKind : uint8_t {
  kBadLaunch,           // grid, block or shared memory over a limit, or empty
  kDeadlock,            // nobody can go on
  kLivelock,            // only polling goes on
  kDivergentBarrier,    // threads of one block in different block barriers
  kBadMask,             // the caller is not in its own mask, or masks overlap
  kDivergentCollective, // lanes of one mask in different operations
  kBadLane,             // a value is taken from a lane that does not take part
  kMisaligned,
  kSharedOutOfRange,
  kGlobalOutOfRange,
  kRace,
  kBadCopy, // sizes that cp.async does not have
  kStackOverflow,
  kBadAddress, // a host fault elsewhere
  kKernel,     // the kernel's own assertion
};

const char *faultName(FaultKind kind);

// Where a kernel calls the runtime. `line` is the PTX file's in translated kernels.
struct Site {
  const char *file = "";
  int line = 0;
};

class Fault : public Error {
public:
  Fault(FaultKind kind, std::string kernel, Dim3 block, Dim3 thread, const std::string &what);

  FaultKind faultKind() const { return faultKind_; }
  const std::string &kernel() const { return kernel_; }
  Dim3 block() const { return block_; }
  Dim3 thread() const { return thread_; }

private:
  FaultKind faultKind_;
  std::string kernel_;
  Dim3 block_;
  Dim3 thread_;
};

// An entry point: ENGINE_KERNEL_ENTRY (kernels/cuda/prim.h) and translated PTX define these under
// the kernel's name.
struct Kernel {
  const char *name;
  void (*body)(const void *args); // one thread; makes its own copy of the arguments
  size_t argsBytes;
  int maxThreads; // a block
};

struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  size_t sharedBytes = 0;
};

// Runs every thread of the grid. Throws Fault.
Stats launch(const Kernel &kernel, const LaunchConfig &config, const Options &options,
             const void *args, size_t argsBytes);

template <class Args>
Stats launch(const Kernel &kernel, const LaunchConfig &config, const Options &options,
             const Args &args) {
  static_assert(std::is_trivially_copyable_v<Args>);
  return launch(kernel, config, options, &args, sizeof args);
}

} // namespace engine::sim
