// The simulator: right kernels give right results in every schedule, and each check fires on a
// kernel that is wrong in just that way.
#include "tests/cuda/sim_kernels.h"

#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <thread>
#include <vector>

// The same tests run on the kernels as host C++ and as PTX.
#if defined(ENGINE_TEST_PTX)
#define SOURCE "sim_kernels.ptx"
#else
#define SOURCE "tests/cuda/sim_kernels.cu"
#endif

using namespace engine;
using namespace engine::sim;
using engine::test::ToyArgs;

namespace {

// Input and output of one launch, known to the simulator as all the global memory there is.
struct Toy {
  std::vector<uint32_t> in;
  std::vector<uint32_t> out;
  MemoryMap memory;
  Options options;
  LaunchConfig config{{1, 1, 1}, {64, 1, 1}, 1024};
  int n = 0;

  explicit Toy(int inputs = 64, int outputs = 64) : in(inputs), out(outputs) {
    std::iota(in.begin(), in.end(), 100u);
    memory.add(in.data(), in.size() * sizeof in[0], "in");
    memory.add(out.data(), out.size() * sizeof out[0], "out");
    options.memory = &memory;
  }
  Toy(const Toy &) = delete;
  Toy &operator=(const Toy &) = delete;

  Stats run(const Kernel &kernel) {
    return launch(kernel, config, options, ToyArgs{out.data(), in.data(), n});
  }
  // The fault that the launch ends with; a launch that ends well gives null.
  std::unique_ptr<Fault> fault(const Kernel &kernel) {
    try {
      run(kernel);
    } catch (const Fault &fault) {
      return std::make_unique<Fault>(fault);
    }
    return nullptr;
  }
};

std::vector<Options> allSchedules() {
  std::vector<Options> all;
  for (const Schedule schedule : {Schedule::kAscending, Schedule::kDescending, Schedule::kRandom}) {
    for (const CopyTiming copies : {CopyTiming::kLate, CopyTiming::kEarly}) {
      Options options;
      options.schedule = schedule;
      options.copies = copies;
      options.seed = 7;
      all.push_back(options);
    }
  }
  return all;
}

void useSchedule(Toy &toy, const Options &options) {
  toy.options = options;
  toy.options.memory = &toy.memory;
}

} // namespace

TEST_CASE("sim: right kernels give the same in every schedule") {
  for (const Options &options : allSchedules()) {
    Toy reverse;
    useSchedule(reverse, options);
    reverse.run(toyReverse);
    for (int i = 0; i < 64; ++i)
      CHECK(reverse.out[i] == reverse.in[63 - i]);

    Toy reduce;
    useSchedule(reduce, options);
    reduce.run(toyReduce);
    for (int i = 0; i < 64; ++i)
      CHECK(reduce.out[i] == std::accumulate(reduce.in.begin() + i / 32 * 32,
                                             reduce.in.begin() + i / 32 * 32 + 32, 0u));

    Toy copy(3 * 128, 3 * 128);
    useSchedule(copy, options);
    copy.config.block = {32, 1, 1};
    copy.n = 3;
    const Stats stats = copy.run(toyCopy);
    CHECK(stats.asyncCopies == 3 * 32);
    for (int i = 0; i < 3 * 128; ++i)
      CHECK(copy.out[i] == copy.in[i / 128 * 128 + 127 - i % 128]);

    Toy partial;
    useSchedule(partial, options);
    partial.run(toyPartialWarp);
    for (int i = 0; i < 64; ++i)
      CHECK(partial.out[i] == partial.in[i ^ 3]);

    Toy atomic;
    useSchedule(atomic, options);
    atomic.run(toyAtomic);
    for (int i = 0; i < 4; ++i)
      CHECK(atomic.out[i] == 16);

    Toy early;
    useSchedule(early, options);
    early.n = 40;
    early.run(toyEarlyExit);
    for (int i = 0; i < 40; ++i)
      CHECK(early.out[i] == early.in[39 - i]);
  }
}

TEST_CASE("sim: the schedule decides who runs first") {
  Toy toy(64, 65);
  toy.n = 64;
  toy.run(toyOrder);
  CHECK(toy.out[0] == 0);
  CHECK(toy.out[63] == 63);
  toy.out[64] = 0;
  toy.options.schedule = Schedule::kDescending;
  toy.run(toyOrder);
  CHECK(toy.out[0] == 63);
  CHECK(toy.out[63] == 0);
  toy.options.schedule = Schedule::kRandom;
  std::vector<uint32_t> orders[3];
  const uint64_t seeds[3] = {1, 2, 1};
  for (int i = 0; i < 3; ++i) {
    toy.out[64] = 0;
    toy.options.seed = seeds[i];
    toy.run(toyOrder);
    orders[i] = toy.out;
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[0] == orders[2]);
}

TEST_CASE("sim: shared memory starts as NaN") {
  Toy toy;
  toy.run(toyUninitialised);
  for (const uint32_t value : toy.out)
    CHECK(value == 0xffffffffu);
}

TEST_CASE("sim: every check finds its fault in every schedule") {
  struct Row {
    const Kernel *kernel;
    FaultKind kind;
    const char *says; // part of the message
  };
  const Row rows[] = {
    {&toyMissingBarrier, FaultKind::kRace, "of 4 bytes at byte"},
    {&toyMissingWarpBarrier, FaultKind::kRace, "without a barrier between"},
    {&toyWrongWarpBarrier, FaultKind::kRace, "without a barrier between"},
    {&toyOverwrite, FaultKind::kRace, "without a barrier between"},
    {&toyDivergentBarrier, FaultKind::kDivergentBarrier, "at " SOURCE ":"},
    {&toyDeadlock, FaultKind::kDeadlock, "block barrier at " SOURCE ":"},
    {&toyNotInMask, FaultKind::kBadMask, "lane 31 is not in its own mask"},
    {&toyDivergentShuffle, FaultKind::kDivergentCollective, "other lanes are in a"},
    {&toyDivergentMma, FaultKind::kDivergentCollective, "a ldmatrix, but other lanes"},
    {&toyAbsentLane, FaultKind::kBadLane, "lane 9, which takes no part"},
    {&toySharedAfter, FaultKind::kSharedOutOfRange, "of 1024"},
    {&toySharedFarAfter, FaultKind::kSharedOutOfRange, "1024"},
    {&toySharedBefore, FaultKind::kSharedOutOfRange, "byte -4 of 1024"},
    {&toyGlobalRead, FaultKind::kGlobalOutOfRange, "byte 256 of 'in', which has 256"},
    {&toyGlobalWrite, FaultKind::kGlobalOutOfRange, "byte 256 of 'out', which has 256"},
    {&toyLdmatrixOdd, FaultKind::kMisaligned, "no multiple of 16 at " SOURCE},
    {&toyLdmatrixOutside, FaultKind::kSharedOutOfRange, "ldmatrix: byte 1024 of 1024"},
    {&toyCopyOdd, FaultKind::kMisaligned, "the global address of cp.async"},
    {&toyCopySharedOdd, FaultKind::kMisaligned, "the shared address of cp.async"},
    {&toyCopyOutside, FaultKind::kSharedOutOfRange, "cp.async: byte 1024 of 1024"},
    {&toyCopyGlobalOutside, FaultKind::kGlobalOutOfRange, "of 'in', which has 256"},
    {&toyCopyNoBarrier, FaultKind::kRace, "without a barrier between"},
#if !defined(ENGINE_TEST_PTX)
    {&toyStack, FaultKind::kStackOverflow, "bytes of locals"},
#endif
    {&toyLivelock, FaultKind::kLivelock, "only polling goes on at " SOURCE},
  };
  for (const Row &row : rows) {
    for (const Options &options : allSchedules()) {
      Toy toy;
      useSchedule(toy, options);
      toy.n = row.kernel == &toyLivelock ? 63 : 200;
      const std::unique_ptr<Fault> fault = toy.fault(*row.kernel);
      INFO(std::string(row.kernel->name));
      REQUIRE(fault);
      INFO(std::string(fault->what()));
      CHECK(std::string(faultName(fault->faultKind())) == faultName(row.kind));
      CHECK(std::string(fault->what()).find(row.says) != std::string::npos);
      CHECK(fault->kernel() == row.kernel->name);
    }
  }
}

TEST_CASE("sim: lanes that disagree about a mask") {
  Toy toy;
  toy.options.schedule = Schedule::kDescending;
  std::unique_ptr<Fault> fault = toy.fault(toyOverlappingMasks);
  REQUIRE(fault);
  CHECK(std::string(fault->what())
            .find("bad mask: its mask overlaps with the one of the shuffle at " SOURCE) !=
        std::string::npos);
  toy.options.schedule =
      Schedule::kAscending; // the smaller mask is done before the larger one starts
  fault = toy.fault(toyOverlappingMasks);
  REQUIRE(fault);
  CHECK(std::string(faultName(fault->faultKind())) == faultName(FaultKind::kDeadlock));
}

TEST_CASE("sim: copies land late or early") {
  Toy toy(256, 256);
  toy.run(toyCopyNoWait);
  CHECK(toy.out[5] == 0xffffffffu);
  toy.options.copies = CopyTiming::kEarly;
  toy.run(toyCopyNoWait);
  CHECK(toy.out[5] == toy.in[5]);

  Toy second;
  second.run(toyCopyTooEarly);
  CHECK(second.out[3] == 7);
  second.options.copies = CopyTiming::kEarly;
  second.run(toyCopyTooEarly);
  CHECK(second.out[3] == second.in[0]);
}

TEST_CASE("sim: a host fault elsewhere is reported with block and thread") {
  Toy toy;
  toy.options.memory = nullptr;
  toy.config.grid = {1, 3, 1};
  toy.n = 1;
  const std::unique_ptr<Fault> fault = toy.fault(toyNull);
  REQUIRE(fault);
  CHECK(std::string(faultName(fault->faultKind())) == faultName(FaultKind::kBadAddress));
  CHECK(std::string(fault->what())
            .find("kernel toyNull, block (0, 0, 0), thread (0, 0, 0): bad address: "
                  "the host faulted at address 8") == 0);
}

TEST_CASE("sim: interleaved blocks wait for each other") {
  for (const Schedule schedule : {Schedule::kAscending, Schedule::kDescending, Schedule::kRandom}) {
    Toy toy(64, 64 + 1 + 64);
    toy.options.schedule = schedule;
    toy.options.residentBlocks = 2;
    toy.config.grid = {2, 1, 1};
    toy.n = 64;
    toy.run(toyHandOver);
    for (int i = 0; i < 64; ++i)
      CHECK(toy.out[65 + i] == toy.in[i] + 1);
  }
  Toy alone(64, 64 + 1 + 64);
  alone.config.grid = {2, 1, 1};
  alone.n = 64;
  const std::unique_ptr<Fault> fault = alone.fault(toyHandOver);
  REQUIRE(fault);
  CHECK(std::string(fault->what()).find("not all blocks are resident") != std::string::npos);
}

TEST_CASE("sim: bank conflicts of ldmatrix are counted") {
  Toy toy;
  toy.config.block = {32, 1, 1};
  toy.config.sharedBytes = 32 * 128 + 128;
  toy.options.findRaces = false;
  Stats stats = toy.run(toyConflicts);
  CHECK(stats.ldmatrixWavesIdeal == 4);
  CHECK(stats.ldmatrixWaves == 32);
  stats = toy.run(toySwizzled);
  CHECK(stats.ldmatrixWaves == 4);
}

TEST_CASE("sim: launches over a limit are refused") {
  struct Row {
    LaunchConfig config;
    const char *says;
  };
  const Row rows[] = {
      {{{0, 1, 1}, {32, 1, 1}, 0}, "is empty"},
      {{{1, 1, 1}, {0, 1, 1}, 0}, "is empty"},
      {{{1, 65536, 1}, {32, 1, 1}, 0}, "is above (2147483647, 65535, 65535)"},
      {{{1, 1, 65536}, {32, 1, 1}, 0}, "is above"},
      {{{1, 1, 1}, {1025, 1, 1}, 0}, "1024 threads"},
      {{{1, 1, 1}, {1, 1, 65}, 0}, "is above (1024, 1024, 64)"},
      {{{1, 1, 1}, {64, 1, 1}, 0}, "is built for 32 threads"},
      {{{1, 1, 1}, {32, 1, 1}, 233 * 1024}, "bytes of shared memory, 232448 at most"},
  };
  for (const Row &row : rows) {
    Toy toy;
    toy.config = row.config;
    const std::unique_ptr<Fault> fault = toy.fault(toyCopy);
    INFO(std::string(row.says));
    REQUIRE(fault);
    CHECK(std::string(faultName(fault->faultKind())) == faultName(FaultKind::kBadLaunch));
    CHECK(std::string(fault->what()).find(row.says) != std::string::npos);
  }
  Toy toy;
  CHECK_THROWS_WITH_AS(launch(toyReverse, toy.config, toy.options, 7),
                       doctest::Contains("4 bytes of arguments"), Fault);
}

TEST_CASE("sim: host threads launch side by side and after faults") {
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&good, t] {
      for (int i = 0; i < 20; ++i) {
        Toy wrong;
        good[t] += wrong.fault(toyMissingBarrier) != nullptr;
        wrong.n = 1 << 20;
        good[t] += wrong.fault(toySharedAfter) != nullptr;
        Toy right;
        right.run(toyReverse);
        good[t] += right.out[0] == right.in[63];
      }
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  for (int t = 0; t < 4; ++t)
    CHECK(good[t] == 60);
}

TEST_CASE("sim: what a launch did is counted") {
  Toy toy;
  toy.config.grid = {2, 3, 1};
  const Stats stats = toy.run(toyReverse);
  CHECK(stats.blocks == 6);
  CHECK(stats.threads == 6 * 64);
  CHECK(stats.barriers == 6);
  CHECK(stats.globalBytesRead == 6 * 64 * 4);
  CHECK(stats.globalBytesWritten == 6 * 64 * 4);
}
