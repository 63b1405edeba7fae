// Attention kernel: prefill in FLOP/s of visible work, decoding in bytes/s of keys and values read.
// Compare ratios taken in one run (the peaks are measured beside it), not absolute figures.
#include "ir/half.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/parallel.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace engine;
using namespace engine::cpu;

namespace {

constexpr int64_t kHeads = 32;
constexpr int64_t kKvHeads = 8;
constexpr int64_t kHeadSize = 128;
int threads = 2; // --threads=N; with 1, CPU time tells little of what else the machine does

struct Free {
  void operator()(char *p) const { std::free(p); }
};
using Memory = std::unique_ptr<char, Free>;

Memory allocate(int64_t bytes) {
  constexpr int64_t kPage = int64_t{2} << 20;
  const int64_t rounded = (bytes + kPage - 1) / kPage * kPage + kPage;
  return Memory(static_cast<char *>(std::aligned_alloc(kPage, rounded)));
}

struct Setup {
  SdpaProblem p;
  std::vector<Memory> memory;
  Memory scratch;

  Setup(DType type, DType cache, int64_t queries, int64_t keys, bool bias) {
    const int64_t width = cache == DType::kU8 ? kHeadSize / 2 : kHeadSize;
    p.q = tensor(type, {1, kHeads, queries, kHeadSize});
    p.k = tensor(cache, {1, kKvHeads, keys, width});
    p.v = tensor(cache, {1, kKvHeads, keys, width});
    p.out = tensor(type, {1, kHeads, queries, kHeadSize});
    if (!isFloat(cache))
      p.kScale = p.vScale = tensor(DType::kF32, {1});
    if (bias) {
      p.bias = tensor(type, {1, 1, queries, keys});
      p.bias.dims[1] = kHeads;
      p.bias.strides[1] = 0;
    }
    p.band = kCausalBand;
    p.anchor = QueryAnchor::kKeyEnd;
    p.scale = 0.088f;
    scratch = allocate(attentionScratchBytes(p, threads));
  }

  View tensor(DType type, std::initializer_list<int64_t> dims) {
    View view;
    view.dtype = type;
    for (int64_t dim : dims)
      view.dims[view.rank++] = dim;
    view.setDenseStrides();
    memory.push_back(allocate(view.bytes()));
    view.data = memory.back().get();
    std::minstd_rand random(1);
    for (int64_t n = 0; n < view.count(); ++n) {
      const unsigned bits = random() >> 8;
      write(view, n, static_cast<float>(bits % 4096) / 1024 - 2, static_cast<uint8_t>(bits));
    }
    return view;
  }

  static void write(const View &view, int64_t n, float value, uint8_t code) {
    if (view.dtype == DType::kF32)
      view.as<float>()[n] = value;
    else if (view.dtype == DType::kF16)
      view.as<Half>()[n] = Half(value);
    else if (view.dtype == DType::kBF16)
      view.as<BFloat16>()[n] = BFloat16(value);
    else
      view.as<uint8_t>()[n] = code;
  }
};

// Query-key pairs that are visible.
double visiblePairs(const SdpaProblem &p) {
  double pairs = 0;
  for (int64_t i = 0; i < p.queries(); ++i)
    pairs += static_cast<double>(p.entry(0).frame.rowRange(i).size());
  return pairs * kHeads;
}

void prefill(benchmark::State &state, DType type, int64_t length, bool bias, int64_t window,
             float softcap, Isa isa) {
  Setup s(type, type, length, length, bias);
  s.p.softcap = softcap;
  if (window > 0)
    s.p.band.left = window - 1;
  for (auto _ : state)
    attention(s.p, threads, s.scratch.get(), isa);
  state.counters["FLOP/s"] = benchmark::Counter(4.0 * kHeadSize * visiblePairs(s.p),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

void decode(benchmark::State &state, DType type, DType cache, int64_t queries, int64_t keys,
            Isa isa) {
  Setup s(type, cache, queries, keys, false);
  for (auto _ : state)
    attention(s.p, threads, s.scratch.get(), isa);
  state.SetBytesProcessed(state.iterations() * (s.p.k.bytes() + s.p.v.bytes()));
}

// What the memory gives: the sum of a large array.
void memoryRead(benchmark::State &state) {
  constexpr int64_t kCount = int64_t{16} << 20;
  const Memory memory = allocate(kCount * 8);
  uint64_t *words = reinterpret_cast<uint64_t *>(memory.get());
  std::fill_n(words, kCount, 1);
  for (auto _ : state) {
    std::vector<uint64_t> sums(threads);
    parallelFor(threads, threads, [&, count = kCount / threads / 32 * 32](int64_t t) {
      uint64_t lanes[32] = {};
      const uint64_t *from = words + t * count;
      for (int64_t i = 0; i < count; i += 32) {
        for (int lane = 0; lane < 32; ++lane)
          lanes[lane] += from[i + lane];
        __builtin_prefetch(from + i + 1024, 0, 2);
        __builtin_prefetch(from + i + 1032, 0, 2);
        __builtin_prefetch(from + i + 1040, 0, 2);
        __builtin_prefetch(from + i + 1048, 0, 2);
      }
      for (uint64_t lane : lanes)
        sums[t] += lane;
    });
    benchmark::DoNotOptimize(sums.data());
  }
  state.SetBytesProcessed(state.iterations() * kCount * 8);
}

template <class... Args> void add(const std::string &name, Args... args) {
  benchmark::internal::Benchmark *bench = benchmark::RegisterBenchmark(name.c_str(), args...);
  bench->MinTime(0.3)->Unit(benchmark::kMillisecond);
  if (threads > 1)
    bench->UseRealTime();
}

void addPrefill(DType type, Isa isa) {
  const std::string name = std::string("prefill/") + dtypeName(type) + "/" + isaName(isa) + "/";
  add(name + "512", prefill, type, 512, false, 0, 0.0f, isa);
  add(name + "2048", prefill, type, 2048, false, 0, 0.0f, isa);
  if (isa != bestIsa())
    return;
  add(name + "512_bias", prefill, type, 512, true, 0, 0.0f, isa);
  add(name + "2048_bias", prefill, type, 2048, true, 0, 0.0f, isa);
  add(name + "2048_softcap", prefill, type, 2048, false, 0, 50.0f, isa);
  add(name + "8192_window512", prefill, type, 8192, false, 512, 0.0f, isa);
}

void addDecode(DType type, DType cache, int64_t queries, Isa isa) {
  const std::string name = std::string("decode/") + dtypeName(cache) + "/" + isaName(isa) + "/" +
                           std::to_string(queries) + "x";
  for (int64_t keys : {512, 4096, 16384})
    add(name + std::to_string(keys), decode, type, cache, queries, keys, isa);
}

} // namespace

int main(int argc, char **argv) {
  const std::string_view last = argc > 1 ? argv[argc - 1] : "";
  if (last.starts_with("--threads=")) {
    threads = std::max(1, std::atoi(last.data() + last.find('=') + 1));
    --argc;
  }
  add("memory_read", memoryRead);
  for (Isa isa : kAllIsas) {
    if (isa > bestIsa())
      break;
    for (DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
      addPrefill(type, isa);
      addDecode(type, type, 1, isa);
    }
    addDecode(DType::kF32, DType::kI8, 1, isa);
    addDecode(DType::kF32, DType::kU8, 1, isa);
  }
  for (int64_t queries : {2, 4, 8, 16, 32})
    addDecode(DType::kF32, DType::kF32, queries, bestIsa());
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
