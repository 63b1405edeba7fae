#include "kernels/cuda/flash_decode.h"

#include "kernels/cuda/flash_decode_shape.h"

#include <algorithm>

namespace engine::cuda {
namespace {

template <int kCacheBytes> size_t sharedBytesFor(int width) {
  switch (width) {
  case 64:
    return DecodeShape<64, kCacheBytes>::kSharedBytes;
  case 128:
    return DecodeShape<128, kCacheBytes>::kSharedBytes;
  case 192:
    return DecodeShape<192, kCacheBytes>::kSharedBytes;
  default:
    return DecodeShape<256, kCacheBytes>::kSharedBytes;
  }
}

size_t sharedBytes(const SdpaProblem &p) {
  const int width = flashWidth(p);
  return p.k.dtype == DType::kI8 ? sharedBytesFor<1>(width) : sharedBytesFor<2>(width);
}

// (query, head) rows of a KV head in tiles of 16.
int64_t rowTiles(const SdpaProblem &p) { return (p.group() * p.queries() + 15) / 16; }

} // namespace

std::string flashDecodeWhyNot(const SdpaProblem &p, const DeviceLimits &device) {
  constexpr int64_t kMaxRowTiles = 4; // beyond it keys are read so often that prefill is better
  std::string why = flashWhyNot(p, device);
  if (!why.empty())
    return why;
  const DType cache = p.k.dtype;
  const bool int8 = cache == DType::kI8 && p.cacheBits() == 8;
  if (cache != p.q.dtype && !int8)
    return "the cache has the type of the queries or scaled i8, not " +
           std::string(dtypeInfo(cache).name);
  for (const View *view : {&p.v, &p.kNew, &p.vNew}) {
    if (view->present() && view->dtype != cache)
      return "keys and values have different types";
  }
  if (int8 && (p.headSize() % 16 != 0 || p.vHeadSize() % 16 != 0))
    return "head sizes of an i8 cache are multiples of 16";
  if (rowTiles(p) > kMaxRowTiles)
    return std::to_string(p.queries()) + " queries of " + std::to_string(p.group()) +
           " heads are more than " + std::to_string(16 * kMaxRowTiles) + " rows for one KV head";
  if (sharedBytes(p) > device.sharedPerBlock)
    return "its tiles take " + std::to_string(sharedBytes(p)) +
           " bytes of shared memory, the device has " + std::to_string(device.sharedPerBlock);
  return "";
}

DecodePlan planFlashDecode(const SdpaProblem &p, const DeviceLimits &device) {
  constexpr int64_t kBlocksPerMultiprocessor = 2;
  constexpr int64_t kMaxSplits = 64;
  constexpr int64_t kKeys = DecodeShape<64, 2>::kKeys;
  DecodePlan plan;
  plan.width = flashWidth(p);
  plan.sharedBytes = sharedBytes(p);
  // The keys are split until every multiprocessor has its blocks, by what the tensors could hold:
  // the plan must not depend on lengths that only the device knows.
  const int64_t keys = p.k.dims[2] + (p.kNew.present() ? p.kNew.dims[2] : 0);
  const int64_t tiles = std::max<int64_t>((keys + kKeys - 1) / kKeys, 1);
  const int64_t blocks = std::max<int64_t>(rowTiles(p) * p.kvHeads() * p.batch(), 1);
  const int64_t wanted = device.multiprocessors * kBlocksPerMultiprocessor;
  const int64_t splits = std::min({(wanted + blocks - 1) / blocks, tiles, kMaxSplits});
  plan.splits = static_cast<int>(splits);
  plan.blocks = std::min(blocks * splits, device.maxGrid);
  const int64_t rows = p.batch() * p.heads() * p.queries();
  plan.mergeBlocks = std::min(std::max<int64_t>(rows, 1), device.maxGrid);
  plan.outFloats = rows * splits * p.vHeadSize();
  plan.statsFloats = rows * splits * 2;
  return plan;
}

} // namespace engine::cuda
