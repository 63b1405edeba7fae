#include "ir/infer.h"

#include "llvm/ADT/StringSet.h"

namespace engine::ir {

namespace {

class Verifier {
public:
  Verifier(const Graph &graph, int depth)
      : graph_(graph), depth_(depth), made_(graph.numValues()) {}

  void run() {
    if (depth_ > kMaxGraphNesting)
      throw Error("graphs are nested deeper than " + std::to_string(kMaxGraphNesting) + " levels");
    for (const ValueId input : graph_.inputs())
      define(input, "input", nullptr);
    checkDefaults();
    for (const Node &node : graph_.nodes())
      checkNode(node);
    checkOutputs();
  }

private:
  [[noreturn]] static void fail(const std::string &what) { throw Error::internal(what); }

  [[noreturn]] static void fail(const Node &node, const std::string &what) {
    throw Error::internal(what).inNode(node.name, node.onnx.empty() ? opName(node.op) : node.onnx);
  }

  // Every value is made once, by the node that it names as its producer, under a name of its own.
  void define(ValueId id, const std::string &role, const Node *producer) {
    if (!id.valid() || id.index >= graph_.numValues())
      fail(role + " names a value that the graph does not have");
    const std::string &name = graph_.value(id).name;
    if (made_[id.index])
      fail("value '" + name + "' is made twice");
    made_[id.index] = true;
    if (graph_.producer(id) != producer)
      fail("value '" + name + "' has a wrong producer");
    if (!valueNames_.insert(name).second)
      fail("name '" + name + "' stands for two values");
    if (graph_.find(name) != id)
      fail("value '" + name + "' is not found under its name");
  }

  void checkDefaults() {
    for (const InputDefault &entry : graph_.defaults()) {
      if (!llvm::is_contained(graph_.inputs(), entry.input) || !entry.value)
        fail("a default without an input or without a value");
      checkDefault(graph_.value(entry.input), *entry.value);
    }
  }

  static void checkDefault(const Value &input, const ConstData &value) {
    bool fits = !input.fact.known ||
                (input.fact.dtype == value.dtype && input.fact.shape.size() == value.dims.size());
    for (size_t i = 0; fits && input.fact.known && i < value.dims.size(); ++i)
      fits = !input.fact.shape[i].isConstant() || input.fact.shape[i].is(value.dims[i]);
    if (!fits)
      fail("the default of input '" + input.name + "' is not of type " + input.fact.str());
  }

  void checkNode(const Node &node) {
    if (!nodeNames_.insert(node.name).second)
      fail(node, "two nodes have this name");
    const llvm::SmallVector<const Fact *, 8> operands = operandFacts(node);
    if (const If *branch = node.as<If>())
      checkBranches(node, *branch);
    llvm::SmallVector<Fact, 2> facts;
    try {
      facts = inferResults(node.op, operands, node.name);
    } catch (Error &error) {
      throw error.inNode(node.name, node.onnx.empty() ? opName(node.op) : node.onnx);
    }
    checkResults(node, facts);
  }

  llvm::SmallVector<const Fact *, 8> operandFacts(const Node &node) const {
    llvm::SmallVector<const Fact *, 8> facts;
    for (const ValueId operand : node.operands) {
      if (operand.valid() && (operand.index >= graph_.numValues() || !made_[operand.index]))
        fail(node, "a value is used before it is made");
      facts.push_back(operand.valid() ? &graph_.fact(operand) : nullptr);
    }
    if (!facts.empty() && !facts.back())
      fail(node, "the last operand is absent");
    return facts;
  }

  void checkResults(const Node &node, llvm::ArrayRef<Fact> facts) {
    if (node.results.size() != facts.size())
      fail(node, "the operator has " + std::to_string(facts.size()) + " results, found " +
                     std::to_string(node.results.size()));
    for (size_t i = 0; i < facts.size(); ++i) {
      if (!node.results[i].valid())
        continue;
      define(node.results[i], "node '" + node.name + "'", &node);
      const Value &value = graph_.value(node.results[i]);
      if (value.fact != facts[i])
        fail(node, "result '" + value.name + "' is " + value.fact.str() + ", inference gives " +
                       facts[i].str());
    }
  }

  void checkBranches(const Node &node, const If &branch) const {
    checkBranch(node, branch, branch.thenGraph, "then");
    checkBranch(node, branch, branch.elseGraph, "else");
  }

  void checkBranch(const Node &node, const If &branch, const GraphRef &graph,
                   const std::string &name) const {
    if (!graph)
      fail(node, "the " + name + " graph is missing");
    const size_t captures = node.operands.empty() ? 0 : node.operands.size() - 1;
    if (graph->inputs().size() != captures)
      fail(node, "the " + name + " graph has " + std::to_string(graph->inputs().size()) +
                     " inputs, the node " + std::to_string(captures) + " captures");
    if (static_cast<int64_t>(graph->outputs().size()) != branch.results)
      fail(node, "the " + name + " graph has " + std::to_string(graph->outputs().size()) +
                     " outputs, the node " + std::to_string(branch.results) + " results");
    for (size_t i = 0; i < captures; ++i)
      checkCapture(node, graph->value(graph->inputs()[i]), node.operands[i + 1]);
    try {
      Verifier(*graph, depth_ + 1).run();
    } catch (Error &error) {
      throw error.at("the " + name + " graph").inNode(node.name, node.onnx);
    }
  }

  void checkCapture(const Node &node, const Value &input, ValueId capture) const {
    if (!capture.valid())
      fail(node, "a capture is absent");
    const Fact &outer = graph_.fact(capture);
    if (!outer.known || !input.fact.known)
      return;
    if (outer.dtype != input.fact.dtype || outer.shape != input.fact.shape)
      fail(node, "capture '" + input.name + "' is " + input.fact.str() + " inside, " + outer.str() +
                     " outside");
  }

  void checkOutputs() {
    if (graph_.outputs().size() != graph_.outputNames().size())
      fail("the numbers of outputs and of their names differ");
    llvm::StringSet<> names;
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const ValueId output = graph_.outputs()[i];
      const std::string &name = graph_.outputNames()[i];
      if (!output.valid() || output.index >= graph_.numValues() || !made_[output.index])
        fail("output '" + name + "' is a value that no node makes");
      if (!names.insert(name).second)
        fail("two outputs are called '" + name + "'");
    }
  }

  const Graph &graph_;
  const int depth_;
  std::vector<bool> made_;
  llvm::StringSet<> valueNames_, nodeNames_;
};

} // namespace

void verify(const Graph &graph) { Verifier(graph, 0).run(); }

} // namespace engine::ir
