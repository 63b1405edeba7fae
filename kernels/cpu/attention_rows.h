// Where the rows of an attention problem live: the address arithmetic of the CPU kernel.
#pragma once

#include "kernels/cpu/attention_tile.h"
#include "kernels/sdpa_problem.h"

namespace engine::cpu::attn {

inline int64_t elementBytes(DType type) { return dtypeInfo(type).bits / 8; }

// Address of element (b, h, i, c) of a rank-4 view.
inline char *addressOf(const View &view, int64_t b, int64_t h, int64_t i, int64_t c) {
  const int64_t offset =
      b * view.strides[0] + h * view.strides[1] + i * view.strides[2] + c * view.strides[3];
  return static_cast<char *>(view.data) + offset * elementBytes(view.dtype);
}

// The key or value rows of one batch entry and key/value head, in up to two segments.
struct KeyRows {
  DType type = DType::kUndefined;
  int64_t split = 0; // rows below it are in the first segment
  const char *first = nullptr;
  const char *second = nullptr; // address of row `split`
  int64_t firstStride = 0;      // bytes
  int64_t secondStride = 0;

  const char *row(int64_t j) const {
    return j < split ? first + j * firstStride : second + (j - split) * secondStride;
  }
  int64_t stride(int64_t j) const { return j < split ? firstStride : secondStride; }
};

KeyRows keyRows(const View &resident, const View &added, int64_t split, int64_t b, int64_t kvHead);

// Which rows make up a row tile: queries [queryBegin, queryEnd) of heads [headBegin, headEnd).
struct RowBlock {
  int64_t b = 0;
  int64_t headBegin = 0;
  int64_t headEnd = 0;
  int64_t queryBegin = 0;
  int64_t queryEnd = 0;

  int64_t queries() const { return queryEnd - queryBegin; }
  int64_t rows() const { return (headEnd - headBegin) * queries(); }
};

void fillRowTile(const SdpaProblem &problem, const SdpaEntry &entry, const RowBlock &block,
                 RowTile &tile);

BlockSpans blockSpans(const RowTile &tile, const KeyTile &keys, int rowBlock);

// Whether a row sees a key: band, mask and bias.
bool isVisible(const RowTile &tile, int row, int64_t key);
bool seesAnyKey(const RowTile &tile, int row);

// One element of a float view as f32.
float readFloat(DType type, const void *element);

// Of a quantised cache: the scales of one key/value head's channels, or null.
struct ChannelScale {
  const float *data = nullptr;
  int64_t stride = 0;
};
ChannelScale channelScale(const View &scale, int64_t kvHead, int64_t headSize);

} // namespace engine::cpu::attn
