#include "kernels/cuda/flash_decode.h"
#include "kernels/cuda/flash_decode_shape.h"
#include "kernels/cuda/softmax_merge.h"
#include "tests/cuda/sdpa_case.h"

#include <doctest/doctest.h>

#include <functional>
#include <map>

using namespace engine;
using namespace engine::cuda;
using engine::test::SdpaCase;
using engine::test::SdpaSizes;

#define ENGINE_DECLARE(type)                                                                       \
  extern "C" const sim::Kernel flashDecode##type##W64, flashDecode##type##W128,                    \
      flashDecode##type##W192, flashDecode##type##W256;
ENGINE_DECLARE(F16)
ENGINE_DECLARE(BF16)
ENGINE_DECLARE(F16I8)
ENGINE_DECLARE(BF16I8)
#undef ENGINE_DECLARE
extern "C" const sim::Kernel flashDecodeMergeF16, flashDecodeMergeBF16;

namespace {

// What is translated from PTX for the test (cmake/cuda.cmake) has fewer kernels.
#if defined(ENGINE_TEST_FEW_KERNELS)
const std::map<std::pair<std::string, int>, const sim::Kernel *> kKernels = {
    {{"f16", 64}, &flashDecodeF16W64},
    {{"bf16", 128}, &flashDecodeBF16W128},
    {{"f16i8", 64}, &flashDecodeF16I8W64},
};
#else
const std::map<std::pair<std::string, int>, const sim::Kernel *> kKernels = {
    {{"f16", 64}, &flashDecodeF16W64},         {{"f16", 128}, &flashDecodeF16W128},
    {{"f16", 192}, &flashDecodeF16W192},       {{"f16", 256}, &flashDecodeF16W256},
    {{"bf16", 64}, &flashDecodeBF16W64},       {{"bf16", 128}, &flashDecodeBF16W128},
    {{"bf16", 192}, &flashDecodeBF16W192},     {{"bf16", 256}, &flashDecodeBF16W256},
    {{"f16i8", 64}, &flashDecodeF16I8W64},     {{"f16i8", 128}, &flashDecodeF16I8W128},
    {{"f16i8", 192}, &flashDecodeF16I8W192},   {{"f16i8", 256}, &flashDecodeF16I8W256},
    {{"bf16i8", 64}, &flashDecodeBF16I8W64},   {{"bf16i8", 128}, &flashDecodeBF16I8W128},
    {{"bf16i8", 192}, &flashDecodeBF16I8W192}, {{"bf16i8", 256}, &flashDecodeBF16I8W256},
};
#endif

const sim::Kernel *kernelFor(const SdpaProblem &p, int width) {
  std::string type = dtypeInfo(p.q.dtype).name;
  if (p.k.dtype == DType::kI8)
    type += "i8";
  const auto found = kKernels.find({type, width});
  return found == kKernels.end() ? nullptr : found->second;
}

// False where the kernel is not among those under test.
bool run(SdpaCase &c, int splits, sim::Options options, sim::Stats *stats = nullptr) {
  DeviceLimits device;
  device.multiprocessors = 2;
  REQUIRE(flashDecodeWhyNot(c.p, device) == "");
  DecodePlan plan = planFlashDecode(c.p, device);
  const sim::Kernel *kernel = kernelFor(c.p, plan.width);
  if (!kernel)
    return false;
  DecodeArgs args;
  args.sdpa = makeSdpaArgs(c.p);
  args.splits = splits;
  const int64_t rows = c.p.batch() * c.p.heads() * c.p.queries();
  args.out = c.workspace(rows * splits * c.p.vHeadSize());
  args.stats = c.workspace(rows * splits * 2);
  options.memory = &c.memory;
  const sim::Dim3 threads{kDecodeThreads, 1, 1};
  const unsigned blocks = static_cast<unsigned>(c.p.batch() * c.p.kvHeads() * splits);
  sim::Stats total = sim::launch(
      *kernel, {{std::max(blocks / 2, 1u), 1, 1}, threads, plan.sharedBytes}, options, args);
  const bool bf16 = c.p.q.dtype == DType::kBF16;
  total.add(sim::launch(bf16 ? flashDecodeMergeBF16 : flashDecodeMergeF16,
                        {{static_cast<unsigned>(std::max<int64_t>(rows / 2, 1)), 1, 1}, threads, 0},
                        options, args));
  if (stats)
    *stats = total;
  return true;
}

struct Row {
  const char *what;
  SdpaSizes sizes; // batch, kvHeads, group, queries, keys, newKeys, headSize, vHeadSize
  int splits;
  std::function<void(SdpaCase &)> change;
  bool everySchedule = false;
};

void causalAtEnd(SdpaCase &c) {
  c.p.band = kCausalBand;
  c.p.anchor = QueryAnchor::kKeyEnd;
}

const Row kRows[] = {
    {"one token, grouped heads", {2, 2, 4, 1, 300, 0, 64, 0}, 3, causalAtEnd, true},
    {"16 heads of one KV head", {1, 1, 16, 1, 500, 0, 128, 0}, 4, causalAtEnd},
    {"more rows than a tile", {1, 1, 7, 3, 130, 0, 64, 0}, 2, causalAtEnd},
    {"ragged lengths, an empty entry, a short one",
     {4, 1, 4, 1, 200, 0, 64, 0},
     3,
     [](SdpaCase &c) {
       causalAtEnd(c);
       c.p.keyLen = c.lengths("keyLen", {200, 1, 0, 77});
     },
     true},
    {"several tokens with bias, window and softcap",
     {1, 2, 3, 4, 257, 0, 64, 0},
     2,
     [](SdpaCase &c) {
       causalAtEnd(c);
       c.p.band.left = 90;
       c.p.softcap = 4;
       c.addBias(c.p.q.dtype, 1, 6, 4, 257);
       if (c.p.k.dtype != DType::kI8)
         c.hideColumn(200);
     }},
    {"two segments and a sink",
     {2, 1, 4, 1, 120, 5, 128, 0},
     2,
     [](SdpaCase &c) {
       causalAtEnd(c);
       c.p.split = c.lengths("split", {120, 66});
       c.p.keyLen = c.lengths("keyLen", {121, 71});
       c.addSink(DType::kF32);
     }},
    {"bool mask, values narrower than keys",
     {1, 2, 2, 2, 90, 0, 80, 64},
     1,
     [](SdpaCase &c) { c.addMask(1, 1, 2, 90); }},
    {"more parts than tiles", {1, 1, 4, 1, 70, 0, 64, 0}, 5, causalAtEnd},
    {"head size 192", {1, 1, 2, 1, 70, 0, 192, 0}, 1, causalAtEnd},
    {"head size 256", {1, 1, 2, 1, 70, 0, 256, 0}, 2, causalAtEnd},
    {"queries beyond queryLen",
     {2, 1, 2, 3, 70, 0, 64, 0},
     1,
     [](SdpaCase &c) {
       c.p.queryLen = c.lengths("queryLen", {2, 0});
     }},
};

void check(const Row &row, DType type, bool int8, bool perChannel, unsigned seed) {
  SdpaCase c(row.sizes, type, int8 ? DType::kI8 : type, seed);
  if (int8)
    c.addScales(perChannel);
  row.change(c);
  if (!int8)
    c.poisonHiddenRows();
  sim::Options options;
  options.schedule = static_cast<sim::Schedule>(seed % 3);
  options.copies = static_cast<sim::CopyTiming>(seed % 2);
  sim::Stats stats;
  INFO(std::string(row.what));
  INFO(int8);
  INFO(perChannel);
  if (!run(c, row.splits, options, &stats))
    return;
  CHECK(c.error() <= test::tolerance(type));
  CHECK(stats.ldmatrixWaves == stats.ldmatrixWavesIdeal);
}

} // namespace

TEST_CASE("flash decode agrees with the reference") {
  unsigned seed = 1;
  for (const Row &row : kRows) {
    for (const DType type : {DType::kF16, DType::kBF16}) {
      check(row, type, false, false, seed++);
      check(row, type, true, seed % 4 < 2, seed);
    }
  }
}

TEST_CASE("flash decode is the same in every schedule") {
  for (const Row &row : kRows) {
    if (!row.everySchedule)
      continue;
    std::vector<uint16_t> first;
    for (int i = 0; i < 6; ++i) {
      SdpaCase c(row.sizes, DType::kF16, DType::kF16, 7);
      row.change(c);
      sim::Options options;
      options.schedule = static_cast<sim::Schedule>(i / 2);
      options.copies = static_cast<sim::CopyTiming>(i % 2);
      options.residentBlocks = 1 + i;
      run(c, row.splits, options);
      const auto *bits = c.p.out.as<const uint16_t>();
      const std::vector<uint16_t> out(bits, bits + c.p.out.count());
      if (first.empty())
        first = out;
      CHECK(out == first);
    }
  }
}

TEST_CASE("flash decode reads every key once") {
  SdpaCase c({1, 2, 8, 1, 512, 0, 64, 0}, DType::kF16, DType::kF16, 3);
  sim::Stats stats;
  run(c, 4, {}, &stats);
  CHECK(stats.asyncBytes == 2 * c.p.k.bytes());
}

TEST_CASE("softmax parts merge to the softmax of the whole") {
  const float infinity = std::numeric_limits<float>::infinity();
  const float lowest = std::numeric_limits<float>::lowest();
  // Logits of two disjoint sets of keys; the value of a key is its number plus one.
  struct Sets {
    std::vector<float> a, b;
  };
  const Sets rows[] = {{{1, 2}, {3}}, {{5, -70}, {-80}},   {{}, {1, 2}},
                       {{4}, {}},     {{lowest}, {0}},     {{lowest}, {lowest}},
                       {{}, {}},      {{3e38f}, {-3e38f}}, {{lowest, lowest}, {}}};
  const auto partOf = [&](const std::vector<float> &logits, int first, double &out) {
    SoftmaxPart part{-infinity, 0};
    for (const float x : logits)
      part.max = std::max(part.max, x);
    out = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      const float weight = weightOf(logits[i], part.max);
      part.sum += weight;
      out += weight * static_cast<double>(first + static_cast<int>(i) + 1);
    }
    return part;
  };
  for (const Sets &sets : rows) {
    std::vector<float> all = sets.a;
    all.insert(all.end(), sets.b.begin(), sets.b.end());
    double outA, outB, outAll;
    const SoftmaxPart a = partOf(sets.a, 0, outA);
    const SoftmaxPart b = partOf(sets.b, static_cast<int>(sets.a.size()), outB);
    const SoftmaxPart whole = partOf(all, 0, outAll);
    const SoftmaxMerge merged = mergeParts(a, b);
    CHECK(merged.part.max == whole.max);
    CHECK(merged.part.sum == doctest::Approx(whole.sum));
    CHECK(outA * merged.keep + outB * merged.add == doctest::Approx(outAll));
    const SoftmaxMerge turned = mergeParts(b, a);
    CHECK(turned.part.sum == merged.part.sum);
    CHECK(turned.keep == merged.add);
  }
  CHECK(finalFactor({-infinity, 0}, 3) == 0);
  CHECK(finalFactor({2, 4}, -infinity) == 0.25f);
  CHECK(finalFactor({2, 1}, 2) == 0.5f);
  CHECK(finalFactor({0, 1}, 200) == 0);
}

TEST_CASE("flash decode says why not and how many parts") {
  struct Refusal {
    std::function<void(SdpaProblem &, DeviceLimits &)> change;
    const char *why;
  };
  const Refusal refusals[] = {
      {[](SdpaProblem &, DeviceLimits &d) { d.capability = 75; },
       "the device has compute capability 7.5, below 8.0"},
      {[](SdpaProblem &p, DeviceLimits &) { p.k.dtype = DType::kI8; },
       "the cache has the type of the queries or scaled i8, not i8"},
      {[](SdpaProblem &p, DeviceLimits &) { p.q.dims[2] = 40; },
       "40 queries of 2 heads are more than 64 rows for one KV head"},
      {[](SdpaProblem &, DeviceLimits &d) { d.sharedPerBlock = 49152; },
       "its tiles take 69632 bytes of shared memory, the device has 49152"},
      {[](SdpaProblem &p, DeviceLimits &) { p.q.dims[3] = p.k.dims[3] = 512; },
       "the head size 512 is above 256"},
  };
  for (const Refusal &refusal : refusals) {
    SdpaCase c({1, 1, 2, 3, 9, 0, 128, 0}, DType::kF16, DType::kF16, 1);
    DeviceLimits device;
    refusal.change(c.p, device);
    CHECK(flashDecodeWhyNot(c.p, device) == refusal.why);
  }
  struct Parts {
    SdpaSizes sizes;
    int splits;
  };
  const Parts parts[] = {{{1, 8, 4, 1, 4096, 0, 64, 0}, 27},
                         {{32, 8, 4, 1, 100, 0, 64, 0}, 1},
                         {{1, 8, 4, 1, 100, 0, 64, 0}, 2},
                         {{1, 1, 4, 1, 8192, 0, 64, 0}, 64},
                         {{1, 1, 1, 1, 0, 0, 64, 0}, 1}};
  for (const Parts &row : parts) {
    const SdpaCase c(row.sizes, DType::kF16, DType::kF16, 1);
    CHECK(planFlashDecode(c.p, DeviceLimits()).splits == row.splits);
  }
}

TEST_CASE("the device's lengths are the problem's") {
  std::mt19937 random(5);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  for (int i = 0; i < 200; ++i) {
    SdpaCase c({2, 1, 1, 1 + below(5), 20, below(2) * 7, 64, 0}, DType::kF16, DType::kF16, 1);
    const int64_t rows = 20 + c.sizes.newKeys;
    c.p.band = {below(2) ? Band::kOpen : below(9) - 1, below(2) ? Band::kOpen : below(5) - 1};
    c.p.offset = below(30) - 10;
    c.p.anchor = below(2) ? QueryAnchor::kKeyEnd : QueryAnchor::kOffset;
    if (below(2))
      c.p.keyLen = c.lengths("keyLen", {below(rows + 1), below(rows + 1)});
    if (below(2))
      c.p.queryStart = c.lengths("queryStart", {below(20), below(20)});
    if (below(2))
      c.p.keyStart = c.lengths("keyStart", {below(9), below(9)});
    if (below(2))
      c.addMask(1, 1, 1, 1 + below(25));
    const SdpaArgs args = makeSdpaArgs(c.p);
    for (int64_t b = 0; b < 2; ++b) {
      const SdpaEntry expected = c.p.entry(b);
      const SdpaEntry got = args.entry(b);
      CHECK(got.queryLen == expected.queryLen);
      CHECK(got.split == expected.split);
      CHECK(got.frame.queryStart == expected.frame.queryStart);
      CHECK(got.frame.keyCount == expected.frame.keyCount);
    }
  }
}
