// How an attention problem is divided: scratch memory, workers, and the two ways of running it.
#pragma once

#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/attention_tile.h"
#include "kernels/sdpa_problem.h"

#include <algorithm>

namespace engine::cpu::attn {

// Up to this many query rows per key/value head, keys and values are used in place ("streamed");
// above, packing them pays.
inline constexpr int64_t kStreamRows = kTileRows;
// Streaming: no range of keys is cut shorter than this, and there are about so many items a thread.
inline constexpr int64_t kMinSplitKeys = 512;
inline constexpr int64_t kItemsPerThread = 8;
// Packed: panels of as many key/value heads as fit exist at a time, and of one a thread at least.
inline constexpr int64_t kPanelBudget = int64_t{64} << 20;

// Hands out 64-byte aligned parts of the scratch memory; without memory it only counts.
class Arena {
public:
  explicit Arena(void *base) : base_(static_cast<char *>(base)) {}

  float *take(int64_t floats) {
    char *part = base_ ? base_ + used_ : nullptr;
    used_ += roundUp(floats * static_cast<int64_t>(sizeof(float)), 64);
    return reinterpret_cast<float *>(part);
  }
  int64_t used() const { return used_; }

private:
  char *base_;
  int64_t used_ = 0;
};

struct Shape {
  int64_t batch;
  int64_t kvHeads;
  int64_t group;
  int64_t queries;
  int64_t headSize;
  int64_t vHeadSize;
  int64_t keys; // capacity of both segments

  explicit Shape(const SdpaProblem &p)
      : batch(p.batch()), kvHeads(p.kvHeads()), group(p.group()), queries(p.queries()),
        headSize(p.headSize()), vHeadSize(p.vHeadSize()),
        keys(p.k.dims[2] + (p.kNew.present() ? p.kNew.dims[2] : 0)) {}

  bool streams() const { return group * queries <= kStreamRows; }
  int64_t kvRows() const { return batch * kvHeads; } // pairs of batch entry and key/value head
  int64_t panels() const { return (keys + kTileKeys - 1) / kTileKeys; }
  int64_t panelFloats() const { return keyPanelFloats(headSize) + valuePanelFloats(vHeadSize); }
  int64_t kvRowBytes() const { return panels() * panelFloats() * int64_t{sizeof(float)}; }
};

// Buffers of one worker.
struct Worker {
  float *queries; // [kTileRowsPadded][queryStride]
  float *scores;  // [kTileRowsPadded][kTileKeys]
  float *out;     // [kTileRowsPadded][outStride]
  float *saved;   // likewise
  float *max;     // [kTileRowsPadded]
  float *sum;
  float *temp; // tempFloats, or a tile of scores in another type

  Worker() = default;
  Worker(const Shape &shape, Arena &arena);
};

// Everything that a run shares.
struct Run {
  const SdpaProblem &problem;
  Shape shape;
  const TileOps &ops;
  int threads;
};

// Key ranges that a streamed key/value head is cut into.
int64_t splitCount(const Shape &shape, int threads);
// Floats of one item's partial results.
int64_t partFloats(const Shape &shape);
int64_t kvRowsPerWave(const Shape &shape, int threads);

// Sets up a tile: queries packed, state empty.
void beginTile(const Run &run, const RowBlock &block, const SdpaEntry &entry, RowTile &tile,
               Worker &worker);
RowState stateOf(const Run &run, const Worker &worker);

// What is known of a tile's values.
enum class Values : uint8_t { kFinite, kNotFinite, kUnknown };

// After the scores: softmax, then values by `accumulate()`, which adds worker.scores times the
// values of `keys` to worker.out.
template <class Accumulate>
void finishStep(const Run &run, const RowTile &tile, const KeyTile &keys, const KeyRows &rows,
                Values values, Worker &worker, Accumulate &&accumulate);

// Adds values key by key, those that a row sees only.
void addVisibleValues(const Run &run, const RowTile &tile, const KeyTile &keys,
                      const KeyRows &values, Worker &worker);

// Writes a row of the output from its final state.
void finishRow(const Run &run, const RowTile &tile, int row, int64_t kvHead, float max, float sum,
               float *out);

void runStreamed(const Run &run, Worker *workers, float *parts);
void runPacked(const Run &run, Worker *workers, float *panels);

// The bf16 product takes keys in pairs, and the other half of a pair may be hidden.
inline bool hasUnevenEnds(const KeyTile &keys) {
  return keys.columns.begin % 2 != 0 || keys.columns.end % 2 != 0;
}

template <class Accumulate>
void finishStep(const Run &run, const RowTile &tile, const KeyTile &keys, const KeyRows &rows,
                Values values, Worker &worker, Accumulate &&accumulate) {
  const RowState state = stateOf(run, worker);
  const SoftmaxStep step = {&tile, keys, run.problem.scale, run.problem.softcap};
  const bool someHidden = run.ops.softmax(step, worker.scores, state) || hasUnevenEnds(keys);
  // Hidden values must not be multiplied, not even by 0, unless they are finite.
  if (!someHidden || values == Values::kFinite)
    return accumulate();
  if (values == Values::kNotFinite)
    return addVisibleValues(run, tile, keys, rows, worker);
  // They almost always are: try, look, and only if need be go key by key.
  const int64_t count = tile.rows * state.outStride;
  std::copy_n(worker.out, count, worker.saved);
  accumulate();
  if (run.ops.allFinite(worker.out, count))
    return;
  std::copy_n(worker.saved, count, worker.out);
  addVisibleValues(run, tile, keys, rows, worker);
}

} // namespace engine::cpu::attn
