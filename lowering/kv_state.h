// Caches. A *state* is a graph input that a session can keep in place between runs:
//   - its last use is as the cache of a KvWrite (or KvEvict), and
//   - the result of that node is a graph output.
#pragma once

#include "ir/graph.h"

namespace engine::lowering {

// Rewrites to KvWrite what exporters that know no cache operator write, where a graph input becomes
// a graph output:
//   Concat(past, new), if nothing else reads `past`
//   Transpose(ScatterND(Transpose(cache), rows, updates)) with rows start, start + 1, ...
//   (index_copy), if it is certain that they do not go around the cache's end
ir::Graph recognizeKvStates(const ir::Graph &graph);

struct KvState {
  ir::ValueId input;
  ir::ValueId result; // of the node
  size_t node;        // index of the KvWrite or KvEvict
  size_t output;      // index of the graph output that is `result`
  int64_t axis;       // of the rows
  bool grows;         // the input's rows are a symbol: more of them after each step
  int64_t window = 0; // of a KvEvict: rows that the cache must hold at least; 0: a KvWrite
  ir::Shape update;   // of the rows that are written
};

// In order of the graph's inputs.
std::vector<KvState> findKvStates(const ir::Graph &graph);

} // namespace engine::lowering
