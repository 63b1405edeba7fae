// The graph: nodes in topological order over single-assignment values. A graph is built by a
// GraphBuilder, which infers facts as it goes, and is not changed afterwards: a pass reads a graph
// and builds another (design.md, rule 5).
#pragma once

#include "ir/error.h"
#include "ir/ops.h"

#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace engine::ir {

// How deep graphs may stand in operators of graphs (If), the model's own not counted: in a file, in
// a dump, in a graph.
inline constexpr int kMaxGraphNesting = 64;

struct ValueId {
  uint32_t index = UINT32_MAX;
  bool valid() const { return index != UINT32_MAX; }
  bool operator==(const ValueId &) const = default;
};
inline constexpr ValueId kNoValue{};

using Values = llvm::SmallVector<ValueId, 4>;

struct Value {
  std::string name; // unique in its graph: the ONNX name, or a dotted path under the ONNX node's
  Fact fact;
};

struct Node {
  Op op;
  Values operands; // absent optional ones are kNoValue; trailing absent ones are dropped
  Values results;
  std::string name; // ONNX node name, or a dotted path under it: "/layers.0/attn.rope_q"
  std::string onnx; // "com.microsoft.GroupQueryAttention": the operator it came from

  ValueId operand(size_t i) const { return i < operands.size() ? operands[i] : kNoValue; }
  template <class T> const T *as() const { return std::get_if<T>(&op); }
};

// A graph input that may be left out of a feed.
struct InputDefault {
  ValueId input;
  ConstRef value;
};

class Graph {
public:
  llvm::ArrayRef<Node> nodes() const { return nodes_; }
  llvm::ArrayRef<ValueId> inputs() const { return inputs_; }
  llvm::ArrayRef<ValueId> outputs() const { return outputs_; }
  // Names under which the outputs leave; several may name one value, and a value's own name may
  // differ.
  llvm::ArrayRef<std::string> outputNames() const { return outputNames_; }
  llvm::ArrayRef<InputDefault> defaults() const { return defaults_; }
  size_t numValues() const { return values_.size(); }
  const Value &value(ValueId id) const { return values_[id.index]; }
  const Fact &fact(ValueId id) const { return values_[id.index].fact; }
  // Node that makes a value, or null for graph inputs. Valid until the builder adds the next node.
  const Node *producer(ValueId id) const;
  ValueId find(llvm::StringRef name) const;

private:
  friend class GraphBuilder;
  friend struct GraphForger; // makes graphs that no builder makes, for the verifier's tests

  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<int32_t> producers_; // node index by value, -1 for inputs
  std::vector<ValueId> inputs_, outputs_;
  std::vector<std::string> outputNames_;
  std::vector<InputDefault> defaults_;
  llvm::StringMap<uint32_t> names_;
};

// Same operators, operands, names and facts, in the same order. On a difference `why` says the
// first one.
bool equal(const Graph &a, const Graph &b, std::string *why = nullptr);

class GraphBuilder {
public:
  GraphBuilder();

  // Names of values and of nodes are made unique by "#2", "#3", ... An i32 or i64 input of at most
  // one element gets its value as a symbol ("$total_sequence_length") unless its contents are
  // given.
  ValueId addInput(llvm::StringRef name, Fact fact);
  void setDefault(ValueId input, ConstRef value);

  // Where the nodes that follow come from: their errors name it, their names and results start with
  // it.
  void setOrigin(llvm::StringRef nodeName, llvm::StringRef onnxOp);

  // Appends a node, infers its results' facts and returns them. Throws Error on operands that do
  // not fit. `suffix` distinguishes the nodes of one origin ("rope_q"); empty: the origin's own
  // name. Without both, a node takes the name of its first result, or else of its operator. One
  // value comes back for each result of the operator; `wanted[i]` false, or missing in a `wanted`
  // that is not empty: it is kNoValue. `names` gives results their names; the default ("") is the
  // node's for the first and "NODE.RESULT" for others.
  Values add(Op op, llvm::ArrayRef<ValueId> operands, llvm::StringRef suffix = "",
             llvm::ArrayRef<std::string> names = {}, llvm::ArrayRef<bool> wanted = {});
  ValueId add1(Op op, llvm::ArrayRef<ValueId> operands, llvm::StringRef suffix = "",
               llvm::StringRef name = "");

  ValueId constant(ConstRef data, llvm::StringRef suffix = "const", llvm::StringRef name = "");

  void addOutput(ValueId value, llvm::StringRef name);

  const Fact &fact(ValueId id) const { return graph_.fact(id); }
  const Value &value(ValueId id) const { return graph_.value(id); }
  const Node *producer(ValueId id) const { return graph_.producer(id); }
  const Graph &soFar() const { return graph_; }

  // The builder is empty afterwards.
  Graph finish();

private:
  friend Graph removeDead(const Graph &graph);
  using NameSet = llvm::StringMap<uint32_t>;

  void append(Node node, llvm::ArrayRef<Fact> facts, llvm::ArrayRef<std::string> names,
              llvm::ArrayRef<bool> wanted);
  ValueId newValue(llvm::StringRef name, Fact fact, int32_t producer);
  std::string nodeName(const Op &op, llvm::StringRef suffix,
                       llvm::ArrayRef<std::string> names) const;
  std::string uniqueName(llvm::StringRef wanted, const NameSet &taken);

  Graph graph_;
  NameSet nodeNames_;
  llvm::StringMap<uint32_t> suffixes_; // the next number to try, by name without one
  std::string originName_, originOp_;
};

// A model: its graph, and where it came from.
struct Model {
  Graph graph;
  std::string path;   // as given
  std::string folder; // of the file; data("file", ...) is relative to it
  std::string producer;
  // Metadata of the file, for tools.
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::string> warnings;
};

// Rebuilds a graph node by node; a pass overrides what it changes.
//
//   GraphRewriter rw(graph);
//   for (const Node &n : graph.nodes())
//     if (...) rw.map(n.results[0], replacement); else rw.copy(n);
//   return rw.finish();     // keeps inputs and output names, drops nodes that nothing reaches
class GraphRewriter {
public:
  explicit GraphRewriter(const Graph &from);

  const Graph &from() const { return from_; }
  GraphBuilder &builder() { return builder_; }
  // The new value for an old one; kNoValue for kNoValue.
  ValueId operator[](ValueId old) const;
  Values operator[](llvm::ArrayRef<ValueId> old) const;
  // Where the new value's shape is known better, dims that only the data decided ("@NODE.0.1")
  // become those of the new shape in the operators copied from here on.
  void map(ValueId old, ValueId now);
  // The operator with those dims replaced.
  Op current(const Op &op) const;
  void copy(const Node &node);
  // As copy, with another operator or operands (already new values).
  Values copyAs(const Node &node, Op op, llvm::ArrayRef<ValueId> operands);
  Graph finish();

private:
  const Graph &from_;
  GraphBuilder builder_;
  std::vector<ValueId> map_;
  llvm::StringMap<Dim> dims_;
};

// Drops nodes that no output needs; keeps inputs.
Graph removeDead(const Graph &graph);

} // namespace engine::ir
