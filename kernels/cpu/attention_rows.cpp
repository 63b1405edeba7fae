#include "kernels/cpu/attention_rows.h"

#include "ir/half.h"

#include <algorithm>
#include <limits>

namespace engine::cpu::attn {

KeyRows keyRows(const View &resident, const View &added, int64_t split, int64_t b, int64_t kvHead) {
  KeyRows rows;
  rows.type = resident.dtype;
  rows.split = split;
  rows.first = addressOf(resident, b, kvHead, 0, 0);
  rows.firstStride = resident.strides[2] * elementBytes(resident.dtype);
  if (!added.present()) {
    rows.split = std::numeric_limits<int64_t>::max();
    return rows;
  }
  rows.second = addressOf(added, b, kvHead, 0, 0);
  rows.secondStride = added.strides[2] * elementBytes(added.dtype);
  return rows;
}

namespace {

// The element of column keyStart, so that key rows index from it.
const void *elementRow(const View &view, int64_t b, int64_t h, int64_t i, int64_t keyStart) {
  return view.present() ? addressOf(view, b, h, i, keyStart) : nullptr;
}

float sinkOf(const View &sink, int64_t head) {
  const int64_t offset = head * sink.strides[0] * elementBytes(sink.dtype);
  return readFloat(sink.dtype, sink.as<const char>() + offset);
}

} // namespace

void fillRowTile(const SdpaProblem &problem, const SdpaEntry &entry, const RowBlock &block,
                 RowTile &tile) {
  tile.rows = 0;
  tile.bias[0] = tile.mask[0] = nullptr;
  tile.biasType = problem.bias.dtype;
  tile.biasStride = problem.bias.strides[3];
  tile.maskStride = problem.mask.strides[3];
  tile.all = entry.frame.unionRange(block.queryBegin, block.queryEnd);
  tile.common = entry.frame.commonRange(block.queryBegin, block.queryEnd);
  const int64_t keyStart = entry.frame.keyStart;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  // Queries outside: rows of a register block then see nearly the same keys.
  for (int64_t i = block.queryBegin; i < block.queryEnd; ++i) {
    const KeyRange range = entry.frame.rowRange(i);
    for (int64_t h = block.headBegin; h < block.headEnd; ++h) {
      const int r = tile.rows++;
      tile.range[r] = range;
      tile.query[r] = addressOf(problem.q, block.b, h, i, 0);
      tile.out[r] = addressOf(problem.out, block.b, h, i, 0);
      tile.bias[r] = elementRow(problem.bias, block.b, h, i, keyStart);
      tile.mask[r] = elementRow(problem.mask, block.b, h, i, keyStart);
      tile.sink[r] = problem.sink.present() ? sinkOf(problem.sink, h) : kLowest;
    }
  }
}

float readFloat(DType type, const void *element) {
  switch (type) {
  case DType::kF16:
    return static_cast<float>(*static_cast<const Half *>(element));
  case DType::kBF16:
    return static_cast<float>(*static_cast<const BFloat16 *>(element));
  default:
    return *static_cast<const float *>(element);
  }
}

BlockSpans blockSpans(const RowTile &tile, const KeyTile &keys, int rowBlock) {
  BlockSpans spans;
  for (int first = 0; first < tile.rows; first += rowBlock) {
    Span all = {kTileKeys, 0};
    for (int r = first; r < std::min(first + rowBlock, tile.rows); ++r) {
      const Span one = spanOf(tile, keys, r);
      if (!one.empty())
        all = {std::min(all.begin, one.begin), std::max(all.end, one.end)};
    }
    spans.of[first / rowBlock] = all.empty() ? Span{} : all;
  }
  return spans;
}

bool isVisible(const RowTile &tile, int row, int64_t key) {
  if (!tile.range[row].contains(key))
    return false;
  if (tile.mask[row] && !static_cast<const uint8_t *>(tile.mask[row])[key * tile.maskStride])
    return false;
  if (!tile.bias[row])
    return true;
  const int64_t offset = key * tile.biasStride * elementBytes(tile.biasType);
  const float bias = readFloat(tile.biasType, static_cast<const char *>(tile.bias[row]) + offset);
  return bias != -std::numeric_limits<float>::infinity();
}

bool seesAnyKey(const RowTile &tile, int row) {
  const KeyRange range = tile.range[row];
  for (int64_t key = range.lo; key < range.hi; ++key) {
    if (isVisible(tile, row, key))
      return true;
  }
  return false;
}

ChannelScale channelScale(const View &scale, int64_t kvHead, int64_t headSize) {
  if (!scale.present())
    return {};
  const float *data = scale.as<const float>();
  if (scale.count() == 1)
    return {data, 0};
  const int64_t stride = scale.strides[scale.rank - 1];
  return {data + kvHead * headSize * stride, stride};
}

} // namespace engine::cpu::attn
