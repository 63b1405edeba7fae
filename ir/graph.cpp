#include "ir/graph.h"

#include "ir/field_values.h"
#include "ir/infer.h"
#include "ir/op_dims.h"

namespace engine::ir {

// --- Graph ---

const Node *Graph::producer(ValueId id) const {
  const int32_t node = producers_[id.index];
  return node < 0 ? nullptr : &nodes_[static_cast<size_t>(node)];
}

ValueId Graph::find(llvm::StringRef name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? kNoValue : ValueId{found->second};
}

// --- Inference of one node ---

static void checkOperands(const Op &op, llvm::ArrayRef<const Fact *> operands) {
  const llvm::ArrayRef<OperandSpec> specs = operandSpecs(op);
  const bool variadic = !specs.empty() && specs.back().variadic;
  if (operands.size() > specs.size() && !variadic)
    throw Error("the operator has " + std::to_string(specs.size()) + " operands, found " +
                std::to_string(operands.size()));
  for (size_t i = 0; i < specs.size(); ++i) {
    const bool present = i < operands.size() && operands[i] != nullptr;
    if (!present && !specs[i].optional && !specs[i].variadic)
      throw Error("a value is expected, found none").at("operand '" + specs[i].name + "'");
  }
}

llvm::SmallVector<Fact, 2> inferResults(const Op &op, llvm::ArrayRef<const Fact *> operands,
                                        llvm::StringRef symbolPrefix) {
  checkOperands(op, operands);
  llvm::SmallVector<Fact, 2> results(numResults(op));
  InferContext context(operands, results, symbolPrefix);
  infer(op, context);
  return results;
}

// --- GraphBuilder ---

GraphBuilder::GraphBuilder() = default;

// "x#3" -> "x"
static llvm::StringRef withoutNumber(llvm::StringRef name) {
  const llvm::StringRef digits = name.drop_front(name.find_last_not_of("0123456789") + 1);
  const llvm::StringRef rest = name.drop_back(digits.size());
  if (digits.empty() || rest.size() < 2 || rest.back() != '#')
    return name;
  return rest.drop_back();
}

std::string GraphBuilder::uniqueName(llvm::StringRef wanted, const NameSet &taken) {
  if (!taken.count(wanted))
    return wanted.str();
  const std::string base = withoutNumber(wanted).str();
  uint32_t &next = suffixes_.try_emplace(base, 2).first->second;
  while (true) {
    std::string name = base + "#" + std::to_string(next);
    if (!taken.count(name))
      return name;
    ++next;
  }
}

ValueId GraphBuilder::newValue(llvm::StringRef name, Fact fact, int32_t producer) {
  if (graph_.values_.size() >= kNoValue.index)
    throw Error("the graph has too many values");
  const ValueId id{static_cast<uint32_t>(graph_.values_.size())};
  std::string unique = uniqueName(name, graph_.names_);
  graph_.names_[unique] = id.index;
  graph_.values_.push_back({std::move(unique), std::move(fact)});
  graph_.producers_.push_back(producer);
  return id;
}

// Elements of a small integer input whose value is taken as a symbol: 1, 0 where it is empty, -1
// where it gets none.
static int symbolElements(const Fact &fact) {
  if (!fact.known || fact.contents || (fact.dtype != DType::kI32 && fact.dtype != DType::kI64))
    return -1;
  if (llvm::any_of(fact.shape, [](const Dim &dim) { return dim.is(0); }))
    return 0;
  return llvm::all_of(fact.shape, [](const Dim &dim) { return dim.is(1); }) ? 1 : -1;
}

ValueId GraphBuilder::addInput(llvm::StringRef name, Fact fact) {
  fact.constant = nullptr;
  const int elements = symbolElements(fact);
  const ValueId id = newValue(name, std::move(fact), -1);
  Value &value = graph_.values_[id.index];
  if (elements >= 0)
    value.fact.contents.emplace();
  if (elements == 1)
    value.fact.contents->push_back(Dim::symbol("$" + value.name));
  graph_.inputs_.push_back(id);
  return id;
}

void GraphBuilder::setDefault(ValueId input, ConstRef value) {
  if (!llvm::is_contained(graph_.inputs_, input))
    throw Error::internal("a default is set for a value that is no input");
  graph_.defaults_.push_back({input, std::move(value)});
}

void GraphBuilder::setOrigin(llvm::StringRef nodeName, llvm::StringRef onnxOp) {
  originName_ = nodeName.str();
  originOp_ = onnxOp.str();
}

std::string GraphBuilder::nodeName(const Op &op, llvm::StringRef suffix,
                                   llvm::ArrayRef<std::string> names) const {
  if (!originName_.empty() && !suffix.empty())
    return originName_ + "." + suffix.str();
  if (!originName_.empty())
    return originName_;
  if (!suffix.empty())
    return suffix.str();
  const auto *given = llvm::find_if(names, [](const std::string &name) { return !name.empty(); });
  return given == names.end() ? opName(op) : *given;
}

Values GraphBuilder::add(Op op, llvm::ArrayRef<ValueId> operands, llvm::StringRef suffix,
                         llvm::ArrayRef<std::string> names, llvm::ArrayRef<bool> wanted) {
  while (!operands.empty() && !operands.back().valid())
    operands = operands.drop_back();
  Node node;
  node.name = uniqueName(nodeName(op, suffix, names), nodeNames_);
  node.onnx = originOp_;
  node.operands.assign(operands.begin(), operands.end());
  llvm::SmallVector<const Fact *, 8> facts;
  for (const ValueId operand : operands) {
    if (operand.valid() && operand.index >= graph_.numValues())
      throw Error::internal("node '" + node.name + "' uses a value of another graph");
    facts.push_back(operand.valid() ? &graph_.fact(operand) : nullptr);
  }
  llvm::SmallVector<Fact, 2> results;
  try {
    results = inferResults(op, facts, node.name);
  } catch (Error &error) {
    throw error.inNode(originName_.empty() ? node.name : originName_,
                       originOp_.empty() ? opName(op) : originOp_);
  }
  node.op = std::move(op);
  append(std::move(node), results, names, wanted);
  return graph_.nodes_.back().results;
}

// "values" of TopK; "ys1" for the second of a variadic tail.
static std::string resultName(const Op &op, size_t i) {
  const llvm::ArrayRef<OperandSpec> specs = resultSpecs(op);
  if (i < specs.size() && !specs[i].variadic)
    return specs[i].name;
  return specs.back().name + std::to_string(i + 1 - specs.size());
}

void GraphBuilder::append(Node node, llvm::ArrayRef<Fact> facts, llvm::ArrayRef<std::string> names,
                          llvm::ArrayRef<bool> wanted) {
  const int32_t index = static_cast<int32_t>(graph_.nodes_.size());
  node.results.clear();
  for (size_t i = 0; i < facts.size(); ++i) {
    if (!wanted.empty() && (i >= wanted.size() || !wanted[i])) {
      node.results.push_back(kNoValue);
      continue;
    }
    std::string name = i < names.size() ? names[i] : "";
    if (name.empty())
      name = i == 0 ? node.name : node.name + "." + resultName(node.op, i);
    node.results.push_back(newValue(name, facts[i], index));
  }
  nodeNames_.try_emplace(node.name, 0);
  graph_.nodes_.push_back(std::move(node));
}

ValueId GraphBuilder::add1(Op op, llvm::ArrayRef<ValueId> operands, llvm::StringRef suffix,
                           llvm::StringRef name) {
  const std::string names[] = {name.str()};
  const bool wanted[] = {true};
  return add(std::move(op), operands, suffix, names, wanted).front();
}

ValueId GraphBuilder::constant(ConstRef data, llvm::StringRef suffix, llvm::StringRef name) {
  const bool named = originName_.empty() && !name.empty();
  return add1(Const{std::move(data)}, {}, named ? "" : suffix, name);
}

void GraphBuilder::addOutput(ValueId value, llvm::StringRef name) {
  if (!value.valid() || value.index >= graph_.numValues())
    throw Error::internal("output '" + name.str() + "' has no value");
  graph_.outputs_.push_back(value);
  graph_.outputNames_.push_back(name.empty() ? graph_.value(value).name : name.str());
}

Graph GraphBuilder::finish() {
  Graph graph = std::move(graph_);
  *this = GraphBuilder();
  return graph;
}

// --- GraphRewriter ---

GraphRewriter::GraphRewriter(const Graph &from) : from_(from), map_(from.numValues()) {
  for (const ValueId input : from.inputs())
    map(input, builder_.addInput(from.value(input).name, from.fact(input)));
  for (const InputDefault &entry : from.defaults())
    builder_.setDefault((*this)[entry.input], entry.value);
}

ValueId GraphRewriter::operator[](ValueId old) const {
  if (!old.valid())
    return kNoValue;
  const ValueId now = map_[old.index];
  if (!now.valid())
    throw Error::internal("value '" + from_.value(old).name + "' is used before it is rewritten");
  return now;
}

Values GraphRewriter::operator[](llvm::ArrayRef<ValueId> old) const {
  Values now;
  for (const ValueId id : old)
    now.push_back((*this)[id]);
  return now;
}

void GraphRewriter::map(ValueId old, ValueId now) {
  if (!old.valid())
    return;
  map_[old.index] = now;
  const Fact &before = from_.fact(old);
  if (!now.valid() || before.rank() != builder_.fact(now).rank())
    return;
  for (int axis = 0; axis < before.rank(); ++axis) {
    const Dim &dim = builder_.fact(now).shape[axis];
    const std::optional<std::string> symbol = before.shape[axis].asSymbol();
    if (symbol && symbol->front() == '@' && before.shape[axis] != dim)
      dims_[*symbol] = dim;
  }
}

Op GraphRewriter::current(const Op &op) const { return dims_.empty() ? op : substitute(op, dims_); }

void GraphRewriter::copy(const Node &node) { copyAs(node, node.op, (*this)[node.operands]); }

Values GraphRewriter::copyAs(const Node &node, Op op, llvm::ArrayRef<ValueId> operands) {
  llvm::SmallVector<std::string, 2> names;
  llvm::SmallVector<bool, 2> wanted;
  for (const ValueId result : node.results) {
    names.push_back(result.valid() ? from_.value(result).name : "");
    wanted.push_back(result.valid());
  }
  builder_.setOrigin(node.name, node.onnx);
  const Values results = builder_.add(current(op), operands, "", names, wanted);
  for (size_t i = 0; i < node.results.size() && i < results.size(); ++i)
    map(node.results[i], results[i]);
  return results;
}

Graph GraphRewriter::finish() {
  for (size_t i = 0; i < from_.outputs().size(); ++i)
    builder_.addOutput((*this)[from_.outputs()[i]], from_.outputNames()[i]);
  return removeDead(builder_.finish());
}

// --- Dead code ---

// For each node, whether an output needs it.
static std::vector<bool> liveNodes(const Graph &graph) {
  std::vector<bool> neededValues(graph.numValues());
  for (const ValueId output : graph.outputs())
    neededValues[output.index] = true;
  const llvm::ArrayRef<Node> nodes = graph.nodes();
  std::vector<bool> live(nodes.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    live[i] = llvm::any_of(nodes[i].results, [&](ValueId result) {
      return result.valid() && neededValues[result.index];
    });
    if (!live[i])
      continue;
    for (const ValueId operand : nodes[i].operands)
      if (operand.valid())
        neededValues[operand.index] = true;
  }
  return live;
}

Graph removeDead(const Graph &graph) {
  const std::vector<bool> live = liveNodes(graph);
  if (llvm::all_of(live, [](bool needed) { return needed; }))
    return graph;
  GraphRewriter rewriter(graph);
  GraphBuilder &builder = rewriter.builder();
  for (size_t i = 0; i < live.size(); ++i) {
    if (!live[i])
      continue;
    // Facts stay as they are: nothing is inferred again.
    const Node &old = graph.nodes()[i];
    Node node = old;
    node.operands = rewriter[old.operands];
    llvm::SmallVector<Fact, 2> facts;
    llvm::SmallVector<std::string, 2> names;
    llvm::SmallVector<bool, 2> wanted;
    for (const ValueId result : old.results) {
      facts.push_back(result.valid() ? graph.fact(result) : Fact());
      names.push_back(result.valid() ? graph.value(result).name : "");
      wanted.push_back(result.valid());
    }
    builder.append(std::move(node), facts, names, wanted);
    const Values &results = builder.soFar().nodes().back().results;
    for (size_t r = 0; r < results.size(); ++r)
      rewriter.map(old.results[r], results[r]);
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    builder.addOutput(rewriter[graph.outputs()[i]], graph.outputNames()[i]);
  return builder.finish();
}

// --- Comparison ---

namespace {

class Comparison {
public:
  Comparison(const Graph &a, const Graph &b, std::string *why) : a_(a), b_(b), why_(why) {}

  bool run() { return sameInputs() && sameNodes() && sameOutputs(); }

private:
  bool differ(const std::string &what) {
    if (why_)
      *why_ = what;
    return false;
  }

  bool differ(const std::string &what, const std::string &left, const std::string &right) {
    return differ(what + ": " + left + " and " + right);
  }

  bool sameCount(const std::string &what, size_t left, size_t right) {
    return left == right ||
           differ("number of " + what, std::to_string(left), std::to_string(right));
  }

  // Values are compared by name: their numbers depend on when inputs were added.
  static std::string nameOf(const Graph &graph, ValueId id) {
    return id.valid() ? "'" + graph.value(id).name + "'" : "none";
  }

  bool sameName(const std::string &what, ValueId left, ValueId right) {
    const std::string x = nameOf(a_, left), y = nameOf(b_, right);
    return x == y || differ(what, x, y);
  }

  bool sameValue(const std::string &what, ValueId left, ValueId right) {
    if (!sameName(what, left, right))
      return false;
    if (!left.valid() || a_.fact(left) == b_.fact(right))
      return true;
    return differ("type of '" + a_.value(left).name + "'", a_.fact(left).str(),
                  b_.fact(right).str());
  }

  bool sameInputs() {
    if (!sameCount("inputs", a_.inputs().size(), b_.inputs().size()))
      return false;
    for (size_t i = 0; i < a_.inputs().size(); ++i) {
      if (!sameValue("input " + std::to_string(i), a_.inputs()[i], b_.inputs()[i]))
        return false;
      if (!ir::sameValue(defaultOf(a_, a_.inputs()[i]), defaultOf(b_, b_.inputs()[i])))
        return differ("defaults of input '" + a_.value(a_.inputs()[i]).name + "'");
    }
    return true;
  }

  static ConstRef defaultOf(const Graph &graph, ValueId input) {
    for (const InputDefault &entry : graph.defaults())
      if (entry.input == input)
        return entry.value;
    return nullptr;
  }

  bool sameNodes() {
    if (!sameCount("nodes", a_.nodes().size(), b_.nodes().size()))
      return false;
    for (size_t i = 0; i < a_.nodes().size(); ++i)
      if (!sameNode(a_.nodes()[i], b_.nodes()[i]))
        return false;
    return true;
  }

  bool sameNode(const Node &x, const Node &y) {
    if (x.name != y.name)
      return differ("names of nodes", "'" + x.name + "'", "'" + y.name + "'");
    const std::string node = "node '" + x.name + "'";
    if (x.op.index() != y.op.index())
      return differ("operators of " + node, opName(x.op), opName(y.op));
    if (x.onnx != y.onnx)
      return differ("origins of " + node, "'" + x.onnx + "'", "'" + y.onnx + "'");
    if (!sameFields(node, x.op, y.op) ||
        !sameCount("operands of " + node, x.operands.size(), y.operands.size()) ||
        !sameCount("results of " + node, x.results.size(), y.results.size()))
      return false;
    for (size_t i = 0; i < x.operands.size(); ++i)
      if (!sameName("operand " + std::to_string(i) + " of " + node, x.operands[i], y.operands[i]))
        return false;
    for (size_t i = 0; i < x.results.size(); ++i)
      if (!sameValue("result " + std::to_string(i) + " of " + node, x.results[i], y.results[i]))
        return false;
    return true;
  }

  bool sameFields(const std::string &node, const Op &x, const Op &y) {
    const char *field = differingField(x, y);
    return !field || differ("field '" + std::string(field) + "' of " + node + " differs");
  }

  bool sameOutputs() {
    if (!sameCount("outputs", a_.outputs().size(), b_.outputs().size()))
      return false;
    for (size_t i = 0; i < a_.outputs().size(); ++i) {
      if (a_.outputNames()[i] != b_.outputNames()[i])
        return differ("names of outputs", "'" + a_.outputNames()[i] + "'",
                      "'" + b_.outputNames()[i] + "'");
      if (!sameName("output '" + a_.outputNames()[i] + "'", a_.outputs()[i], b_.outputs()[i]))
        return false;
    }
    return true;
  }

  const Graph &a_;
  const Graph &b_;
  std::string *why_;
};

} // namespace

bool equal(const Graph &a, const Graph &b, std::string *why) {
  return &a == &b || Comparison(a, b, why).run();
}

} // namespace engine::ir
