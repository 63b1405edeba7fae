// A graph with its kernels and memory plan: what an executor runs. Immutable; sessions share it.
#pragma once

#include "lowering/kv_state.h"
#include "lowering/plan.h"
#include "lowering/select.h"

#include <functional>
#include <memory>

namespace engine::lowering {

struct CompiledGraph;

struct CompiledNode {
  Selection selection;
  std::vector<std::unique_ptr<Kernel>> kernels;        // one for each selected row
  std::unique_ptr<CompiledGraph> thenGraph, elseGraph; // of an If
};

struct CompiledGraph {
  explicit CompiledGraph(ir::Graph g) : graph(std::move(g)) {}
  CompiledGraph(const CompiledGraph &) = delete;

  const ir::Graph graph;
  std::vector<CompiledNode> nodes;
  MemoryPlan plan;
  std::vector<KvState> states;
  int64_t packedBytes = 0;
};

// Called with each constant of a node whose kernel keeps weights in a layout of its own, as soon as
// it does.
using PackedHook = std::function<void(const ir::ConstData &)>;

// Throws Error for nodes without a kernel and for Unsupported nodes.
std::unique_ptr<CompiledGraph> compile(ir::Graph graph, const SelectOptions &options,
                                       const PackedHook &packed = nullptr);

} // namespace engine::lowering
