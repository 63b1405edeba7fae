#include "kernels/cpu/attention.h"

#include "kernels/cpu/attention_plan.h"

#include <algorithm>
#include <cstring>

namespace engine::cpu {

namespace attn {

const TileOps &tileOps(Isa isa, bool bf16) {
  const auto build = [](Isa isa, bool bf16) {
    TileOps ops;
    setPanelOps(isa, ops);
    setStreamOps(isa, ops);
    if (bf16)
      setBf16Ops(ops);
    return ops;
  };
  static const TileOps base = build(Isa::kBase, false);
  static const TileOps avx2 = build(Isa::kAvx2, false);
  static const TileOps avx512 = build(Isa::kAvx512, false);
  static const TileOps avx512Bf16 = build(Isa::kAvx512, true);
  switch (isa) {
  case Isa::kBase:
    return base;
  case Isa::kAvx2:
    return avx2;
  case Isa::kAvx512:
    return avx512;
  case Isa::kAvx512Bf16:
    return bf16 ? avx512Bf16 : avx512;
  }
  return base;
}

} // namespace attn

namespace {

using namespace attn;

// --- What runs -----------------------------------------------------------------------------------

bool isFloatOperand(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

bool isDenseRow(const View &view) {
  return !view.present() || view.dims[3] <= 1 || view.strides[3] == 1;
}

const char *keyWhyNot(const View &rows, const View &added, const View &scale, int64_t headSize) {
  const bool quantised = rows.dtype == DType::kI8 || rows.dtype == DType::kU8;
  if (!quantised && !isFloatOperand(rows.dtype))
    return "keys and values must be f32, f16, bf16, i8 or 4-bit in u8";
  if (added.present() && added.dtype != rows.dtype)
    return "both key segments must have one type";
  if (quantised != scale.present())
    return "a scale goes with an i8 or u8 cache and with no other";
  if (quantised && scale.dtype != DType::kF32)
    return "the scale of a quantised cache must be f32";
  if (rows.dtype == DType::kU8 && headSize % 2 != 0)
    return "a 4-bit cache needs an even head size";
  if (!isDenseRow(rows) || !isDenseRow(added))
    return "channels of keys and values must be contiguous";
  return nullptr;
}

// --- Running -------------------------------------------------------------------------------------

int64_t panelBytesBound(const Shape &shape, int threads) {
  if (shape.streams())
    return 0;
  const int64_t one = shape.kvRowBytes();
  return std::min(shape.kvRows() * one, std::max(threads * one, kPanelBudget));
}

// splitCount rounds up, so there is up to one item a key/value head more than wanted.
int64_t partBytesBound(const Shape &shape, int threads) {
  if (threads <= 1)
    return 0;
  const int64_t items = kItemsPerThread * threads + shape.kvRows();
  return items * partFloats(shape) * static_cast<int64_t>(sizeof(float));
}

// Query rows without a query.
void zeroPaddedRows(const SdpaProblem &p) {
  const int64_t bytes = p.vHeadSize() * elementBytes(p.out.dtype);
  for (int64_t b = 0; b < p.batch(); ++b) {
    const int64_t begin = std::max<int64_t>(p.entry(b).queryLen, 0);
    for (int64_t h = 0; h < p.heads(); ++h) {
      for (int64_t i = begin; i < p.queries(); ++i)
        std::memset(addressOf(p.out, b, h, i, 0), 0, bytes);
    }
  }
}

bool suitsBf16Product(const SdpaProblem &p, const Shape &shape) {
  const DType bf16 = DType::kBF16;
  if (p.q.dtype != bf16 || p.k.dtype != bf16 || p.v.dtype != bf16)
    return false;
  return !shape.streams() || shape.headSize % kBf16Channels == 0;
}

bool isEmpty(const SdpaProblem &p) { return p.batch() == 0 || p.heads() == 0 || p.queries() == 0; }

constexpr int kMaxThreads = 256;

} // namespace

const char *attentionWhyNot(const SdpaProblem &p) {
  if (p.headSize() == 0 || p.vHeadSize() == 0)
    return "heads without channels are left to the reference kernel";
  if (p.scores.present())
    return "the score output is left to the reference kernel";
  if (!isFloatOperand(p.q.dtype) || !isFloatOperand(p.out.dtype))
    return "queries and output must be f32, f16 or bf16";
  if (!isDenseRow(p.q) || !isDenseRow(p.out))
    return "channels of queries and output must be contiguous";
  if (const char *why = keyWhyNot(p.k, p.kNew, p.kScale, p.headSize()))
    return why;
  if (const char *why = keyWhyNot(p.v, p.vNew, p.vScale, p.vHeadSize()))
    return why;
  if (p.bias.present() && !isFloatOperand(p.bias.dtype))
    return "the bias must be f32, f16 or bf16";
  if (p.mask.present() && p.mask.dtype != DType::kBool)
    return "the mask must be bool";
  if (p.sink.present() && !isFloatOperand(p.sink.dtype))
    return "the sink must be f32, f16 or bf16";
  return nullptr;
}

int64_t attentionScratchBytes(const SdpaProblem &problem, int threads) {
  if (isEmpty(problem))
    return 0;
  threads = std::clamp(threads, 1, kMaxThreads);
  const Shape shape(problem);
  Arena arena(nullptr);
  for (int t = 0; t < threads; ++t)
    Worker(shape, arena);
  const int64_t shared = std::max(panelBytesBound(shape, threads), partBytesBound(shape, threads));
  return arena.used() + roundUp(shared, 64);
}

void attention(const SdpaProblem &problem, int threads, void *scratch, Isa isa) {
  if (isEmpty(problem))
    return;
  threads = std::clamp(threads, 1, kMaxThreads);
  const Shape shape(problem);
  const TileOps &ops = tileOps(isa, suitsBf16Product(problem, shape));
  const Run run = {problem, shape, ops, threads};
  Arena arena(scratch);
  Worker workers[kMaxThreads];
  for (int t = 0; t < threads; ++t)
    workers[t] = Worker(shape, arena);
  float *shared = arena.take(0);
  zeroPaddedRows(problem);
  if (shape.streams())
    runStreamed(run, workers, shared);
  else
    runPacked(run, workers, shared);
}

} // namespace engine::cpu
