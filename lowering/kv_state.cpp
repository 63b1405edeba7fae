#include "lowering/kv_state.h"

#include "lowering/plan.h"

namespace engine::lowering {

namespace {

bool isGraphInput(const ir::Graph &graph, ir::ValueId value) {
  return llvm::is_contained(graph.inputs(), value);
}

size_t countUses(const ir::Graph &graph, ir::ValueId value) {
  size_t uses = llvm::count(graph.outputs(), value);
  for (const ir::Node &node : graph.nodes())
    uses += llvm::count(node.operands, value);
  return uses;
}

// The rows of `past` grow by those of `update` along an axis that is neither batch nor constant.
bool isGrowingCache(const ir::Graph &graph, const ir::Node &node) {
  const auto *concat = node.as<ir::Concat>();
  if (!concat || node.operands.size() != 2 || concat->axis == 0)
    return false;
  const ir::ValueId past = node.operands[0];
  if (!isGraphInput(graph, past) || countUses(graph, past) != 1)
    return false;
  return llvm::is_contained(graph.outputs(), node.results[0]);
}

// The last node that reads each graph input or a view of it, by value; -1: none.
std::vector<int64_t> lastUses(const ir::Graph &graph) {
  std::vector<int64_t> last(graph.numValues(), -1);
  std::vector<ir::ValueId> viewed(graph.numValues());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const ir::Node &node = graph.nodes()[i];
    for (ir::ValueId operand : node.operands)
      for (ir::ValueId value = operand; value.valid(); value = viewed[value.index])
        last[value.index] = static_cast<int64_t>(i);
    if (isLayoutOp(node.op))
      viewed[node.results[0].index] = node.operands[0];
  }
  for (ir::ValueId output : graph.outputs())
    for (ir::ValueId value = output; value.valid(); value = viewed[value.index])
      last[value.index] = static_cast<int64_t>(graph.nodes().size());
  return last;
}

} // namespace

ir::Graph recognizeKvStates(const ir::Graph &graph) {
  ir::GraphRewriter rewriter(graph);
  for (const ir::Node &node : graph.nodes()) {
    if (!isGrowingCache(graph, node)) {
      rewriter.copy(node);
      continue;
    }
    const int64_t axis = node.as<ir::Concat>()->axis;
    const ir::Dim pastRows = graph.fact(node.operands[0]).shape[axis];
    ir::KvWrite write;
    write.axis = axis;
    write.offset = pastRows;
    write.capacity = pastRows + graph.fact(node.operands[1]).shape[axis];
    rewriter.copyAs(node, write, rewriter[llvm::ArrayRef<ir::ValueId>(node.operands)]);
  }
  return rewriter.finish();
}

std::vector<KvState> findKvStates(const ir::Graph &graph) {
  std::vector<KvState> states;
  const std::vector<int64_t> last = lastUses(graph);
  for (ir::ValueId input : graph.inputs()) {
    const int64_t index = last[input.index];
    if (index < 0 || index >= static_cast<int64_t>(graph.nodes().size()))
      continue;
    const ir::Node &node = graph.nodes()[index];
    const auto *write = node.as<ir::KvWrite>();
    const auto *evict = node.as<ir::KvEvict>();
    if ((!write && !evict) || node.operands[0] != input || llvm::count(node.operands, input) != 1)
      continue;
    const auto output = llvm::find(graph.outputs(), node.results[0]);
    if (output == graph.outputs().end())
      continue;
    const int64_t axis = write ? write->axis : 2;
    const ir::Shape &shape = graph.fact(input).shape;
    const ir::Shape &result = graph.fact(node.results[0]).shape;
    KvState state;
    state.input = input;
    state.result = node.results[0];
    state.node = static_cast<size_t>(index);
    state.output = static_cast<size_t>(output - graph.outputs().begin());
    state.axis = axis;
    state.grows = !shape[axis].isConstant() && shape[axis] != result[axis];
    state.window = evict ? evict->window : 0;
    state.update = graph.fact(node.operands[1]).shape;
    states.push_back(state);
  }
  return states;
}

} // namespace engine::lowering
