#include "frontend/names.h"

#include "onnx-ml.pb.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace engine::frontend {

namespace {

// Names in order of arrival, each once.
class NameList {
public:
  void add(const std::string &name) {
    if (!name.empty() && seen_.insert(name).second)
      names_.push_back(name);
  }
  std::vector<std::string> take() { return std::move(names_); }

private:
  llvm::StringSet<> seen_;
  std::vector<std::string> names_;
};

llvm::StringSet<> namesMadeIn(const onnx::GraphProto &graph) {
  llvm::StringSet<> made;
  for (const onnx::ValueInfoProto &input : graph.input())
    made.insert(input.name());
  for (const onnx::TensorProto &initializer : graph.initializer())
    made.insert(initializer.name());
  for (const onnx::SparseTensorProto &initializer : graph.sparse_initializer())
    made.insert(initializer.values().name());
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      made.insert(output);
  return made;
}

void addFreeNames(const onnx::GraphProto &graph, NameList &names) {
  const llvm::StringSet<> made = namesMadeIn(graph);
  const auto use = [&](const std::string &name) {
    if (!made.count(name))
      names.add(name);
  };
  for (const onnx::NodeProto &node : graph.node()) {
    for (const std::string &input : node.input())
      use(input);
    for (const std::string &name : capturedNames(node))
      use(name);
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    use(output.name());
}

// Among stuck nodes each has a predecessor that is stuck too: walking back must come by a node
// twice.
Cycle cycleAmong(llvm::ArrayRef<size_t> stuck, llvm::ArrayRef<std::vector<size_t>> predecessors) {
  const auto isStuck = [&](size_t node) {
    return std::binary_search(stuck.begin(), stuck.end(), node);
  };
  std::vector<size_t> path;
  size_t node = stuck.front();
  while (std::find(path.begin(), path.end(), node) == path.end()) {
    path.push_back(node);
    const std::vector<size_t> &before = predecessors[node];
    node = *std::find_if(before.begin(), before.end(), isStuck);
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), node));
  return {path};
}

} // namespace

llvm::SmallVector<const onnx::GraphProto *, 2> subgraphsOf(const onnx::NodeProto &node) {
  llvm::SmallVector<const onnx::GraphProto *, 2> graphs;
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      graphs.push_back(&attribute.g());
    for (const onnx::GraphProto &graph : attribute.graphs())
      graphs.push_back(&graph);
  }
  return graphs;
}

std::vector<std::string> capturedNames(const onnx::NodeProto &node) {
  NameList names;
  for (const onnx::GraphProto *graph : subgraphsOf(node))
    addFreeNames(*graph, names);
  return names.take();
}

std::vector<std::string> freeNames(const onnx::GraphProto &graph) {
  NameList names;
  addFreeNames(graph, names);
  return names.take();
}

NodeOrder orderOf(llvm::ArrayRef<std::vector<std::string>> makes,
                  llvm::ArrayRef<std::vector<std::string>> uses) {
  const size_t count = makes.size();
  llvm::StringMap<size_t> maker;
  for (size_t i = 0; i < count; ++i)
    for (const std::string &name : makes[i])
      if (!name.empty())
        maker.try_emplace(name, i);

  std::vector<std::vector<size_t>> predecessors(count), successors(count);
  for (size_t i = 0; i < count; ++i) {
    for (const std::string &name : uses[i]) {
      const auto found = maker.find(name);
      if (found == maker.end())
        continue;
      predecessors[i].push_back(found->second);
      successors[found->second].push_back(i);
    }
  }

  std::priority_queue<size_t, std::vector<size_t>, std::greater<size_t>> ready;
  std::vector<size_t> missing(count);
  for (size_t i = 0; i < count; ++i) {
    missing[i] = predecessors[i].size();
    if (missing[i] == 0)
      ready.push(i);
  }

  NodeOrder result;
  while (!ready.empty()) {
    const size_t node = ready.top();
    ready.pop();
    result.order.push_back(node);
    for (size_t next : successors[node])
      if (--missing[next] == 0)
        ready.push(next);
  }
  for (size_t i = 0; i < count; ++i)
    if (missing[i] > 0)
      result.stuck.push_back(i);
  if (!result.stuck.empty())
    result.cycle = cycleAmong(result.stuck, predecessors);
  return result;
}

} // namespace engine::frontend
