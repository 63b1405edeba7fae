// The parts of a running launch. Inner header of kernels/cuda/sim.
#pragma once

#include "kernels/cuda/sim/device_api.h"
#include "kernels/cuda/sim/fiber.h"
#include "kernels/cuda/sim/race_checker.h"

#include <deque>
#include <exception>
#include <memory>
#include <optional>

namespace engine::sim {

enum class WarpOp : uint8_t {
  kSync,
  kShuffle,
  kVote,
  kLdmatrix,
  kLdmatrixTrans,
  kMmaF16,
  kMmaBf16
};

// One operation that the lanes of a mask do together.
struct Collective {
  bool used = false;
  bool complete = false;
  uint32_t mask = 0;
  uint32_t arrived = 0;
  uint32_t toLeave = 0;
  WarpOp op = WarpOp::kSync;
  Site site;
  void (*finish)(Collective &) = nullptr; // computes `out` once all lanes are there
  alignas(16) unsigned char in[32][48];
  alignas(16) unsigned char out[32][16];
};

struct Warp {
  static constexpr int kMaxPending = 8;

  uint32_t alive = 0;
  int firstThread = 0;
  Collective pending[kMaxPending];
};

struct PendingCopy {
  unsigned char *shared;
  const unsigned char *global;
  int bytes;
  int sourceBytes;
  int64_t group;
};

struct Block;

struct Fiber {
  enum class State : uint8_t { kReady, kAtBarrier, kInCollective, kDone };

  Context context;
  ThreadInfo info;
  Block *block = nullptr;
  Warp *warp = nullptr;
  int index = 0; // in its block
  State state = State::kReady;
  Site site; // of the last call of the runtime
  uint32_t waitMask = 0;
  int64_t copyGroup = 0;
  std::vector<PendingCopy> copies;
};

// A block's shared memory: its end is the end of a page, the next page faults.
class SharedMemory {
public:
  SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;
  ~SharedMemory();

  void begin(size_t bytes);
  unsigned char *data() const { return data_; }
  bool inGuard(const void *address) const;
  // The canary byte that was written over, as an offset from data(), if any was.
  std::optional<int64_t> overwritten() const;

  static constexpr size_t kAlignment = 128;

private:
  static constexpr size_t kCapacity = 256 << 10;
  static constexpr size_t kGuard = 1 << 20;
  static constexpr size_t kCanary = 512;

  unsigned char *map_ = nullptr;
  unsigned char *data_ = nullptr;
  size_t bytes_ = 0;
};

struct Block {
  Dim3 index;
  bool active = false;
  int threads = 0;
  int alive = 0;
  int atBarrier = 0;
  Site barrierSite;
  std::vector<Fiber> fibers;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<int> ready; // the last one is next
  SharedMemory shared;
  RaceChecker races;
};

class Machine {
public:
  static Machine &ofThisThread();

  Stats launch(const Kernel &kernel, const LaunchConfig &config, const Options &options,
               const void *args, size_t argsBytes);

  // Called on fibers.
  Fiber &running() { return *running_; }
  const Options &options() const { return *options_; }
  Stats &stats() { return stats_; }
  void wait(Fiber &fiber);                                     // until somebody makes it ready
  void makeReady(Block &block, const int *threads, int count); // in the order of the schedule
  [[noreturn]] void fail(FaultKind kind, const std::string &what, Site site);
  void arriveAtBarrier(Site site);
  Collective &join(uint32_t mask, WarpOp op, const void *value, size_t bytes, Site site,
                   void (*finish)(Collective &));
  void leave(Collective &collective);
  void poll(Site site);
  void progress() { polls_ = 0; }
  // The arguments of the launch, which every thread reads.
  bool isArgument(const void *address) const {
    return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(args_) <
           kernel_->argsBytes;
  }

  // For the handler of host faults.
  bool ownsFault(const void *address);
  void failAt(const void *address);
  char *emergencyStackTop();

private:
  void check(const LaunchConfig &config, size_t argsBytes);
  void startBlock(Block &block, int64_t number);
  void finishBlock(Block &block);
  Dim3 blockIndex(int64_t number) const;
  Block *nextBlock();
  Fiber &nextFiber(Block &block);
  void resume(Fiber &fiber);
  void ended(Fiber &fiber);
  void releaseBarrier(Block &block);
  void complete(Block &block, Warp &warp, Collective &collective);
  void runBlocks();
  void reportDeadlock();
  uint64_t random();
  static void entry();

  const LaunchConfig *config_ = nullptr;
  const Options *options_ = nullptr;
  const Kernel *kernel_ = nullptr;
  const void *args_ = nullptr;
  Stats stats_;
  std::deque<Block> blocks_;
  size_t lastBlock_ = 0;
  StackPool stacks_;
  Context host_;
  Fiber *running_ = nullptr;
  std::exception_ptr fault_;
  uint64_t random_ = 1;
  int64_t polls_ = 0;
  const void *faultAddress_ = nullptr;
  std::unique_ptr<char[]> emergencyStack_;
};

// Host faults inside launches become Faults while one of these lives.
class FaultHandler {
public:
  FaultHandler();
  ~FaultHandler();
};

} // namespace engine::sim
