// Attention of few queries over many keys. A block has all query heads of one KV head, 16 rows of
// (query, head) at a time, and one of `splits` parts of the keys, so that each key is read once; a
// second kernel merges the parts. Each warp runs through its own keys; only the end needs the whole
// block. Which problems it takes: flash_decode.h.
//
// Int8 caches are converted on the way to the registers. Their elements do not lie in the order
// that mma wants, but an order of channels that suits both is free to choose:
//   keys    a lane's four bytes 4t .. 4t + 3 of 16 channels stand for the channels 2t, 2t + 1, 2t +
//   8, 2t + 9 of mma; the queries
//           are put into that order in shared memory (slotOfChannel).
//   values  ldmatrix transposes pairs of bytes; the even and the odd channels of 16 become two
//   tiles of 8 (channelOfValue).
// Scales of keys are multiplied into the queries, scales of values into the result.
#pragma once

#include "kernels/cuda/flash_core.cuh"
#include "kernels/cuda/flash_decode_shape.h"

namespace engine::cuda {

// --- Int8 tiles: rows of kWidth bytes in chunks of 16.

template <int kWidth> ENGINE_DEVICE int byteTileOffset(int row, int chunk) {
  constexpr int kChunks = kWidth / 16;
  const int turn = kChunks % 8 == 0 ? row & 7 : (row >> 1) & 3; // stays inside the row
  return row * kWidth + ((chunk ^ turn) << 4);
}

template <int kWidth, int kRows>
ENGINE_DEVICE void copyByteTile(int8_t *tile, const RowSource<int8_t> &source, int64_t row0,
                                int64_t end, int headSize, int lane) {
  constexpr int kChunks = kWidth / 16;
  ENGINE_UNROLL
  for (int i = lane; i < kRows * kChunks; i += 32) {
    const int row = i / kChunks;
    const int chunk = i % kChunks;
    const bool valid = row0 + row < end && chunk * 16 < headSize;
    const int8_t *from = valid ? source.row(row0 + row) + chunk * 16 : source.first;
    prim::copyAsync16(tile + byteTileOffset<kWidth>(row, chunk), from, valid);
  }
}

ENGINE_DEVICE float signedByte(uint32_t word, int i) {
  return static_cast<float>(static_cast<int8_t>(word >> (8 * i)));
}

// Where channel c of a head lies among the channels of mma's steps.
ENGINE_DEVICE int slotOfChannel(int c) {
  const int t = (c >> 2) & 3;
  return (c & ~15) + 2 * t + (c & 1) + ((c & 2) << 2);
}

template <class T, int kWidth>
ENGINE_DEVICE void scoreByteTile(float (&s)[2][4], const T *queries, const int8_t *keys, int steps,
                                 int lane) {
  const int g = lane / 4;
  const int t = lane % 4;
  ENGINE_UNROLL
  for (int e = 0; e < 4; ++e)
    s[0][e] = s[1][e] = 0.0f;
  ENGINE_UNROLL
  for (int k = 0; k < kWidth / 16; ++k) {
    if (k >= steps)
      break;
    uint32_t a[4];
    prim::ldmatrix4(a, queries + tileOffset<kWidth>(lane & 15, 2 * k + (lane >> 4)));
    ENGINE_UNROLL
    for (int n = 0; n < 2; ++n) {
      const int8_t *from = keys + byteTileOffset<kWidth>(8 * n + g, k) + 4 * t;
      const uint32_t word = *reinterpret_cast<const uint32_t *>(from);
      const uint32_t low = prim::pack2<T>(signedByte(word, 0), signedByte(word, 1));
      const uint32_t high = prim::pack2<T>(signedByte(word, 2), signedByte(word, 3));
      prim::mma16816<T>(s[n], a, low, high);
    }
  }
}

template <class T, int kWidth>
ENGINE_DEVICE void accumulateByteTile(RowState<kWidth> &state, const float (&s)[2][4],
                                      const int8_t *values, int steps, int lane) {
  const uint32_t a[4] = {prim::pack2<T>(s[0][0], s[0][1]), prim::pack2<T>(s[0][2], s[0][3]),
                         prim::pack2<T>(s[1][0], s[1][1]), prim::pack2<T>(s[1][2], s[1][3])};
  ENGINE_UNROLL
  for (int n = 0; n < kWidth / 16; ++n) {
    if (n >= steps)
      break;
    uint32_t pairs[2];
    prim::ldmatrix2Transposed(pairs, values + byteTileOffset<kWidth>(lane & 15, n));
    ENGINE_UNROLL
    for (int odd = 0; odd < 2; ++odd) {
      const uint32_t low = prim::pack2<T>(signedByte(pairs[0], odd), signedByte(pairs[0], 2 + odd));
      const uint32_t high =
          prim::pack2<T>(signedByte(pairs[1], odd), signedByte(pairs[1], 2 + odd));
      prim::mma16816<T>(state.out[2 * n + odd], a, low, high);
    }
  }
}

// --- What differs between the caches.

template <class T, class C> struct CacheTile;

template <class T> struct CacheTile<T, T> {
  template <int kWidth>
  ENGINE_DEVICE static void copy(T *tile, const RowSource<T> &source, int64_t row0, int64_t end,
                                 int headSize, int lane) {
    copyTile<T, kWidth, 16, 32>(tile, source, row0, end, headSize, lane);
  }
  template <int kWidth>
  ENGINE_DEVICE static void score(float (&s)[2][4], const T *queries, const T *keys, int steps,
                                  int lane) {
    scoreTile<T, kWidth, 16>(s, queries, keys, steps, lane);
  }
  template <int kWidth>
  ENGINE_DEVICE static void accumulate(RowState<kWidth> &state, const float (&s)[2][4],
                                       const T *values, int steps, uint32_t seen, int lane) {
    accumulateTile<T, kWidth, 16>(state, s, values, steps, seen, lane);
  }
  ENGINE_DEVICE static int channelOfValue(int tile, int t, int column) {
    return 8 * tile + 2 * t + column;
  }
};

template <class T> struct CacheTile<T, int8_t> {
  template <int kWidth>
  ENGINE_DEVICE static void copy(int8_t *tile, const RowSource<int8_t> &source, int64_t row0,
                                 int64_t end, int headSize, int lane) {
    copyByteTile<kWidth, 16>(tile, source, row0, end, headSize, lane);
  }
  template <int kWidth>
  ENGINE_DEVICE static void score(float (&s)[2][4], const T *queries, const int8_t *keys, int steps,
                                  int lane) {
    scoreByteTile<T, kWidth>(s, queries, keys, steps, lane);
  }
  // No code is a NaN, so hidden values need no care.
  template <int kWidth>
  ENGINE_DEVICE static void accumulate(RowState<kWidth> &state, const float (&s)[2][4],
                                       const int8_t *values, int steps, uint32_t, int lane) {
    accumulateByteTile<T, kWidth>(state, s, values, steps, lane);
  }
  ENGINE_DEVICE static int channelOfValue(int tile, int t, int column) {
    return (tile >> 1) * 16 + 4 * t + 2 * column + (tile & 1);
  }
};

// The largest scale of the head's keys, or the only one; the same in all lanes.
ENGINE_DEVICE float keyScale(const SdpaArgs &a, int64_t kvHead, int lane) {
  if (!a.kScale)
    return 1.0f;
  if (!a.perChannel)
    return a.kScale[0];
  float scale = 0.0f;
  for (int c = lane; c < a.headSize; c += 32)
    scale = larger(scale, prim::absolute(a.kScale[kvHead * a.headSize + c]));
  ENGINE_UNROLL
  for (int step = 16; step > 0; step /= 2)
    scale = larger(scale, prim::shuffleXor(scale, step));
  return scale == 0.0f ? 1.0f : scale;
}

// One block's share: 16 rows from row0 on of a KV head, one part of the keys.
struct DecodeItem {
  int64_t b;
  int64_t kvHead;
  int row0;
  int part;
};

struct DecodeRow {
  int64_t head;
  int64_t query;
};
ENGINE_DEVICE DecodeRow decodeRow(const SdpaArgs &a, int64_t kvHead, int row) {
  return {kvHead * a.group() + row % a.group(), row / a.group()};
}

template <class T, class C, int kWidth>
ENGINE_DEVICE void loadQueries(T *tile, const SdpaArgs &a, const DecodeItem &item, float scale) {
  constexpr int kRows = 16;
  const int rows = a.group() * a.queries;
  for (int i = prim::threadIndex(); i < kRows * kWidth; i += prim::threadCount()) {
    const int r = i / kWidth;
    const int c = i % kWidth;
    T value = prim::fromFloat<T>(0.0f);
    if (item.row0 + r < rows && c < a.headSize) {
      const DecodeRow row = decodeRow(a, item.kvHead, item.row0 + r);
      value = static_cast<const T *>(
          a.q.data)[item.b * a.q.batch + row.head * a.q.head + row.query * a.q.row + c];
      if (a.kScale && a.perChannel)
        value = prim::fromFloat<T>(prim::toFloat(value) * a.kScale[item.kvHead * a.headSize + c] /
                                   scale);
    }
    const int slot = sizeof(C) == 1 ? slotOfChannel(c) : c;
    tile[tileOffset<kWidth>(r, slot / 8) + slot % 8] = value;
  }
}

// The warps' states become one in shared memory, and the block writes it as a partial result.
template <class T, class C, int kWidth>
ENGINE_DEVICE void writePart(const DecodeArgs &d, const DecodeItem &item,
                             const RowState<kWidth> &state) {
  using Shape = DecodeShape<kWidth, sizeof(C)>;
  const SdpaArgs &a = d.sdpa;
  float *stats = reinterpret_cast<float *>(prim::sharedMemory()); // [warp][row][2]
  float *out = stats + Shape::kWarps * Shape::kRows * 2;          // [warp][row][channel]
  const int warp = prim::threadIndex() / 32;
  const int lane = prim::threadIndex() % 32;
  const int t = lane % 4;
  ENGINE_UNROLL
  for (int r = 0; r < 2; ++r) {
    const int row = warp * Shape::kRows + lane / 4 + 8 * r;
    const float sum = rowSum(state.sum[r]);
    if (t == 0) {
      stats[2 * row] = state.max[r];
      stats[2 * row + 1] = sum;
    }
    ENGINE_UNROLL
    for (int i = 0; i < kWidth / 8; ++i) {
      ENGINE_UNROLL
      for (int c = 0; c < 2; ++c)
        out[row * kWidth + CacheTile<T, C>::channelOfValue(i, t, c)] = state.out[i][2 * r + c];
    }
  }
  prim::syncBlock();
  const int rows = a.group() * a.queries;
  const int end = rows - item.row0 < Shape::kRows ? rows - item.row0 : Shape::kRows;
  for (int i = prim::threadIndex(); i < end * a.vHeadSize; i += Shape::kThreads) {
    const int r = i / a.vHeadSize;
    const int c = i % a.vHeadSize;
    SoftmaxPart part{stats[2 * r], stats[2 * r + 1]};
    float value = out[r * kWidth + c];
    for (int w = 1; w < Shape::kWarps; ++w) {
      const int row = w * Shape::kRows + r;
      const SoftmaxMerge merge = mergeParts(part, {stats[2 * row], stats[2 * row + 1]});
      value = value * merge.keep + out[row * kWidth + c] * merge.add;
      part = merge.part;
    }
    const DecodeRow row = decodeRow(a, item.kvHead, item.row0 + r);
    const int64_t at =
        ((item.b * a.heads + row.head) * a.queries + row.query) * d.splits + item.part;
    d.out[at * a.vHeadSize + c] = value;
    if (c == 0) {
      d.stats[2 * at] = part.max;
      d.stats[2 * at + 1] = part.sum;
    }
  }
}

template <class T, class C, int kWidth>
ENGINE_DEVICE void decodeItem(const DecodeArgs &d, const DecodeItem &item) {
  using Shape = DecodeShape<kWidth, sizeof(C)>;
  using Tile = CacheTile<T, C>;
  constexpr int kStages = Shape::kStages;
  constexpr int kKeys = Shape::kKeys;
  const SdpaArgs &a = d.sdpa;
  const int warp = prim::threadIndex() / 32;
  const int lane = prim::threadIndex() % 32;
  const SdpaEntry e = a.entry(item.b);
  const RowSource<C> keys = rowSource<C>(a.k, a.kNew, item.b, item.kvHead, e.split);
  const RowSource<C> values = rowSource<C>(a.v, a.vNew, item.b, item.kvHead, e.split);
  T *queries = reinterpret_cast<T *>(prim::sharedMemory());
  C *ring = reinterpret_cast<C *>(prim::sharedMemory() + Shape::kQueryBytes) +
            warp * kStages * 2 * Shape::kKeysOfWarp * kWidth;
  const auto keyStage = [&](int stage) { return ring + stage * 2 * Shape::kKeysOfWarp * kWidth; };
  const auto valueStage = [&](int stage) { return keyStage(stage) + Shape::kKeysOfWarp * kWidth; };

  // The keys that the block's rows see, in tiles, and this part's share of the tiles.
  const int rowCount = a.group() * a.queries;
  const int lastRow =
      (item.row0 + Shape::kRows < rowCount ? item.row0 + Shape::kRows : rowCount) - 1;
  const int64_t firstQuery = item.row0 / a.group();
  const int64_t wanted = lastRow / a.group() + 1;
  const int64_t endQuery = wanted < e.queryLen ? wanted : e.queryLen;
  const KeyRange range = e.frame.unionRange(firstQuery, endQuery);
  const KeyRange common = e.frame.commonRange(firstQuery, endQuery);
  const int firstTile = static_cast<int>(range.lo / kKeys);
  const int tilesOfRow = static_cast<int>((range.hi + kKeys - 1) / kKeys) - firstTile;
  const int tilesOfPart = (tilesOfRow + d.splits - 1) / d.splits;
  const int done = item.part * tilesOfPart;
  const int left = tilesOfRow - done;
  const int tiles = left < tilesOfPart ? left : tilesOfPart; // negative: none
  const int key0 = (firstTile + done) * kKeys + warp * Shape::kKeysOfWarp;

  const auto copyStage = [&](int tile, int stage) {
    if (tile < tiles) {
      const int64_t first = key0 + int64_t{tile} * kKeys;
      Tile::template copy<kWidth>(keyStage(stage), keys, first, range.hi, a.headSize, lane);
      Tile::template copy<kWidth>(valueStage(stage), values, first, range.hi, a.vHeadSize, lane);
    }
    prim::commitCopies();
  };
  ENGINE_UNROLL
  for (int stage = 0; stage < kStages - 1; ++stage)
    copyStage(stage, stage);

  const float scale = keyScale(a, item.kvHead, lane);
  loadQueries<T, C, kWidth>(queries, a, item, scale);
  QueryRow rows[2];
  for (int r = 0; r < 2; ++r) {
    const int row = item.row0 + lane / 4 + 8 * r;
    const DecodeRow at = decodeRow(a, item.kvHead, row < rowCount ? row : 0);
    if (row < rowCount)
      rows[r] = queryRow(a, e, item.b, at.head, at.query);
  }
  RowState<kWidth> state;
  clear(state);
  const bool everyElement = a.bias.data || a.mask.data;
  const int steps = (a.headSize + 15) / 16;
  const int vSteps = (a.vHeadSize + 15) / 16;
  prim::syncBlock();

  int stage = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    prim::waitCopies<kStages - 2>();
    prim::syncWarp(); // the tile is there for all lanes; and all are done with the one before
    copyStage(tile + kStages - 1, stage == 0 ? kStages - 1 : stage - 1);
    float s[2][4];
    Tile::template score<kWidth>(s, queries, keyStage(stage), steps, lane);
    capTile(s, a.scale * scale, a.softcap);
    const int first = key0 + tile * kKeys;
    uint32_t seen = ~0u;
    if (everyElement || first < common.lo || first + Shape::kKeysOfWarp > common.hi)
      seen = maskTile(s, a, rows, first, lane % 4);
    softmaxTile(s, state);
    Tile::template accumulate<kWidth>(state, s, valueStage(stage), vSteps, seen, lane);
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }
  prim::waitCopies<0>();
  prim::syncBlock(); // all warps are done with the memory that the results meet in
  writePart<T, C, kWidth>(d, item, state);
  prim::syncBlock();
}

template <class T, class C, int kWidth> ENGINE_DEVICE void flashDecode(const DecodeArgs &d) {
  constexpr int kRows = DecodeShape<kWidth, sizeof(C)>::kRows;
  const SdpaArgs &a = d.sdpa;
  const int rowTiles = (a.group() * a.queries + kRows - 1) / kRows;
  const int64_t items = static_cast<int64_t>(d.splits) * rowTiles * a.kvHeads * a.batch;
  for (int64_t i = prim::blockIndex().x; i < items; i += prim::gridSize().x) {
    DecodeItem item;
    item.part = static_cast<int>(i % d.splits);
    item.row0 = static_cast<int>(i / d.splits % rowTiles) * kRows;
    item.kvHead = i / d.splits / rowTiles % a.kvHeads;
    item.b = i / d.splits / rowTiles / a.kvHeads;
    decodeItem<T, C, kWidth>(d, item);
  }
}

// The parts of each row become the output; a block has one row at a time.
template <class T> ENGINE_DEVICE void flashDecodeMerge(const DecodeArgs &d) {
  const SdpaArgs &a = d.sdpa;
  const int64_t rows = static_cast<int64_t>(a.batch) * a.heads * a.queries;
  for (int64_t row = prim::blockIndex().x; row < rows; row += prim::gridSize().x) {
    const int64_t i = row % a.queries;
    const int64_t h = row / a.queries % a.heads;
    const int64_t b = row / a.queries / a.heads;
    const bool valid = i < a.entry(b).queryLen;
    const float sink = sinkOf(a, h);
    T *out = static_cast<T *>(a.out.data) + b * a.out.batch + h * a.out.head + i * a.out.row;
    for (int c = prim::threadIndex(); c < a.vHeadSize; c += prim::threadCount()) {
      SoftmaxPart part{minusInfinity(), 0.0f};
      float value = 0.0f;
      for (int s = 0; s < d.splits; ++s) {
        const int64_t at = row * d.splits + s;
        const SoftmaxMerge merge = mergeParts(part, {d.stats[2 * at], d.stats[2 * at + 1]});
        value = value * merge.keep + d.out[at * a.vHeadSize + c] * merge.add;
        part = merge.part;
      }
      if (a.vScale)
        value *= a.vScale[a.perChannel ? h / a.group() * a.vHeadSize + c : 0];
      // By select: a row without a key may have met another row's NaN. Rows beyond queryLen may
      // have met any key.
      const float result = !valid || part.sum == 0.0f ? 0.0f : value * finalFactor(part, sink);
      out[c] = prim::fromFloat<T>(result);
    }
  }
}

} // namespace engine::cuda
