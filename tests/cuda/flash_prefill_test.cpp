#include "kernels/cuda/flash_prefill.h"
#include "tests/cuda/sdpa_case.h"

#include <doctest/doctest.h>

#include <functional>

using namespace engine;
using namespace engine::cuda;
using engine::test::SdpaCase;
using engine::test::SdpaSizes;

extern "C" {
extern const sim::Kernel flashPrefillF16W64, flashPrefillF16W128, flashPrefillF16W192,
    flashPrefillF16W256, flashPrefillBF16W64, flashPrefillBF16W128, flashPrefillBF16W192,
    flashPrefillBF16W256;
}

namespace {

// What is translated from PTX for the test (cmake/cuda.cmake) has fewer kernels.
#if defined(ENGINE_TEST_FEW_KERNELS)
const sim::Kernel *kernelFor(DType type, int width) {
  if (type == DType::kF16 && width == 64)
    return &flashPrefillF16W64;
  return type == DType::kBF16 && width == 128 ? &flashPrefillBF16W128 : nullptr;
}
#else
const sim::Kernel *kernelFor(DType type, int width) {
  static const sim::Kernel *const kernels[2][4] = {
      {&flashPrefillF16W64, &flashPrefillF16W128, &flashPrefillF16W192, &flashPrefillF16W256},
      {&flashPrefillBF16W64, &flashPrefillBF16W128, &flashPrefillBF16W192, &flashPrefillBF16W256}};
  return kernels[type == DType::kBF16][width / 64 - 1];
}
#endif

// False where the kernel is not among those under test.
bool run(SdpaCase &c, sim::Options options, sim::Stats *stats = nullptr) {
  const DeviceLimits device;
  REQUIRE(flashPrefillWhyNot(c.p, device) == "");
  PrefillPlan plan = planFlashPrefill(c.p, device);
  const sim::Kernel *kernel = kernelFor(c.p.q.dtype, plan.width);
  if (!kernel)
    return false;
  plan.blocks = std::min<int64_t>(plan.blocks, 5); // so that a block has several rows of work
  options.memory = &c.memory;
  const sim::LaunchConfig config{
      {static_cast<unsigned>(plan.blocks), 1, 1}, {kPrefillThreads, 1, 1}, plan.sharedBytes};
  const sim::Stats done = sim::launch(*kernel, config, options, makeSdpaArgs(c.p));
  if (stats)
    *stats = done;
  return true;
}

struct Row {
  const char *what;
  SdpaSizes sizes; // batch, kvHeads, group, queries, keys, newKeys, headSize, vHeadSize
  std::function<void(SdpaCase &)> change;
  bool quick = false; // in all schedules
};

const Row kRows[] = {
    {"one tile and a bit",
     {1, 1, 2, 70, 70, 0, 64, 0},
     [](SdpaCase &c) { c.p.band = kCausalBand; },
     true},
    {"a chunk of a prompt",
     {1, 2, 2, 33, 130, 0, 64, 0},
     [](SdpaCase &c) {
       c.p.band = kCausalBand;
       c.p.offset = 97;
     }},
    {"a window, two segments",
     {2, 1, 2, 65, 150, 40, 64, 0},
     [](SdpaCase &c) {
       c.p.band = {40, 0};
       c.p.offset = 120;
       c.p.split = c.lengths("split", {150, 61});
       c.p.keyLen = c.lengths("keyLen", {190, 90});
     },
     true},
    {"both sides, softcap, bias, sink",
     {1, 2, 1, 66, 129, 0, 64, 0},
     [](SdpaCase &c) {
       c.p.band = {30, 20};
       c.p.offset = 10;
       c.p.softcap = 5;
       c.addBias(c.p.q.dtype, 1, 2, 66, 129);
       c.addSink(DType::kF32);
       c.hideColumn(5);
     },
     true},
    {"ragged lengths from the end, an empty entry",
     {4, 1, 2, 40, 200, 0, 64, 0},
     [](SdpaCase &c) {
       c.p.band = kCausalBand;
       c.p.anchor = QueryAnchor::kKeyEnd;
       c.p.keyLen = c.lengths("keyLen", {133, 20, 0, 200});
       c.p.queryLen = c.lengths("queryLen", {40, 40, 40, 17});
     }},
    {"a negative offset hides the first rows",
     {1, 1, 2, 64, 64, 0, 64, 0},
     [](SdpaCase &c) {
       c.p.band = kCausalBand;
       c.p.offset = -20;
     }},
    {"head size 80 with values of 64, bool mask shorter than the keys",
     {1, 1, 2, 20, 100, 0, 80, 64},
     [](SdpaCase &c) {
       c.addMask(1, 1, 20, 90);
       c.hideColumn(17);
     }},
    {"head size 128, window and softcap",
     {1, 1, 1, 5, 200, 0, 128, 0},
     [](SdpaCase &c) {
       c.p.band = {64, 0};
       c.p.offset = 195;
       c.p.softcap = 3;
     }},
    {"head size 144, broadcast bias of f32, key start",
     {2, 1, 1, 30, 70, 0, 144, 0},
     [](SdpaCase &c) {
       c.p.keyStart = c.lengths("keyStart", {0, 11});
       c.p.queryStart = c.lengths("queryStart", {40, 30});
       c.p.band = {INT64_MAX, 5};
       c.addBias(DType::kF32, 1, 1, 1, 100);
     }},
    {"head size 256", {1, 1, 1, 66, 70, 0, 256, 0}, [](SdpaCase &c) { c.p.band = kCausalBand; }},
    {"a bias of the lowest float",
     {1, 1, 1, 16, 64, 0, 64, 0},
     [](SdpaCase &c) {
       c.addBias(DType::kF32, 1, 1, 16, 64);
       for (int i = 0; i < 3 * 64; ++i)
         c.p.bias.as<float>()[i] = std::numeric_limits<float>::lowest();
     }},
};

} // namespace

TEST_CASE("flash prefill agrees with the reference") {
  unsigned seed = 1;
  for (const Row &row : kRows) {
    for (const DType type : {DType::kF16, DType::kBF16}) {
      SdpaCase c(row.sizes, type, type, seed++);
      row.change(c);
      c.poisonHiddenRows();
      sim::Options options;
      options.schedule = static_cast<sim::Schedule>(seed % 3);
      options.copies = static_cast<sim::CopyTiming>(seed % 2);
      INFO(std::string(row.what));
      sim::Stats stats;
      if (!run(c, options, &stats))
        continue;
      CHECK(c.error() <= test::tolerance(type));
      CHECK(stats.ldmatrixWaves == stats.ldmatrixWavesIdeal);
    }
  }
}

TEST_CASE("flash prefill is the same in every schedule") {
  for (const Row &row : kRows) {
    if (!row.quick)
      continue;
    std::vector<uint16_t> first;
    for (int i = 0; i < 6; ++i) {
      SdpaCase c(row.sizes, DType::kF16, DType::kF16, 7);
      row.change(c);
      sim::Options options;
      options.schedule = static_cast<sim::Schedule>(i / 2);
      options.copies = static_cast<sim::CopyTiming>(i % 2);
      options.residentBlocks = 1 + i;
      run(c, options);
      const auto *bits = c.p.out.as<const uint16_t>();
      const std::vector<uint16_t> out(bits, bits + c.p.out.count());
      if (first.empty())
        first = out;
      CHECK(out == first);
    }
  }
}

TEST_CASE("flash prefill says why not") {
  struct Refusal {
    std::function<void(SdpaProblem &, DeviceLimits &)> change;
    const char *why;
  };
  const Refusal refusals[] = {
      {[](SdpaProblem &, DeviceLimits &d) { d.capability = 75; },
       "the device has compute capability 7.5, below 8.0"},
      {[](SdpaProblem &, DeviceLimits &d) { d.sharedPerBlock = 49152; },
       "its tiles take 81920 bytes of shared memory, the device has 49152"},
      {[](SdpaProblem &p, DeviceLimits &) { p.q.dtype = DType::kF32; },
       "it takes queries of f16 and bf16, not f32"},
      {[](SdpaProblem &p, DeviceLimits &) { p.k.dtype = DType::kI8; },
       "keys and values have the type of the queries, not i8"},
      {[](SdpaProblem &p, DeviceLimits &) { p.scoreMode = ScoreMode::kRaw; },
       "it has no score output"},
      {[](SdpaProblem &p, DeviceLimits &) { p.q.dims[3] = p.k.dims[3] = 100; },
       "the head size 100 is no multiple of 8"},
      {[](SdpaProblem &p, DeviceLimits &) { p.q.dims[3] = 264; }, "the head size 264 is above 256"},
      {[](SdpaProblem &p, DeviceLimits &) { p.k.strides[2] = 132; },
       "the key has a stride of 132 elements, not a multiple of 8"},
      {[](SdpaProblem &p, DeviceLimits &) { p.q.strides[3] = 2; },
       "the query has channels 2 elements apart, not dense"},
      {[](SdpaProblem &p, DeviceLimits &) { p.v.data = p.v.as<char>() + 2; },
       "the value starts at an address that is no multiple of 16"},
  };
  for (const Refusal &refusal : refusals) {
    SdpaCase c({1, 1, 2, 3, 9, 0, 128, 0}, DType::kF16, DType::kF16, 1);
    DeviceLimits device;
    refusal.change(c.p, device);
    CHECK(flashPrefillWhyNot(c.p, device) == refusal.why);
  }
  // Every head size fits a device of 99 KB.
  for (int64_t size = 64; size <= 256; size += 16) {
    SdpaCase c({1, 1, 1, 1, 1, 0, size, 0}, DType::kF16, DType::kF16, 1);
    DeviceLimits device;
    device.sharedPerBlock = 101376;
    CHECK(flashPrefillWhyNot(c.p, device) == "");
  }
}
