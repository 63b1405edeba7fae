#include "kernels/cpu/attention_plan.h"

#include "kernels/cpu/attention_merge.h"

#include <cstring>
#include <limits>

namespace engine::cpu::attn {

Worker::Worker(const Shape &shape, Arena &arena)
    : queries(arena.take(kTileRowsPadded * queryStride(shape.headSize))),
      scores(arena.take(kTileRowsPadded * kTileKeys)),
      out(arena.take(kTileRowsPadded * outStride(shape.vHeadSize))),
      saved(arena.take(kTileRowsPadded * outStride(shape.vHeadSize))),
      max(arena.take(kTileRowsPadded)), sum(arena.take(kTileRowsPadded)),
      temp(arena.take(std::max<int64_t>(kTileRowsPadded * kTileKeys,
                                        tempFloats(std::max(shape.headSize, shape.vHeadSize))))) {}

int64_t splitCount(const Shape &shape, int threads) {
  if (threads <= 1 || shape.kvRows() == 0)
    return 1;
  const int64_t wanted = (kItemsPerThread * threads + shape.kvRows() - 1) / shape.kvRows();
  return std::clamp<int64_t>(shape.keys / kMinSplitKeys, 1, wanted);
}

int64_t partFloats(const Shape &shape) {
  const int64_t rows = std::min(kStreamRows, shape.group * shape.queries);
  return rows * (outStride(shape.vHeadSize) + 2);
}

int64_t kvRowsPerWave(const Shape &shape, int threads) {
  const int64_t bytes = std::max<int64_t>(1, shape.kvRowBytes());
  const int64_t fitting = std::max<int64_t>(kPanelBudget / bytes, threads);
  return std::min(fitting, shape.kvRows());
}

RowState stateOf(const Run &run, const Worker &worker) {
  return {worker.max, worker.sum, worker.out, outStride(run.shape.vHeadSize)};
}

void beginTile(const Run &run, const RowBlock &block, const SdpaEntry &entry, RowTile &tile,
               Worker &worker) {
  fillRowTile(run.problem, entry, block, tile);
  const int64_t kvHead = block.headBegin / run.shape.group;
  const ChannelScale scale = channelScale(run.problem.kScale, kvHead, run.shape.headSize);
  for (int r = 0; r < tile.rows; ++r) {
    run.ops.packQuery(run.problem.q.dtype, tile.query[r], run.shape.headSize, scale.data,
                      scale.stride, worker.queries + r * queryStride(run.shape.headSize));
    worker.max[r] = -std::numeric_limits<float>::infinity();
    worker.sum[r] = 0;
  }
  std::fill_n(worker.out, tile.rows * outStride(run.shape.vHeadSize), 0.0f);
}

void addVisibleValues(const Run &run, const RowTile &tile, const KeyTile &keys,
                      const KeyRows &values, Worker &worker) {
  const int64_t width = run.shape.vHeadSize;
  const RowState state = stateOf(run, worker);
  for (int c = keys.columns.begin; c < keys.columns.end; ++c) {
    run.ops.toFloat(values.type, values.row(keys.firstKey + c), width, worker.temp);
    for (int r = 0; r < tile.rows; ++r) {
      if (!isVisible(tile, r, keys.firstKey + c))
        continue;
      const float weight = worker.scores[r * kTileKeys + c];
      float *out = state.out + r * state.outStride;
      for (int64_t x = 0; x < width; ++x)
        out[x] += weight * worker.temp[x];
    }
  }
}

void finishRow(const Run &run, const RowTile &tile, int row, int64_t kvHead, float max, float sum,
               float *out) {
  const View &target = run.problem.out;
  const int64_t width = run.shape.vHeadSize;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  if (sum == 0 && max == kLowest && !seesAnyKey(tile, row)) {
    std::memset(tile.out[row], 0, width * elementBytes(target.dtype));
    return;
  }
  SoftmaxPart part = {max, sum, out};
  if (tile.sink[row] != kLowest)
    mergeParts({tile.sink[row], 1, nullptr}, width, part);
  const ChannelScale scale = channelScale(run.problem.vScale, kvHead, width);
  run.ops.store(out, 1 / part.sum, scale.data, scale.stride, width, target.dtype, tile.out[row]);
}

} // namespace engine::cpu::attn
