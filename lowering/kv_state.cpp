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

// --- index_copy --------------------------------------------------------------------------------

// What torch's exporter makes of cache.index_copy(axis, rows, update): the rows' axis comes first,
// ScatterND writes whole rows, and the axis goes back.
struct IndexCopy {
  ir::ValueId cache, updates; // updates: rows first
  ir::Ints back;              // permutation of the updates to the cache's order
  int64_t axis = 0;
  ir::Dim start;
};

template <class T> const T *producerAs(const ir::Graph &graph, ir::ValueId value) {
  const ir::Node *node = value.valid() ? graph.producer(value) : nullptr;
  return node ? node->as<T>() : nullptr;
}

bool areInverse(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[b[i]] != static_cast<int64_t>(i))
      return false;
  return a.size() == b.size();
}

// The start of rows start, start + 1, ... that `indices` [rows, 1] lists.
std::optional<ir::Dim> consecutiveStart(const ir::Fact &indices) {
  const ir::Shape &shape = indices.shape;
  if (shape.size() != 2 || !shape[1].is(1) || !indices.contents || indices.contents->empty())
    return std::nullopt;
  const llvm::SmallVector<ir::Dim, 4> &rows = *indices.contents;
  for (size_t i = 1; i < rows.size(); ++i)
    if (rows[i] != rows[0] + ir::Dim(static_cast<int64_t>(i)))
      return std::nullopt;
  return rows[0];
}

// The row that ScatterND means by the index `row`: negative ones count from the end. What is out of
// range stays out of range.
ir::Dim rowOfIndex(const ir::Dim &row, const ir::Dim &capacity) {
  const ir::Dim isNegative = ir::Dim::max(0, ir::Dim::min(1, -row));
  return row + capacity * isNegative;
}

std::optional<IndexCopy> findIndexCopy(const ir::Graph &graph, const ir::Node &node) {
  const auto *back = node.as<ir::Transpose>();
  const auto *scatter = back ? producerAs<ir::ScatterNd>(graph, node.operands[0]) : nullptr;
  if (!scatter || scatter->reduction != ir::ScatterReduction::kNone)
    return std::nullopt;
  const ir::Node &scatterNode = *graph.producer(node.operands[0]);
  const auto *forth = producerAs<ir::Transpose>(graph, scatterNode.operands[0]);
  if (!forth || !areInverse(forth->perm, back->perm))
    return std::nullopt;

  IndexCopy copy;
  copy.cache = graph.producer(scatterNode.operands[0])->operands[0];
  copy.updates = scatterNode.operands[2];
  copy.back = back->perm;
  copy.axis = forth->perm[0];
  const std::optional<ir::Dim> start = consecutiveStart(graph.fact(scatterNode.operands[1]));
  if (copy.axis == 0 || !start || !isGraphInput(graph, copy.cache) ||
      !llvm::is_contained(graph.outputs(), node.results[0]))
    return std::nullopt;
  // Several rows from a negative index on may go around the end, which KvWrite does not.
  const bool mayBeNegative = start->bounds({}).min < 0;
  if (mayBeNegative && graph.fact(scatterNode.operands[1]).contents->size() > 1)
    return std::nullopt;
  const ir::Dim &capacity = graph.fact(copy.cache).shape[copy.axis];
  copy.start = mayBeNegative ? rowOfIndex(*start, capacity) : *start;
  return copy;
}

void rewriteIndexCopy(ir::GraphRewriter &rewriter, const ir::Node &node, const IndexCopy &copy) {
  ir::GraphBuilder &builder = rewriter.builder();
  builder.setOrigin(node.name, node.onnx);
  const ir::ValueId update =
      builder.add1(ir::Transpose{copy.back}, {rewriter[copy.updates]}, "update");
  ir::KvWrite write;
  write.axis = copy.axis;
  write.offset = copy.start;
  write.capacity = rewriter.from().fact(copy.cache).shape[copy.axis];
  rewriter.copyAs(node, write, {rewriter[copy.cache], update});
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
    if (const std::optional<IndexCopy> copy = findIndexCopy(graph, node)) {
      rewriteIndexCopy(rewriter, node, *copy);
      continue;
    }
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
