// Few query rows per key/value head (decoding): keys and values are read where they are, once for
// all query heads that share them. Heads are cut into key ranges where there are too few of them
// for the threads; the partial results are merged in the order of the ranges.
#include "kernels/cpu/attention_merge.h"
#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/parallel.h"

namespace engine::cpu::attn {

namespace {

// A key/value head's query rows, all of them.
RowBlock rowsOf(const Run &run, const SdpaEntry &entry, int64_t kvRow) {
  const int64_t firstHead = kvRow % run.shape.kvHeads * run.shape.group;
  return {kvRow / run.shape.kvHeads, firstHead, firstHead + run.shape.group, 0, entry.queryLen};
}

// The `index`th of `count` key ranges; ranges are whole tiles but for the last.
KeyRange splitOf(KeyRange all, int64_t index, int64_t count) {
  const int64_t length = roundUp((all.size() + count - 1) / count, kTileKeys);
  const int64_t lo = std::min(all.lo + index * length, all.hi);
  return {lo, std::min(lo + length, all.hi)};
}

void streamTile(const Run &run, const RowTile &tile, const KeyTile &keys, const KeyRows &k,
                const KeyRows &v, Worker &worker) {
  const int count = keys.columns.end;
  run.ops.dotRows(k.type, k.row(keys.firstKey), k.stride(keys.firstKey), count, run.shape.headSize,
                  worker.queries, tile.rows, worker.scores, worker.temp);
  const Values known = isFloat(v.type) ? Values::kUnknown : Values::kFinite;
  finishStep(run, tile, keys, v, known, worker, [&] {
    run.ops.addRows(v.type, v.row(keys.firstKey), v.stride(keys.firstKey), count,
                    run.shape.vHeadSize, worker.scores, tile.rows, worker.out,
                    outStride(run.shape.vHeadSize), worker.temp);
  });
}

// Tiles end at the end of a segment, so that a tile's rows are evenly spaced.
void streamKeys(const Run &run, const RowTile &tile, const SdpaEntry &entry, const RowBlock &block,
                KeyRange range, Worker &worker) {
  const SdpaProblem &p = run.problem;
  const int64_t kvHead = block.headBegin / run.shape.group;
  const KeyRows k = keyRows(p.k, p.kNew, entry.split, block.b, kvHead);
  const KeyRows v = keyRows(p.v, p.vNew, entry.split, block.b, kvHead);
  for (int64_t key = range.lo; key < range.hi;) {
    int64_t end = std::min(key + kTileKeys, range.hi);
    if (key < k.split)
      end = std::min(end, k.split);
    streamTile(run, tile, {key, {0, static_cast<int>(end - key)}}, k, v, worker);
    key = end;
  }
}

// Partial results of an item: max and sum of every row, then the outputs.
struct Parts {
  float *max;
  float *sum;
  float *out;

  Parts(const Run &run, float *parts, int64_t item) {
    const int64_t rows = run.shape.group * run.shape.queries;
    max = parts + item * partFloats(run.shape);
    sum = max + rows;
    out = sum + rows;
  }
};

void savePart(const Run &run, const RowTile &tile, const Worker &worker, const Parts &part) {
  std::copy_n(worker.max, tile.rows, part.max);
  std::copy_n(worker.sum, tile.rows, part.sum);
  std::copy_n(worker.out, tile.rows * outStride(run.shape.vHeadSize), part.out);
}

void runItem(const Run &run, int64_t item, int64_t splits, Worker &worker, float *parts) {
  const int64_t kvRow = item / splits;
  const SdpaEntry entry = run.problem.entry(kvRow / run.shape.kvHeads);
  const RowBlock block = rowsOf(run, entry, kvRow);
  if (block.rows() <= 0)
    return;
  RowTile tile;
  beginTile(run, block, entry, tile, worker);
  streamKeys(run, tile, entry, block, splitOf(tile.all, item % splits, splits), worker);
  if (splits > 1)
    return savePart(run, tile, worker, Parts(run, parts, item));
  const int64_t stride = outStride(run.shape.vHeadSize);
  for (int r = 0; r < tile.rows; ++r)
    finishRow(run, tile, r, kvRow % run.shape.kvHeads, worker.max[r], worker.sum[r],
              worker.out + r * stride);
}

void mergeItems(const Run &run, int64_t kvRow, int64_t splits, float *parts) {
  const SdpaEntry entry = run.problem.entry(kvRow / run.shape.kvHeads);
  const RowBlock block = rowsOf(run, entry, kvRow);
  if (block.rows() <= 0)
    return;
  RowTile tile;
  fillRowTile(run.problem, entry, block, tile);
  const int64_t stride = outStride(run.shape.vHeadSize);
  const Parts first(run, parts, kvRow * splits);
  for (int r = 0; r < tile.rows; ++r) {
    SoftmaxPart row = {first.max[r], first.sum[r], first.out + r * stride};
    for (int64_t s = 1; s < splits; ++s) {
      const Parts other(run, parts, kvRow * splits + s);
      mergeParts({other.max[r], other.sum[r], other.out + r * stride}, stride, row);
    }
    finishRow(run, tile, r, kvRow % run.shape.kvHeads, row.max, row.sum, row.out);
  }
}

} // namespace

void runStreamed(const Run &run, Worker *workers, float *parts) {
  const int64_t splits = splitCount(run.shape, run.threads);
  const auto item = [&](int64_t i, int worker) { runItem(run, i, splits, workers[worker], parts); };
  parallelFor(run.shape.kvRows() * splits, run.threads, item, Schedule::kDynamic);
  if (splits == 1)
    return;
  parallelFor(run.shape.kvRows(), run.threads,
              [&](int64_t kvRow) { mergeItems(run, kvRow, splits, parts); });
}

} // namespace engine::cpu::attn
