#include "lowering/compile.h"

namespace engine::lowering {

namespace {

void refuseUnsupported(const ir::Node &node) {
  if (const auto *unsupported = node.as<ir::Unsupported>())
    throw Error(unsupported->reason).inNode(node.name, node.onnx);
}

CompiledNode compileNode(const ir::Graph &graph, const ir::Node &node, const SelectOptions &options) {
  refuseUnsupported(node);
  CompiledNode compiled;
  compiled.selection = selectKernels(graph, node, options);
  const KernelProblem problem{graph, node, options.kernels};
  for (const KernelRow *row : compiled.selection.rows)
    compiled.kernels.push_back(row->make(problem));
  if (const auto *branch = node.as<ir::If>()) {
    compiled.thenGraph = compile(*branch->thenGraph, options);
    compiled.elseGraph = compile(*branch->elseGraph, options);
  }
  return compiled;
}

} // namespace

std::unique_ptr<CompiledGraph> compile(ir::Graph graph, const SelectOptions &options) {
  auto compiled = std::make_unique<CompiledGraph>(std::move(graph));
  for (const ir::Node &node : compiled->graph.nodes()) {
    compiled->nodes.push_back(compileNode(compiled->graph, node, options));
    for (const auto &kernel : compiled->nodes.back().kernels)
      compiled->packedBytes += kernel->packedBytes();
  }
  compiled->plan = planMemory(compiled->graph);
  compiled->states = findKvStates(compiled->graph);
  return compiled;
}

} // namespace engine::lowering
