// Inside the CPU attention kernel: what a tile is, and the operations on tiles that exist once per
// instruction set. Everything around them (attention.cpp) is plain C++.
//
// A row tile is up to kTileRows query rows of all query heads that share one key/value head; a key
// tile is up to kTileKeys key rows. Packed keys and values ("panels") hold one key tile in strips
// of kStrip columns: keys as [strip of keys][channel][kStrip], values as [strip of
// channels][key][kStrip]. The bf16 dot product takes pairs: [strip of keys][channel
// pair][kStrip][2] and [strip of channels][key pair][kStrip][2].
#pragma once

#include "ir/band.h"
#include "ir/view.h"
#include "kernels/isa.h"

#include <cstdint>

namespace engine::cpu::attn {

inline constexpr int kTileRows = 64;
inline constexpr int kTileKeys = 128;
inline constexpr int kStrip = 32;
// Row blocks of the register kernels have 6 or 8 rows; buffers have room for the last block.
inline constexpr int kMinRowBlock = 6;
inline constexpr int kTileRowsPadded = 72;
// Keys that are widened to f32 at a time where the cache cannot be used in place.
inline constexpr int kWidenedKeys = 16;

// Channels of one vector of the bf16 product.
inline constexpr int kBf16Channels = 32;

constexpr int64_t roundUp(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// Columns of a key tile.
struct Span {
  int begin = 0;
  int end = 0;
  bool empty() const { return begin >= end; }
};

// The rows of a row tile: where they live and what they see.
struct RowTile {
  int rows = 0;
  KeyRange range[kTileRows]; // key rows inside the band
  const void *query[kTileRows];
  void *out[kTileRows];
  const void *bias[kTileRows]; // the element of key row 0, or null
  const void *mask[kTileRows]; // likewise, one byte each
  float sink[kTileRows];       // -inf without a sink
  DType biasType = DType::kUndefined;
  int64_t biasStride = 0; // elements from key to key
  int64_t maskStride = 0;
  KeyRange all;    // keys that some row sees
  KeyRange common; // keys that every row sees, before bias and mask

  bool hasElementTests() const { return bias[0] != nullptr || mask[0] != nullptr; }
};

// Running softmax of a row tile: out = sum of exp(logit - max) * value, and sum without the value.
struct RowState {
  float *max;
  float *sum;
  float *out; // [rows][outStride]
  int64_t outStride;
};

// The keys of one step; scores are [kTileRowsPadded][kTileKeys].
struct KeyTile {
  int64_t firstKey = 0; // the key row of column 0
  Span columns;         // the others have no meaning
};

// The columns that the band leaves to a row.
inline Span spanOf(const RowTile &rows, const KeyTile &keys, int row) {
  const KeyRange range = rows.range[row];
  const int64_t lo = range.lo - keys.firstKey;
  const int64_t hi = range.hi - keys.firstKey;
  if (range.empty() || lo >= keys.columns.end || hi <= keys.columns.begin)
    return {keys.columns.begin, keys.columns.begin};
  return {lo > keys.columns.begin ? static_cast<int>(lo) : keys.columns.begin,
          hi < keys.columns.end ? static_cast<int>(hi) : keys.columns.end};
}

// The columns that the rows of each register block need; empty where no row needs any.
struct BlockSpans {
  Span of[kTileRowsPadded / kMinRowBlock];
};

struct SoftmaxStep {
  const RowTile *rows;
  KeyTile keys;
  float scale;
  float softcap;
};

// Scores are computed for whole strips.
constexpr Span wholeStrips(Span columns) {
  return {columns.begin / kStrip * kStrip, (columns.end + kStrip - 1) / kStrip * kStrip};
}

// Whether every row of the tile sees every one of the columns, bias and mask aside.
constexpr bool allSee(const RowTile &rows, const KeyTile &keys, Span columns) {
  return keys.columns.begin <= columns.begin && columns.end <= keys.columns.end &&
         rows.common.lo <= keys.firstKey + columns.begin &&
         keys.firstKey + columns.end <= rows.common.hi;
}

// Channels of one vector of q, k or v. `type` kU8 is the 4-bit cache: two channels a byte, low
// nibble first, stored with 8 added.
struct TileOps {
  // Query rows are kept [row][queryStride(headSize)] in 32-bit words.
  void (*packQuery)(DType type, const void *query, int64_t headSize, const float *keyScale,
                    int64_t keyScaleStride, void *packed);
  // Rows that are null become zero rows; `rows` has kTileKeys entries. `temp` is tempFloats()
  // floats. packValues returns whether all values are finite.
  void (*packKeys)(DType type, const void *const *rows, int64_t headSize, void *panel, float *temp);
  bool (*packValues)(DType type, const void *const *rows, int64_t headSize, void *panel,
                     float *temp);

  int rowBlock; // rows of a register block
  // scores[row][column] = <query row, key column> for whole strips around a block's columns.
  void (*scores)(const void *queries, int rows, const void *keyPanel, int64_t headSize,
                 const BlockSpans &columns, float *scores);
  // Turns dot products into weights exp(logit - new maximum), 0 where hidden, for whole strips, and
  // brings `state` to the new maximum. Returns whether any of `columns` is hidden from any row.
  bool (*softmax)(const SoftmaxStep &step, float *scores, const RowState &state);
  // out += weights * values, for the keys in a block's columns. `temp` is for the weights in
  // another type.
  void (*accumulate)(const float *weights, int rows, const void *valuePanel, int64_t headSize,
                     const BlockSpans &columns, float *out, int64_t outStride, void *temp);

  // The same two products on rows in place, `keyStride` bytes apart, for few query rows. Columns
  // count from 0. `queries` are always f32.
  void (*dotRows)(DType type, const void *keys, int64_t keyStride, int count, int64_t headSize,
                  const void *queries, int rows, float *scores, float *temp);
  void (*addRows)(DType type, const void *values, int64_t valueStride, int count, int64_t headSize,
                  const float *weights, int rows, float *out, int64_t outStride, float *temp);

  bool (*allFinite)(const float *values, int64_t count);
  void (*toFloat)(DType type, const void *from, int64_t count, float *to);
  // to = from * factor * channelScale (null: 1). Changes `from`.
  void (*store)(float *from, float factor, const float *channelScale, int64_t channelScaleStride,
                int64_t count, DType type, void *to);
};

constexpr int64_t queryStride(int64_t headSize) { return roundUp(headSize, 16); }
constexpr int64_t outStride(int64_t headSize) { return roundUp(headSize, kStrip); }
constexpr int64_t tempFloats(int64_t headSize) { return kWidenedKeys * roundUp(headSize, kStrip); }
constexpr int64_t keyPanelFloats(int64_t headSize) { return kTileKeys * headSize; }
// The vector behind the values says whether they are all finite.
constexpr int64_t valuePanelFloats(int64_t headSize) {
  return kTileKeys * outStride(headSize) + 16;
}

// `bf16`: queries, keys and values are all bf16, and the bf16 product suits.
const TileOps &tileOps(Isa isa, bool bf16);

// The parts of it (attention_panel.cpp, attention_stream.cpp, attention_avx512bf16.cpp).
void setPanelOps(Isa isa, TileOps &ops);
void setStreamOps(Isa isa, TileOps &ops);
void setBf16Ops(TileOps &ops);

} // namespace engine::cpu::attn
