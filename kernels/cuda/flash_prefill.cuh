// Attention of many queries by tensor cores: a block has 64 query rows of one head, a warp 16 of
// them; keys and values come in tiles through a pipeline of two stages. Which problems it takes:
// flash_prefill.h.
#pragma once

#include "kernels/cuda/flash_core.cuh"
#include "kernels/cuda/flash_prefill_shape.h"

namespace engine::cuda {

template <class T, int kWidth> struct PrefillTiles {
  using Shape = PrefillShape<kWidth>;
  T *queries;
  T *keys;   // two stages
  T *values; // likewise

  ENGINE_DEVICE PrefillTiles()
      : queries(reinterpret_cast<T *>(prim::sharedMemory())), keys(queries + Shape::kRows * kWidth),
        values(keys + 2 * Shape::kKeys * kWidth) {}
  ENGINE_DEVICE T *keyStage(int i) const { return keys + (i & 1) * Shape::kKeys * kWidth; }
  ENGINE_DEVICE T *valueStage(int i) const { return values + (i & 1) * Shape::kKeys * kWidth; }
};

// The 64 rows from row0 on of head h of entry b.
template <class T, int kWidth>
ENGINE_DEVICE void prefillRows(const SdpaArgs &a, int64_t b, int64_t h, int row0) {
  using Shape = PrefillShape<kWidth>;
  constexpr int kKeys = Shape::kKeys;
  constexpr int kThreads = Shape::kThreads;
  const PrefillTiles<T, kWidth> tiles;
  const int thread = prim::threadIndex();
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int g = lane / 4;
  const int t = lane % 4;
  const int64_t kvHead = h / a.group();
  const SdpaEntry e = a.entry(b);
  const RowSource<T> queries = rowSource<T>(a.q, a.q, b, h, INT64_MAX);
  const RowSource<T> keys = rowSource<T>(a.k, a.kNew, b, kvHead, e.split);
  const RowSource<T> values = rowSource<T>(a.v, a.vNew, b, kvHead, e.split);

  const int64_t wanted = row0 + Shape::kRows < a.queries ? row0 + Shape::kRows : a.queries;
  const int64_t rowEnd = wanted < e.queryLen ? wanted : e.queryLen;
  const KeyRange range = e.frame.unionRange(row0, rowEnd);
  const KeyRange common = e.frame.commonRange(row0, rowEnd);
  const bool everyElement = a.bias.data || a.mask.data;
  const int first = static_cast<int>(range.lo / kKeys);
  const int last = static_cast<int>((range.hi + kKeys - 1) / kKeys);
  const int rowOfLane = row0 + 16 * warp + g;
  const QueryRow rows[2] = {queryRow(a, e, b, h, rowOfLane), queryRow(a, e, b, h, rowOfLane + 8)};
  const int steps = (a.headSize + 15) / 16;
  const int vSteps = (a.vHeadSize + 15) / 16;

  const auto copyKeys = [&](int tile) {
    copyTile<T, kWidth, kKeys, kThreads>(tiles.keyStage(tile), keys, int64_t{tile} * kKeys,
                                         range.hi, a.headSize, thread);
  };
  const auto copyValues = [&](int tile) {
    copyTile<T, kWidth, kKeys, kThreads>(tiles.valueStage(tile), values, int64_t{tile} * kKeys,
                                         range.hi, a.vHeadSize, thread);
  };
  RowState<kWidth> state;
  clear(state);
  if (first < last) {
    copyTile<T, kWidth, Shape::kRows, kThreads>(tiles.queries, queries, row0, a.queries, a.headSize,
                                                thread);
    copyKeys(first);
    prim::commitCopies();
    copyValues(first);
    prim::commitCopies();
  }
  for (int tile = first; tile < last; ++tile) {
    prim::waitCopies<1>(); // the keys are there, the values may be on their way
    prim::syncBlock();     // for everybody; and everybody is done with the tile before
    if (tile + 1 < last)
      copyKeys(tile + 1);
    prim::commitCopies();
    float s[kKeys / 8][4];
    scoreTile<T, kWidth, kKeys>(s, tiles.queries + 16 * warp * kWidth, tiles.keyStage(tile), steps,
                                lane);
    capTile(s, a.scale, a.softcap);
    const int key0 = tile * kKeys;
    uint32_t seen = ~0u;
    if (everyElement || key0 < common.lo || key0 + kKeys > common.hi)
      seen = maskTile(s, a, rows, key0, t);
    softmaxTile(s, state);
    prim::waitCopies<1>(); // the values are there, the next keys may be on their way
    prim::syncBlock();
    if (tile + 1 < last)
      copyValues(tile + 1);
    prim::commitCopies();
    accumulateTile<T, kWidth, kKeys>(state, s, tiles.valueStage(tile), vSteps, seen, lane);
  }
  prim::waitCopies<0>();
  prim::syncBlock(); // the next rows of this block use the same memory

  const float sink = sinkOf(a, h);
  T *out = static_cast<T *>(a.out.data) + b * a.out.batch + h * a.out.head;
  ENGINE_UNROLL
  for (int r = 0; r < 2; ++r) {
    const int row = rowOfLane + 8 * r;
    const float sum = rowSum(state.sum[r]);
    if (row >= a.queries)
      continue;
    const bool hasKey = rows[r].lo < rows[r].hi && sum != 0.0f;
    const float factor = hasKey ? finalFactor({state.max[r], sum}, sink) : 0.0f;
    ENGINE_UNROLL
    for (int i = 0; i < kWidth / 8; ++i) {
      const int channel = 8 * i + 2 * t;
      if (channel >= a.vHeadSize)
        break;
      // By select: a row without a key may have met another row's NaN.
      const float low = hasKey ? state.out[i][2 * r] * factor : 0.0f;
      const float high = hasKey ? state.out[i][2 * r + 1] * factor : 0.0f;
      *reinterpret_cast<uint32_t *>(out + row * a.out.row + channel) = prim::pack2<T>(low, high);
    }
  }
}

template <class T, int kWidth> ENGINE_DEVICE void flashPrefill(const SdpaArgs &a) {
  constexpr int kRows = PrefillShape<kWidth>::kRows;
  const int tiles = (a.queries + kRows - 1) / kRows;
  const int64_t items = static_cast<int64_t>(tiles) * a.heads * a.batch;
  for (int64_t item = prim::blockIndex().x; item < items; item += prim::gridSize().x) {
    const int row0 = static_cast<int>(item % tiles) * kRows;
    const int64_t head = item / tiles % a.heads;
    prefillRows<T, kWidth>(a, item / tiles / a.heads, head, row0);
  }
}

} // namespace engine::cuda
