#include "lowering/compile.h"

namespace engine::lowering {

namespace {

void refuseUnsupported(const ir::Node &node) {
  if (const auto *unsupported = node.as<ir::Unsupported>())
    throw Error(unsupported->reason).inNode(node.name, node.onnx);
}

void reportConstants(const ir::Graph &graph, const ir::Node &node, const PackedHook &packed) {
  for (ir::ValueId operand : node.operands) {
    const ir::Node *producer = operand.valid() ? graph.producer(operand) : nullptr;
    const auto *constant = producer ? producer->as<ir::Const>() : nullptr;
    if (constant)
      packed(*constant->data);
  }
}

CompiledNode compileNode(const ir::Graph &graph, const ir::Node &node, const SelectOptions &options,
                         const PackedHook &packed) {
  refuseUnsupported(node);
  CompiledNode compiled;
  compiled.selection = selectKernels(graph, node, options);
  const KernelProblem problem{graph, node, options.kernels};
  for (const KernelRow *row : compiled.selection.rows)
    compiled.kernels.push_back(row->make(problem));
  if (const auto *branch = node.as<ir::If>()) {
    compiled.thenGraph = compile(*branch->thenGraph, options, packed);
    compiled.elseGraph = compile(*branch->elseGraph, options, packed);
  }
  return compiled;
}

} // namespace

std::unique_ptr<CompiledGraph> compile(ir::Graph graph, const SelectOptions &options,
                                       const PackedHook &packed) {
  auto compiled = std::make_unique<CompiledGraph>(std::move(graph));
  for (const ir::Node &node : compiled->graph.nodes()) {
    compiled->nodes.push_back(compileNode(compiled->graph, node, options, packed));
    int64_t bytes = 0;
    for (const auto &kernel : compiled->nodes.back().kernels)
      bytes += kernel->packedBytes();
    compiled->packedBytes += bytes;
    if (bytes > 0 && packed)
      reportConstants(compiled->graph, node, packed);
  }
  compiled->plan = planMemory(compiled->graph);
  compiled->states = findKvStates(compiled->graph);
  return compiled;
}

} // namespace engine::lowering
