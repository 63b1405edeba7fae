#include "kernels/cuda/sim/executor.h"

#include "kernels/cuda/sim/machine.h"

#include <algorithm>
#include <numeric>

namespace engine::sim {

constinit thread_local const ThreadInfo *currentThread = nullptr;

namespace {

std::string text(Dim3 d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

std::string text(Site site) {
  if (!*site.file)
    return "";
  return " at " + std::string(site.file) + ":" + std::to_string(site.line);
}

int64_t volume(Dim3 d) { return static_cast<int64_t>(d.x) * d.y * d.z; }

Dim3 unravel(int64_t number, Dim3 size) {
  const int64_t x = number % size.x;
  const int64_t y = number / size.x % size.y;
  const int64_t z = number / size.x / size.y;
  return {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
}

bool samePlace(Site a, Site b) { return a.line == b.line && std::string(a.file) == b.file; }

// Whether the instruction has to be the same one in all lanes (.aligned).
bool isAligned(WarpOp op) { return op >= WarpOp::kLdmatrix; }

const char *opName(WarpOp op) {
  switch (op) {
  case WarpOp::kSync:
    return "warp barrier";
  case WarpOp::kShuffle:
    return "shuffle";
  case WarpOp::kVote:
    return "vote";
  case WarpOp::kLdmatrix:
    return "ldmatrix";
  case WarpOp::kLdmatrixTrans:
    return "ldmatrix.trans";
  case WarpOp::kMmaF16:
    return "mma of f16";
  case WarpOp::kMmaBf16:
    return "mma of bf16";
  }
  return "?";
}

} // namespace

void Stats::add(const Stats &other) {
  blocks += other.blocks;
  threads += other.threads;
  switches += other.switches;
  barriers += other.barriers;
  collectives += other.collectives;
  mmas += other.mmas;
  asyncCopies += other.asyncCopies;
  asyncBytes += other.asyncBytes;
  ldmatrixWaves += other.ldmatrixWaves;
  ldmatrixWavesIdeal += other.ldmatrixWavesIdeal;
  globalBytesRead += other.globalBytesRead;
  globalBytesWritten += other.globalBytesWritten;
}

const char *faultName(FaultKind kind) {
  switch (kind) {
  case FaultKind::kBadLaunch:
    return "bad launch";
  case FaultKind::kDeadlock:
    return "deadlock";
  case FaultKind::kLivelock:
    return "livelock";
  case FaultKind::kDivergentBarrier:
    return "divergent barrier";
  case FaultKind::kBadMask:
    return "bad mask";
  case FaultKind::kDivergentCollective:
    return "divergent collective";
  case FaultKind::kBadLane:
    return "bad lane";
  case FaultKind::kMisaligned:
    return "misaligned address";
  case FaultKind::kSharedOutOfRange:
    return "outside of shared memory";
  case FaultKind::kGlobalOutOfRange:
    return "outside of global memory";
  case FaultKind::kRace:
    return "race";
  case FaultKind::kBadCopy:
    return "bad copy";
  case FaultKind::kStackOverflow:
    return "stack overflow";
  case FaultKind::kBadAddress:
    return "bad address";
  case FaultKind::kKernel:
    return "kernel failed";
  }
  return "?";
}

Fault::Fault(FaultKind kind, std::string kernel, Dim3 block, Dim3 thread, const std::string &what)
    : Error("kernel " + kernel + ", block " + text(block) + ", thread " + text(thread) + ": " +
                faultName(kind) + ": " + what,
            Kind::kInternal),
      faultKind_(kind), kernel_(std::move(kernel)), block_(block), thread_(thread) {}

void MemoryMap::add(const void *data, size_t bytes, std::string name) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data);
  ranges_.push_back({begin, begin + bytes, std::move(name)});
}

void MemoryMap::remove(const void *data) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data);
  const auto same = [&](const Range &range) { return range.begin == begin; };
  ranges_.erase(std::remove_if(ranges_.begin(), ranges_.end(), same), ranges_.end());
}

bool MemoryMap::contains(const void *data, size_t bytes) const {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data);
  for (const Range &range : ranges_) {
    if (begin >= range.begin && begin + bytes <= range.end)
      return true;
  }
  return false;
}

std::string MemoryMap::describe(const void *data) const {
  constexpr int64_t kNear = 1 << 16;
  const int64_t address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data));
  std::string best = "no allocation is near";
  int64_t distance = kNear;
  for (const Range &range : ranges_) {
    const int64_t below = static_cast<int64_t>(range.begin) - address;
    const int64_t above = address - static_cast<int64_t>(range.end);
    const int64_t away = std::max({below, above, int64_t{0}});
    if (away >= distance)
      continue;
    distance = away;
    best = "byte " + std::to_string(-below) + " of '" + range.name + "', which has " +
           std::to_string(range.end - range.begin);
  }
  return best;
}

// --- The machine.

Machine &Machine::ofThisThread() {
  static thread_local std::unique_ptr<Machine> machine;
  if (!machine)
    machine = std::make_unique<Machine>();
  return *machine;
}

uint64_t Machine::random() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return random_;
}

void Machine::check(const LaunchConfig &config, size_t argsBytes) {
  const auto refuse = [&](const std::string &what) {
    throw Fault(FaultKind::kBadLaunch, kernel_->name, {0, 0, 0}, {0, 0, 0}, what);
  };
  const Dim3 &g = config.grid;
  const Dim3 &b = config.block;
  if (volume(g) < 1 || volume(b) < 1)
    refuse("grid " + text(g) + " of blocks " + text(b) + " is empty");
  if (g.x > 2147483647u || g.y > 65535 || g.z > 65535)
    refuse("grid " + text(g) + " is above (2147483647, 65535, 65535)");
  if (b.x > 1024 || b.y > 1024 || b.z > 64 || volume(b) > 1024)
    refuse("block " + text(b) + " is above (1024, 1024, 64) or has over 1024 threads");
  if (volume(b) > kernel_->maxThreads)
    refuse("block " + text(b) + ", and the kernel is built for " +
           std::to_string(kernel_->maxThreads) + " threads");
  if (argsBytes != kernel_->argsBytes)
    refuse(std::to_string(argsBytes) + " bytes of arguments, it takes " +
           std::to_string(kernel_->argsBytes));
  if (config.sharedBytes > options_->sharedLimit)
    refuse(std::to_string(config.sharedBytes) + " bytes of shared memory, " +
           std::to_string(options_->sharedLimit) + " at most");
}

Stats Machine::launch(const Kernel &kernel, const LaunchConfig &config, const Options &options,
                      const void *args, size_t argsBytes) {
  if (running_)
    fail(FaultKind::kBadLaunch, "it launches the kernel " + std::string(kernel.name), {});
  options_ = &options;
  kernel_ = &kernel;
  check(config, argsBytes);
  const FaultHandler handler;
  config_ = &config;
  args_ = args;
  stats_ = {};
  fault_ = nullptr;
  polls_ = 0;
  random_ = options.seed * 0x9e3779b97f4a7c15u + 1;
  const int64_t threads = volume(config.block);
  constexpr int64_t kMaxFibers = 16384;
  const int64_t wanted =
      std::min<int64_t>(std::max(options.residentBlocks, 1), volume(config.grid));
  const int64_t resident = std::max<int64_t>(1, std::min(wanted, kMaxFibers / threads));
  stacks_.reserve(static_cast<int>(resident * threads));
  while (static_cast<int64_t>(blocks_.size()) < resident)
    blocks_.emplace_back();
  while (static_cast<int64_t>(blocks_.size()) > resident)
    blocks_.pop_back();
  runBlocks();
  running_ = nullptr;
  currentThread = nullptr;
  for (Block &block : blocks_)
    block.active = false;
  if (fault_)
    std::rethrow_exception(fault_);
  return stats_;
}

void Machine::runBlocks() {
  const int64_t blocks = volume(config_->grid);
  int64_t started = 0;
  for (Block &block : blocks_)
    startBlock(block, started++);
  lastBlock_ = 0;
  while (!fault_) {
    Block *block = nextBlock();
    if (!block) {
      const auto active = [](const Block &b) { return b.active; };
      if (std::any_of(blocks_.begin(), blocks_.end(), active))
        reportDeadlock();
      return;
    }
    Fiber &fiber = nextFiber(*block);
    resume(fiber);
    if (fault_)
      return;
    if (fiber.state != Fiber::State::kDone)
      continue;
    ended(fiber);
    if (block->alive > 0)
      continue;
    finishBlock(*block);
    if (!fault_ && started < blocks)
      startBlock(*block, started++);
  }
}

Dim3 Machine::blockIndex(int64_t number) const {
  const int64_t blocks = volume(config_->grid);
  if (options_->schedule == Schedule::kDescending)
    number = blocks - 1 - number;
  if (options_->schedule == Schedule::kRandom && blocks > 2) {
    int64_t step = static_cast<int64_t>(options_->seed % 1000003) % blocks;
    while (std::gcd(step, blocks) != 1)
      ++step;
    number = number * step % blocks;
  }
  return unravel(number, config_->grid);
}

void Machine::startBlock(Block &block, int64_t number) {
  const int threads = static_cast<int>(volume(config_->block));
  int position = 0;
  while (&blocks_[position] != &block)
    ++position;
  block.index = blockIndex(number);
  block.active = true;
  block.threads = block.alive = threads;
  block.atBarrier = 0;
  block.shared.begin(config_->sharedBytes);
  block.races.begin(threads, config_->sharedBytes);
  block.ready.clear();
  block.fibers.resize(threads);
  const int warps = (threads + 31) / 32;
  while (static_cast<int>(block.warps.size()) < warps)
    block.warps.push_back(std::make_unique<Warp>());
  for (int w = 0; w < warps; ++w) {
    Warp &warp = *block.warps[w];
    const int lanes = std::min(32, threads - 32 * w);
    warp.alive = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warp.firstThread = 32 * w;
    for (Collective &collective : warp.pending)
      collective.used = false;
  }
  std::vector<int> all(threads);
  std::iota(all.begin(), all.end(), 0);
  for (int i = 0; i < threads; ++i) {
    Fiber &fiber = block.fibers[i];
    fiber.info = {
        unravel(i, config_->block), block.index,         config_->block, config_->grid, i % 32,
        block.shared.data(),        config_->sharedBytes};
    fiber.block = &block;
    fiber.warp = block.warps[i / 32].get();
    fiber.index = i;
    fiber.site = {};
    fiber.copyGroup = 0;
    fiber.copies.clear();
    prepareFiber(fiber.context, stacks_.stack(position * threads + i), StackPool::kStackBytes,
                 &Machine::entry);
  }
  makeReady(block, all.data(), threads);
  ++stats_.blocks;
  stats_.threads += threads;
}

void Machine::finishBlock(Block &block) {
  block.active = false;
  progress();
  const std::optional<int64_t> offset = block.shared.overwritten();
  if (!offset)
    return;
  fault_ = std::make_exception_ptr(
      Fault(FaultKind::kSharedOutOfRange, kernel_->name, block.index, {0, 0, 0},
            "some thread of the block wrote byte " + std::to_string(*offset) +
                " of shared memory, which has " + std::to_string(config_->sharedBytes)));
}

Block *Machine::nextBlock() {
  const size_t blocks = blocks_.size();
  const bool randomly = options_->schedule == Schedule::kRandom && blocks > 1;
  const size_t first = randomly ? random() % blocks : lastBlock_ + 1;
  for (size_t i = 0; i < blocks; ++i) {
    const size_t at = (first + i) % blocks;
    if (!blocks_[at].active || blocks_[at].ready.empty())
      continue;
    lastBlock_ = at;
    return &blocks_[at];
  }
  return nullptr;
}

Fiber &Machine::nextFiber(Block &block) {
  if (options_->schedule == Schedule::kRandom)
    std::swap(block.ready[random() % block.ready.size()], block.ready.back());
  const int thread = block.ready.back();
  block.ready.pop_back();
  return block.fibers[thread];
}

void Machine::makeReady(Block &block, const int *threads, int count) {
  for (int i = 0; i < count; ++i)
    block.fibers[threads[i]].state = Fiber::State::kReady;
  // The last one of `ready` runs next.
  if (options_->schedule == Schedule::kDescending)
    block.ready.insert(block.ready.end(), threads, threads + count);
  else
    block.ready.insert(block.ready.end(), std::make_reverse_iterator(threads + count),
                       std::make_reverse_iterator(threads));
}

void Machine::resume(Fiber &fiber) {
  ++stats_.switches;
  running_ = &fiber;
  currentThread = &fiber.info;
  switchContext(host_, fiber.context);
  currentThread = nullptr;
}

void Machine::wait(Fiber &fiber) { switchContext(fiber.context, host_); }

void Machine::entry() {
  Machine &machine = ofThisThread();
  fiberStarted(machine.host_);
  Fiber &self = *machine.running_;
  try {
    machine.kernel_->body(machine.args_);
  } catch (const std::exception &error) {
    machine.fail(FaultKind::kKernel, error.what(), self.site);
  }
  self.state = Fiber::State::kDone;
  switchContext(self.context, machine.host_, true);
}

void Machine::ended(Fiber &fiber) {
  progress();
  Block &block = *fiber.block;
  Warp &warp = *fiber.warp;
  --block.alive;
  warp.alive &= ~(1u << fiber.info.lane);
  for (Collective &collective : warp.pending) {
    const bool waiting = collective.used && !collective.complete;
    if (waiting && collective.arrived == (collective.mask & warp.alive))
      complete(block, warp, collective);
  }
  if (block.alive > 0 && block.atBarrier == block.alive)
    releaseBarrier(block);
}

void Machine::arriveAtBarrier(Site site) {
  Fiber &self = *running_;
  Block &block = *self.block;
  self.site = site;
  if (block.atBarrier > 0 && !samePlace(block.barrierSite, site))
    fail(FaultKind::kDivergentBarrier,
         "others of the block wait in the barrier" + text(block.barrierSite), site);
  block.barrierSite = site;
  self.state = Fiber::State::kAtBarrier;
  if (++block.atBarrier == block.alive)
    releaseBarrier(block);
  wait(self);
}

void Machine::releaseBarrier(Block &block) {
  std::vector<int> waiting;
  for (const Fiber &fiber : block.fibers) {
    if (fiber.state == Fiber::State::kAtBarrier)
      waiting.push_back(fiber.index);
  }
  block.atBarrier = 0;
  block.races.blockBarrier();
  ++stats_.barriers;
  progress();
  makeReady(block, waiting.data(), static_cast<int>(waiting.size()));
}

Collective &Machine::join(uint32_t mask, WarpOp op, const void *value, size_t bytes, Site site,
                          void (*finish)(Collective &)) {
  Fiber &self = *running_;
  Warp &warp = *self.warp;
  const int lane = self.info.lane;
  self.site = site;
  if (!((mask >> lane) & 1))
    fail(FaultKind::kBadMask, "lane " + std::to_string(lane) + " is not in its own mask", site);
  Collective *collective = nullptr;
  Collective *unused = nullptr;
  for (Collective &pending : warp.pending) {
    if (!pending.used)
      unused = unused ? unused : &pending;
    else if (!pending.complete && pending.mask == mask)
      collective = &pending;
    else if (!pending.complete && (pending.mask & mask))
      fail(FaultKind::kBadMask,
           "its mask overlaps with the one of the " + std::string(opName(pending.op)) +
               text(pending.site),
           site);
  }
  if (!collective) {
    if (!unused)
      fail(FaultKind::kBadMask, "too many operations of one warp are under way", site);
    collective = unused;
    collective->used = true;
    collective->complete = false;
    collective->mask = mask;
    collective->arrived = 0;
    collective->op = op;
    collective->site = site;
    collective->finish = finish;
    ++stats_.collectives;
  }
  const bool elsewhere = isAligned(op) && !samePlace(collective->site, site);
  if (collective->op != op || elsewhere)
    fail(FaultKind::kDivergentCollective,
         "a " + std::string(opName(op)) + ", but other lanes are in a " + opName(collective->op) +
             text(collective->site),
         site);
  if (bytes > 0)
    std::memcpy(collective->in[lane], value, bytes);
  collective->arrived |= 1u << lane;
  self.state = Fiber::State::kInCollective;
  self.waitMask = mask;
  if (collective->arrived == (mask & warp.alive))
    complete(*self.block, warp, *collective);
  wait(self);
  return *collective;
}

void Machine::complete(Block &block, Warp &warp, Collective &collective) {
  collective.complete = true;
  collective.toLeave = collective.arrived;
  if (collective.finish)
    collective.finish(collective);
  if (collective.op == WarpOp::kSync)
    block.races.warpBarrier(warp.firstThread, collective.arrived);
  int lanes[32];
  int count = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if ((collective.arrived >> lane) & 1)
      lanes[count++] = warp.firstThread + lane;
  }
  progress();
  makeReady(block, lanes, count);
}

void Machine::leave(Collective &collective) {
  collective.toLeave &= ~(1u << running_->info.lane);
  if (collective.toLeave == 0)
    collective.used = false;
}

void Machine::poll(Site site) {
  Fiber &self = *running_;
  self.site = site;
  if (++polls_ > options_->spinLimit) {
    const bool alone = static_cast<int64_t>(blocks_.size()) < volume(config_->grid);
    fail(FaultKind::kLivelock,
         std::string("only polling goes on") +
             (alone ? "; not all blocks are resident (Options::residentBlocks)" : ""),
         site);
  }
  self.state = Fiber::State::kReady;
  self.block->ready.insert(self.block->ready.begin(), self.index);
  wait(self);
}

void Machine::reportDeadlock() {
  std::string waiting;
  const Fiber *first = nullptr;
  for (const Block &block : blocks_) {
    if (!block.active)
      continue;
    const Fiber *group = nullptr;
    for (const Fiber &fiber : block.fibers) {
      if (fiber.state == Fiber::State::kDone)
        continue;
      first = first ? first : &fiber;
      if (group && group->state == fiber.state && samePlace(group->site, fiber.site) &&
          group->warp == fiber.warp)
        continue;
      group = &fiber;
      waiting += "\n  block " + text(block.index) + ", thread " + text(fiber.info.thread) +
                 " and on: " +
                 (fiber.state == Fiber::State::kAtBarrier ? "block barrier" : "warp operation") +
                 text(fiber.site);
    }
  }
  fault_ = std::make_exception_ptr(Fault(FaultKind::kDeadlock, kernel_->name, first->info.block,
                                         first->info.thread, "nobody can go on:" + waiting));
}

void Machine::fail(FaultKind kind, const std::string &what, Site site) {
  Fiber &self = *running_;
  const Site place = *site.file ? site : self.site;
  const std::string where = *site.file ? text(site) : " after the call" + text(place);
  fault_ = std::make_exception_ptr(Fault(kind, kernel_->name, self.info.block, self.info.thread,
                                         what + (*place.file ? where : "")));
  Context abandoned;
  switchContext(abandoned, host_, true);
  std::terminate(); // nobody resumes it
}

bool Machine::ownsFault(const void *address) {
  faultAddress_ = address;
  return running_ != nullptr;
}

void Machine::failAt(const void *) {
  Fiber &self = *running_;
  const void *address = faultAddress_;
  for (const Block &block : blocks_) {
    if (!block.shared.inGuard(address))
      continue;
    const int64_t offset = static_cast<const unsigned char *>(address) - block.shared.data();
    fail(FaultKind::kSharedOutOfRange,
         "byte " + std::to_string(offset) + " of shared memory, which has " +
             std::to_string(config_->sharedBytes),
         {});
  }
  if (stacks_.inGuard(address))
    fail(FaultKind::kStackOverflow,
         "over " + std::to_string(StackPool::kStackBytes) + " bytes of locals", {});
  const auto number = reinterpret_cast<uintptr_t>(address);
  const MemoryMap *memory = options_->memory;
  fail(FaultKind::kBadAddress,
       "the host faulted at address " + std::to_string(number) +
           (memory ? " (" + memory->describe(address) + ")" : std::string()),
       self.site);
}

char *Machine::emergencyStackTop() {
  constexpr size_t kBytes = 256 << 10;
  if (!emergencyStack_)
    emergencyStack_ = std::make_unique<char[]>(kBytes);
  const uintptr_t top = reinterpret_cast<uintptr_t>(emergencyStack_.get()) + kBytes;
  return reinterpret_cast<char *>((top & ~uintptr_t{15}) -
                                  8); // as if a call had pushed its return address
}

Stats launch(const Kernel &kernel, const LaunchConfig &config, const Options &options,
             const void *args, size_t argsBytes) {
  return Machine::ofThisThread().launch(kernel, config, options, args, argsBytes);
}

} // namespace engine::sim
