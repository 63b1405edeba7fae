// Many query rows per key/value head (prefill): keys are transposed and values laid out in strips
// once for all of them, then every row tile walks the panels that its band reaches.
#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/parallel.h"

namespace engine::cpu::attn {

namespace {

// How a key/value head's query rows are cut into row tiles: as many heads as fit, so that a tile
// spans few queries and wastes little along the edges of the band.
struct Tiling {
  int64_t headChunk;
  int64_t headChunks;
  int64_t queryChunk;
  int64_t queryChunks;

  explicit Tiling(const Shape &shape) {
    headChunks = (shape.group + kTileRows - 1) / kTileRows;
    headChunk = (shape.group + headChunks - 1) / headChunks;
    queryChunk = kTileRows / headChunk;
    queryChunks = (shape.queries + queryChunk - 1) / queryChunk;
  }
  int64_t tiles() const { return headChunks * queryChunks; }

  // The last queries come first: under a causal band they take longest.
  RowBlock block(const Shape &shape, const SdpaEntry &entry, int64_t kvRow, int64_t tile) const {
    const int64_t firstHead = kvRow % shape.kvHeads * shape.group;
    const int64_t chunk = tile % headChunks;
    const int64_t query = (queryChunks - 1 - tile / headChunks) * queryChunk;
    RowBlock block;
    block.b = kvRow / shape.kvHeads;
    block.headBegin = firstHead + chunk * headChunk;
    block.headEnd = std::min(block.headBegin + headChunk, firstHead + shape.group);
    block.queryBegin = query;
    block.queryEnd = std::min(query + queryChunk, entry.queryLen);
    return block;
  }
};

// The panels of the key/value heads [firstKvRow, ...) of a wave.
struct Panels {
  float *base;
  int64_t firstKvRow;

  float *keys(const Shape &shape, int64_t kvRow, int64_t panel) const {
    return base + ((kvRow - firstKvRow) * shape.panels() + panel) * shape.panelFloats();
  }
  float *values(const Shape &shape, int64_t kvRow, int64_t panel) const {
    return keys(shape, kvRow, panel) + keyPanelFloats(shape.headSize);
  }
  float &allFinite(const Shape &shape, int64_t kvRow, int64_t panel) const {
    return keys(shape, kvRow, panel)[shape.panelFloats() - 1];
  }
};

// Rows [panel * kTileKeys, ...) that are in `range`; null elsewhere.
void rowPointers(const KeyRows &rows, int64_t panel, KeyRange range, const void **pointers) {
  for (int i = 0; i < kTileKeys; ++i) {
    const int64_t key = panel * kTileKeys + i;
    pointers[i] = range.contains(key) ? rows.row(key) : nullptr;
  }
}

void packPanel(const Run &run, const Panels &panels, int64_t kvRow, int64_t panel, float *temp) {
  const SdpaProblem &p = run.problem;
  const Shape &shape = run.shape;
  const int64_t b = kvRow / shape.kvHeads;
  const int64_t kvHead = kvRow % shape.kvHeads;
  const SdpaEntry entry = p.entry(b);
  const KeyRange used = entry.frame.unionRange(0, entry.queryLen);
  if (used.empty() || used.hi <= panel * kTileKeys || used.lo >= (panel + 1) * kTileKeys)
    return;
  const void *rows[kTileKeys];
  rowPointers(keyRows(p.k, p.kNew, entry.split, b, kvHead), panel, used, rows);
  run.ops.packKeys(p.k.dtype, rows, shape.headSize, panels.keys(shape, kvRow, panel), temp);
  rowPointers(keyRows(p.v, p.vNew, entry.split, b, kvHead), panel, used, rows);
  float *values = panels.values(shape, kvRow, panel);
  const bool finite = run.ops.packValues(p.v.dtype, rows, shape.vHeadSize, values, temp);
  panels.allFinite(shape, kvRow, panel) = finite;
}

// The columns of a panel that are in `range`.
Span columnsOf(int64_t panel, KeyRange range) {
  const int64_t first = panel * kTileKeys;
  return {static_cast<int>(std::max<int64_t>(range.lo - first, 0)),
          static_cast<int>(std::min<int64_t>(range.hi - first, kTileKeys))};
}

void runPanel(const Run &run, const RowTile &tile, const Panels &panels, int64_t kvRow,
              int64_t panel, const KeyRows &rows, Worker &worker) {
  const Shape &shape = run.shape;
  const KeyTile keys = {panel * kTileKeys, columnsOf(panel, tile.all)};
  const BlockSpans spans = blockSpans(tile, keys, run.ops.rowBlock);
  run.ops.scores(worker.queries, tile.rows, panels.keys(shape, kvRow, panel), shape.headSize, spans,
                 worker.scores);
  const bool finite = panels.allFinite(shape, kvRow, panel) != 0;
  const Values known = finite ? Values::kFinite : Values::kNotFinite;
  finishStep(run, tile, keys, rows, known, worker, [&] {
    run.ops.accumulate(worker.scores, tile.rows, panels.values(shape, kvRow, panel),
                       shape.vHeadSize, spans, worker.out, outStride(shape.vHeadSize), worker.temp);
  });
}

void runTile(const Run &run, const Tiling &tiling, const Panels &panels, int64_t kvRow,
             int64_t index, Worker &worker) {
  const SdpaProblem &p = run.problem;
  const Shape &shape = run.shape;
  const int64_t kvHead = kvRow % shape.kvHeads;
  const SdpaEntry entry = p.entry(kvRow / shape.kvHeads);
  const RowBlock block = tiling.block(shape, entry, kvRow, index);
  if (block.queries() <= 0)
    return;
  RowTile tile;
  beginTile(run, block, entry, tile, worker);
  const KeyRows values = keyRows(p.v, p.vNew, entry.split, block.b, kvHead);
  for (int64_t panel = tile.all.lo / kTileKeys; panel * kTileKeys < tile.all.hi; ++panel)
    runPanel(run, tile, panels, kvRow, panel, values, worker);
  const int64_t stride = outStride(shape.vHeadSize);
  for (int r = 0; r < tile.rows; ++r)
    finishRow(run, tile, r, kvHead, worker.max[r], worker.sum[r], worker.out + r * stride);
}

} // namespace

void runPacked(const Run &run, Worker *workers, float *panelMemory) {
  const Shape &shape = run.shape;
  const Tiling tiling(shape);
  const int64_t wave = kvRowsPerWave(shape, run.threads);
  for (int64_t first = 0; first < shape.kvRows(); first += wave) {
    const int64_t kvRows = std::min(wave, shape.kvRows() - first);
    const Panels panels = {panelMemory, first};
    const auto pack = [&](int64_t i, int worker) {
      packPanel(run, panels, first + i / shape.panels(), i % shape.panels(), workers[worker].temp);
    };
    parallelFor(kvRows * shape.panels(), run.threads, pack, Schedule::kDynamic);
    const auto compute = [&](int64_t i, int worker) {
      runTile(run, tiling, panels, first + i / tiling.tiles(), i % tiling.tiles(), workers[worker]);
    };
    parallelFor(kvRows * tiling.tiles(), run.threads, compute, Schedule::kDynamic);
  }
}

} // namespace engine::cpu::attn
