#include "frontend/import.h"

#include "frontend/attributes.h"
#include "frontend/functions.h"
#include "frontend/importer.h"
#include "frontend/names.h"
#include "frontend/opsets.h"
#include "frontend/quote.h"
#include "frontend/wire.h"
#include "ir/dtype_name.h"
#include "ir/view.h"

#include "onnx-ml.pb.h"

#include "llvm/ADT/StringSet.h"

#include <algorithm>

namespace engine::frontend {

namespace {

// Functions that call functions may blow a small file up. What is imported is counted, roughly in
// nodes, operands and attributes; no real model comes near this.
constexpr size_t kMaxWork = 3'000'000;

struct Initializer {
  const onnx::TensorProto *tensor = nullptr;
  bool read = false;
  ir::ConstRef data; // null also if it could not be read
};

// Names visible in one graph of the file, or in the body of one function call.
struct Scope {
  ir::GraphBuilder &builder; // a function's body is built into its caller's graph
  const Opsets &opsets;
  Scope *outer = nullptr;                      // the graph around a subgraph
  const AttributeBindings *bindings = nullptr; // within a function's body
  std::string prefix;                          // of the names of nodes and values: "call."
  llvm::StringMap<std::string> renamed;        // results of a function, under the call's names

  llvm::StringMap<ir::ValueId> values; // kNoValue: an optional input that a call leaves out
  llvm::StringMap<Initializer> initializers;

  Scope(ir::GraphBuilder &builder, const Opsets &opsets) : builder(builder), opsets(opsets) {}

  std::string valueName(const std::string &name) const {
    const auto found = renamed.find(name);
    return found != renamed.end() ? found->second : prefix + name;
  }
  bool defines(const std::string &name) const {
    return values.count(name) || initializers.count(name);
  }
};

// A node on its way into the graph.
struct Site {
  const onnx::NodeProto &node;
  std::string name, op;             // as messages and ir::Node have them
  std::vector<std::string> inputs;  // trailing "" dropped
  std::vector<std::string> outputs; // trailing "" dropped; "" also where the name was taken
};

std::vector<std::string>
withoutTrailingBlanks(const google::protobuf::RepeatedPtrField<std::string> &names) {
  std::vector<std::string> result(names.begin(), names.end());
  while (!result.empty() && result.back().empty())
    result.pop_back();
  return result;
}

std::string firstOutput(const onnx::NodeProto &node) {
  for (const std::string &output : node.output())
    if (!output.empty())
      return output;
  return {};
}

std::string nameOf(const onnx::NodeProto &node) {
  return node.name().empty() ? firstOutput(node) : node.name();
}

Site siteOf(const onnx::NodeProto &node, std::vector<std::string> outputs, const Scope &scope) {
  return {node, scope.prefix + nameOf(node),
          domainText(canonicalDomain(node.domain())) + "." + printable(node.op_type()),
          withoutTrailingBlanks(node.input()), std::move(outputs)};
}

// "7 to 12", "23 and later"
std::string versionsText(const ImporterRow &row) {
  if (row.until == kLatest)
    return std::to_string(row.since) + " and later";
  if (row.since == row.until)
    return std::to_string(row.since);
  return std::to_string(row.since) + " to " + std::to_string(row.until);
}

// Operators of mixtures of experts and of hybrid decoders. They are refused by name, even where the
// model brings a body for them: what stands in such bodies (Conv, Scan) would only hide the reason.
bool isPlanned(llvm::StringRef domain, llvm::StringRef type) {
  constexpr llvm::StringRef kPlanned[] = {
      "MoE",         "QMoE", "CausalConvWithState", "LinearAttention", "LinearAttentionGate",
      "GatedRMSNorm"};
  return domain == "com.microsoft" && llvm::is_contained(kPlanned, type);
}

Error noImporter(llvm::StringRef domain, llvm::StringRef type, int opset) {
  std::string versions;
  for (const ImporterRow &row : importerTable())
    if (domain == row.domain && type == row.type)
      versions += (versions.empty() ? "" : ", ") + versionsText(row);
  const std::string where = domainText(domain) + " opset " + std::to_string(opset);
  if (isPlanned(domain, type))
    return Error("the operator " + printable(type) + " is not yet supported (" + where + ")");
  if (versions.empty())
    return Error("the operator " + printable(type) + " is not supported (" + where + ")");
  return Error("the operator " + printable(type) + " of " + where +
               " is not supported; that of opset " + versions + " is");
}

using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using NameLists = std::vector<std::vector<std::string>>; // by node

// "'a' uses 'x' of 'b' uses 'y' of 'a'"
std::string cycleText(const Cycle &cycle, const NodeList &nodes, const NameLists &makes,
                      const NameLists &uses) {
  constexpr size_t kMostNamed = 8;
  const size_t length = cycle.nodes.size();
  std::string text = quoted(nameOf(nodes[static_cast<int>(cycle.nodes[0])]));
  for (size_t i = 0; i < length; ++i) {
    if (i == kMostNamed)
      return text + " and so on";
    const size_t maker = cycle.nodes[(i + 1) % length];
    for (const std::string &name : uses[cycle.nodes[i]]) {
      if (name.empty() || !llvm::is_contained(makes[maker], name))
        continue;
      text += " uses " + quoted(name) + " of " + quoted(nameOf(nodes[static_cast<int>(maker)]));
      break;
    }
  }
  return text;
}

size_t nestedNodes(const onnx::NodeProto &node) {
  size_t count = 0;
  for (const onnx::GraphProto *graph : subgraphsOf(node)) {
    count += graph->initializer_size();
    for (const onnx::NodeProto &inner : graph->node())
      count += 1 + nestedNodes(inner);
  }
  return count;
}

struct AttributeSpec {
  llvm::StringRef name, kind;
};

// "axis:int keepdims:int"
llvm::SmallVector<AttributeSpec, 8> attributeSpecs(const ImporterRow &row) {
  llvm::SmallVector<llvm::StringRef, 8> words;
  llvm::StringRef(row.attributes).split(words, ' ', -1, /*KeepEmpty=*/false);
  llvm::SmallVector<AttributeSpec, 8> specs;
  for (llvm::StringRef word : words) {
    const auto parts = word.split(':');
    specs.push_back({parts.first, parts.second});
  }
  return specs;
}

std::string understoodText(llvm::ArrayRef<AttributeSpec> specs) {
  if (specs.empty())
    return "the operator takes none";
  std::string text;
  for (const AttributeSpec &spec : specs)
    text += (text.empty() ? "" : ", ") + spec.name.str();
  return "understood are " + text;
}

void checkAttributes(const ImporterRow &row, const onnx::NodeProto &node,
                     std::vector<Error> &faults) {
  const llvm::SmallVector<AttributeSpec, 8> specs = attributeSpecs(row);
  llvm::StringSet<> seen;
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    const std::string item = "attribute " + quoted(attribute.name());
    if (!seen.insert(attribute.name()).second) {
      faults.push_back(Error("is given twice").at(item));
      continue;
    }
    const auto spec =
        llvm::find_if(specs, [&](const AttributeSpec &s) { return s.name == attribute.name(); });
    const std::string kind = kindOf(attribute);
    if (spec == specs.end())
      faults.push_back(Error("is not understood; " + understoodText(specs)).at(item));
    else if (isKind(spec->kind) && spec->kind != kind && kind != kUndefinedKind)
      faults.push_back(
          Error("is of type " + kind + ", " + spec->kind.str() + " was expected").at(item));
  }
}

void checkCounts(const ImporterRow &row, const Site &site, std::vector<Error> &faults) {
  const size_t inputs = site.inputs.size(), outputs = site.outputs.size();
  if (inputs > size_t(row.maxInputs))
    faults.push_back(Error("is number " + std::to_string(row.maxInputs) +
                           ", counted from 0; the operator takes at most " +
                           std::to_string(row.maxInputs) + " inputs, the node has " +
                           std::to_string(inputs))
                         .at("input " + quoted(site.inputs[row.maxInputs])));
  if (inputs < size_t(row.minInputs))
    faults.push_back(Error("the operator takes at least " + std::to_string(row.minInputs) +
                           " inputs, the node has " + std::to_string(inputs)));
  if (outputs > size_t(row.maxOutputs))
    faults.push_back(Error("is number " + std::to_string(row.maxOutputs) +
                           ", counted from 0; the operator has at most " +
                           std::to_string(row.maxOutputs) + " outputs, the node names " +
                           std::to_string(outputs))
                         .at("output " + quoted(site.outputs[row.maxOutputs])));
}

// "f16" -> "float16"
std::string longName(llvm::StringRef name) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (name == dtypeName(static_cast<DType>(i)))
      return dtypeLongName(static_cast<DType>(i));
  return name.str();
}

void checkType(const ImporterRow &row, const Site &site, DType found) {
  llvm::SmallVector<llvm::StringRef, 8> types;
  llvm::StringRef(row.types).split(types, ' ', -1, /*KeepEmpty=*/false);
  if (types.empty() || llvm::is_contained(types, dtypeName(found)))
    return;
  std::string expected;
  for (llvm::StringRef type : types)
    expected += (expected.empty() ? "" : ", ") + longName(type);
  throw Error(std::string("has element type ") + dtypeLongName(found) + ", " + expected +
              " are supported")
      .at("input " + quoted(site.inputs[0]));
}

} // namespace

class GraphImporter {
public:
  explicit GraphImporter(const ImportJob &job)
      : job_(job), modelOpsets_(Opsets::of(job.model)), functions_(job.model) {}

  ir::Graph run();
  ir::GraphRef importSubgraph(const onnx::GraphProto &graph, const onnx::NodeProto &node,
                              ir::Values &captures);

private:
  // Messages.
  void block(Error fault) { job_.blockers.messages.push_back(fault.inFile(job_.path).what()); }
  void block(Error fault, const Site &site) { block(fault.inNode(printable(site.name), site.op)); }
  void warn(const std::string &text) { job_.warnings.push_back(job_.path + ": " + text); }

  // Inputs, initializers, outputs.
  void addInputs(const onnx::GraphProto &graph, Scope &scope);
  void addInput(const onnx::ValueInfoProto &input, const onnx::TensorProto *initializer,
                Scope &scope);
  void addDefault(ir::ValueId input, const onnx::ValueInfoProto &declared,
                  const onnx::TensorProto &initializer, ir::GraphBuilder &builder);
  void addInitializers(const onnx::GraphProto &graph, Scope &scope);
  void addOutputs(const onnx::GraphProto &graph, Scope &scope);
  ir::Fact factOfInput(const onnx::ValueInfoProto &input);
  ir::Dim dimOfInput(const onnx::ValueInfoProto &input, int axis);
  void checkSymbols();
  void compareDeclared(const onnx::ValueInfoProto &declared, const char *what, const Scope &scope);

  // Gives a subgraph its inputs.
  void captureInputs(const onnx::GraphProto &graph, const onnx::NodeProto &node, Scope &scope,
                     ir::Values &captures);

  // Values by name.
  std::optional<ir::ValueId> lookup(const std::string &name, Scope &scope);
  ir::ValueId constantFor(const std::string &name, const ir::ConstRef &data, Scope &scope);
  ir::ConstRef read(const std::string &name, Initializer &initializer);
  ir::ValueId unknownValue(const std::string &name, const std::string &reason, Scope &scope);

  // Nodes.
  void importNodes(const NodeList &nodes, Scope &scope);
  std::vector<std::string> claimOutputs(const onnx::NodeProto &node,
                                        llvm::StringMap<std::string> &makers, const Scope &scope);
  void importNode(const onnx::NodeProto &node, std::vector<std::string> outputs, Scope &scope);
  void importResolved(const Site &site, Scope &scope);
  void importByRow(const ImporterRow &row, int opset, const Site &site, Scope &scope);
  void runImporter(const ImporterRow &row, int opset, const Site &site,
                   llvm::ArrayRef<ir::ValueId> operands, Scope &scope);
  void importCall(const onnx::FunctionProto &function, const Site &site, Scope &scope);
  void bindInputs(const onnx::FunctionProto &function, const Site &site, Scope &caller,
                  Scope &body);
  void bindOutputs(const onnx::FunctionProto &function, const Site &site, Scope &body,
                   Scope &caller);
  std::optional<int> opsetOf(llvm::StringRef domain, const Scope &scope) const;
  // The operands' values; kNoValue for what is absent or undefined. `usable`: all are known.
  ir::Values operandsOf(const Site &site, Scope &scope, bool &usable);
  void leaveOut(const Site &site, llvm::ArrayRef<ir::ValueId> operands, const std::string &reason,
                Scope &scope);

  // Throws Error, which ends the import, when the model takes too much.
  void spend(size_t work);
  // Anything but a refusal that can be reported beside others.
  bool endsImport(const Error &e) const { return tooLarge_ || e.kind() != Error::Kind::kRefused; }

  // One level deeper, in a subgraph or a function.
  struct Deeper {
    explicit Deeper(GraphImporter &importer) : importer(importer) {
      if (importer.depth_ == ir::kMaxGraphNesting)
        throw Error("graphs and functions are nested deeper than " +
                    std::to_string(ir::kMaxGraphNesting) + " levels");
      ++importer.depth_;
    }
    ~Deeper() { --importer.depth_; }
    GraphImporter &importer;
  };

  const ImportJob &job_;
  Opsets modelOpsets_;
  Functions functions_;
  std::vector<const onnx::FunctionProto *> calls_; // being imported, outermost first
  Scope *scope_ = nullptr;                         // of the importer that runs now
  llvm::StringSet<> symbolsSeen_;
  bool tooLarge_ = false;
  size_t work_ = 0;
  int depth_ = 0;
};

// --- The whole model ----------------------------------------------------------------------------

ir::Graph GraphImporter::run() {
  const onnx::GraphProto &graph = job_.model.graph();
  ir::GraphBuilder builder;
  Scope scope(builder, modelOpsets_);
  addInputs(graph, scope);
  addInitializers(graph, scope);
  importNodes(graph.node(), scope);
  for (const onnx::ValueInfoProto &declared : graph.value_info())
    compareDeclared(declared, "value", scope);
  addOutputs(graph, scope);
  checkSymbols();
  return builder.finish();
}

// --- Inputs, initializers, outputs --------------------------------------------------------------

void GraphImporter::addInputs(const onnx::GraphProto &graph, Scope &scope) {
  llvm::StringMap<const onnx::TensorProto *> initializers;
  for (const onnx::TensorProto &initializer : graph.initializer())
    initializers.try_emplace(initializer.name(), &initializer);

  for (const onnx::ValueInfoProto &input : graph.input()) {
    const onnx::TensorProto *initializer = initializers.lookup(input.name());
    // Before defaults came up, every initializer had to be listed among the inputs.
    if (initializer && job_.model.ir_version() < kFirstIrVersionWithDefaults)
      continue;
    if (input.name().empty())
      block(Error("a graph input has no name"));
    else if (scope.values.count(input.name()))
      block(Error("is there twice").at("input " + quoted(input.name())));
    else
      addInput(input, initializer, scope);
  }
}

void GraphImporter::addInput(const onnx::ValueInfoProto &input,
                             const onnx::TensorProto *initializer, Scope &scope) {
  const std::string item = "input " + quoted(input.name());
  ir::Fact fact;
  try {
    fact = factOfInput(input);
  } catch (Error &e) {
    block(e.at(item));
  }
  const ir::ValueId value = scope.builder.addInput(input.name(), fact);
  scope.values[input.name()] = value;
  if (initializer)
    addDefault(value, input, *initializer, scope.builder);
}

void GraphImporter::addDefault(ir::ValueId input, const onnx::ValueInfoProto &declared,
                               const onnx::TensorProto &tensor, ir::GraphBuilder &builder) {
  Initializer initializer{&tensor, false, nullptr};
  const ir::ConstRef data = read(declared.name(), initializer);
  const ir::Fact &fact = builder.fact(input);
  if (!data || !fact.known)
    return;
  const ir::Fact given = ir::factOf(data);
  bool fits = given.dtype == fact.dtype && given.rank() == fact.rank();
  for (int axis = 0; fits && axis < fact.rank(); ++axis)
    fits = !fact.shape[axis].isConstant() || fact.shape[axis] == given.shape[axis];
  if (!fits)
    return block(Error("its default is " + ir::makeFact(given.dtype, given.shape).str() +
                       ", the input is " + ir::makeFact(fact.dtype, fact.shape).str())
                     .at("input " + quoted(declared.name())));
  builder.setDefault(input, data);
}

ir::Fact GraphImporter::factOfInput(const onnx::ValueInfoProto &input) {
  if (!input.type().has_tensor_type())
    throw Error("is no tensor, or has no type; a tensor was expected");
  const onnx::TypeProto::Tensor &type = input.type().tensor_type();
  const DType dtype = requireDType(type.elem_type());
  if (!type.has_shape())
    throw Error("has no shape; at least its rank must be known");
  const int rank = type.shape().dim_size();
  if (rank > kMaxRank)
    throw Error("has rank " + std::to_string(rank) + ", at most " + std::to_string(kMaxRank) +
                " is supported");
  ir::Shape shape;
  for (int axis = 0; axis < rank; ++axis)
    shape.push_back(dimOfInput(input, axis));
  return ir::makeFact(dtype, shape);
}

ir::Dim GraphImporter::dimOfInput(const onnx::ValueInfoProto &input, int axis) {
  const onnx::TensorShapeProto::Dimension &dim = input.type().tensor_type().shape().dim(axis);
  // Some exporters write -1 for a length that they do not know.
  if (dim.has_dim_value() && dim.dim_value() != -1) {
    if (dim.dim_value() < 0)
      throw Error("axis " + std::to_string(axis) + " has length " +
                  std::to_string(dim.dim_value()));
    return dim.dim_value();
  }
  const std::string symbol =
      dim.dim_param().empty() ? input.name() + ".dim" + std::to_string(axis) : dim.dim_param();
  symbolsSeen_.insert(symbol);
  const auto fixed = job_.options.symbols.find(symbol);
  if (fixed == job_.options.symbols.end())
    return ir::Dim::symbol(symbol);
  return fixed->second;
}

void GraphImporter::checkSymbols() {
  std::vector<std::string> unused;
  for (const auto &entry : job_.options.symbols)
    if (!symbolsSeen_.count(entry.first()))
      unused.push_back(entry.first().str());
  std::sort(unused.begin(), unused.end());
  for (const std::string &name : unused)
    warn("symbol " + quoted(name) + " was given a value, but no input has it");
}

void GraphImporter::addInitializers(const onnx::GraphProto &graph, Scope &scope) {
  llvm::StringSet<> names;
  for (const onnx::TensorProto &initializer : graph.initializer()) {
    const std::string item = "initializer " + quoted(initializer.name());
    if (!names.insert(initializer.name()).second)
      block(Error("is there twice").at(item));
    else if (!scope.values.count(initializer.name()))
      scope.initializers[initializer.name()].tensor = &initializer;
  }
  for (const onnx::SparseTensorProto &initializer : graph.sparse_initializer()) {
    const std::string &name = initializer.values().name();
    block(Error("sparse tensors are not supported").at("initializer " + quoted(name)));
    scope.values[name] = unknownValue(name, "a sparse initializer", scope);
  }
}

void GraphImporter::addOutputs(const onnx::GraphProto &graph, Scope &scope) {
  llvm::StringSet<> names;
  for (const onnx::ValueInfoProto &output : graph.output()) {
    const std::string &name = output.name();
    std::optional<ir::ValueId> value = lookup(name, scope);
    if (!value || !value->valid()) {
      block(Error("is not made by any node, and is no input or initializer")
                .at("output " + quoted(name)));
      value = unknownValue(name, "an output that nothing makes", scope);
    }
    if (!scope.outer && !names.insert(name).second) {
      warn("output " + quoted(name) + " is there twice, the second was left out");
      continue;
    }
    scope.builder.addOutput(*value, name);
    if (!scope.outer)
      compareDeclared(output, "output", scope);
  }
}

// What the file says of a value, where inference says otherwise, is only worth a warning: exporters
// leave wrong and stale shapes behind.
void GraphImporter::compareDeclared(const onnx::ValueInfoProto &declared, const char *what,
                                    const Scope &scope) {
  const auto found = scope.values.find(declared.name());
  if (found == scope.values.end() || !found->second.valid() || !declared.type().has_tensor_type())
    return;
  const ir::Fact &fact = scope.builder.fact(found->second);
  if (!fact.known)
    return;
  const onnx::TypeProto::Tensor &type = declared.type().tensor_type();
  const std::string subject = std::string(what) + " " + quoted(declared.name());
  const std::string inferred = ir::makeFact(fact.dtype, fact.shape).str();
  if (type.elem_type() != 0 && dtypeOf(type.elem_type()) != fact.dtype)
    return warn(subject + " is declared as " + typeName(type.elem_type()) + ", but is " + inferred);
  if (!type.has_shape())
    return;
  // Where nothing is known, some write a shape without axes.
  const int rank = type.shape().dim_size();
  if (rank != 0 && rank != fact.rank())
    return warn(subject + " is declared with rank " + std::to_string(rank) + ", but is " +
                inferred);
  for (int axis = 0; axis < rank; ++axis) {
    const onnx::TensorShapeProto::Dimension &dim = type.shape().dim(axis);
    if (!dim.has_dim_value() || dim.dim_value() < 0 || !fact.shape[axis].isConstant())
      continue;
    if (!fact.shape[axis].is(dim.dim_value()))
      return warn(subject + " is declared with length " + std::to_string(dim.dim_value()) +
                  " in axis " + std::to_string(axis) + ", but is " + inferred);
  }
}

// --- Values by name -----------------------------------------------------------------------------

// Absent if nothing has the name. Initializers, and constants of the graphs around a subgraph,
// become constants of the graph that uses them; other values from around it are its inputs already
// (importSubgraph).
std::optional<ir::ValueId> GraphImporter::lookup(const std::string &name, Scope &scope) {
  const auto known = scope.values.find(name);
  if (known != scope.values.end())
    return known->second;
  for (Scope *from = &scope; from; from = from->outer) {
    const auto value = from->values.find(name);
    if (value != from->values.end()) {
      const ir::ConstRef data =
          value->second.valid() ? from->builder.fact(value->second).constant : nullptr;
      if (!data)
        return std::nullopt;
      return constantFor(name, data, scope);
    }
    const auto initializer = from->initializers.find(name);
    if (initializer != from->initializers.end())
      return constantFor(name, read(name, initializer->second), scope);
  }
  return std::nullopt;
}

ir::ValueId GraphImporter::constantFor(const std::string &name, const ir::ConstRef &data,
                                       Scope &scope) {
  ir::ValueId value;
  if (data) {
    scope.builder.setOrigin("", "");
    value = scope.builder.constant(data, "", scope.valueName(name));
  } else {
    value = unknownValue(name, "an initializer that could not be read", scope);
  }
  scope.values[name] = value;
  return value;
}

// Null if it cannot be read; that is reported once.
ir::ConstRef GraphImporter::read(const std::string &name, Initializer &initializer) {
  if (initializer.read)
    return initializer.data;
  initializer.read = true;
  try {
    initializer.data = job_.tensors.read(*initializer.tensor);
  } catch (Error &e) {
    block(e.at("initializer " + quoted(name)));
  }
  return initializer.data;
}

ir::ValueId GraphImporter::unknownValue(const std::string &name, const std::string &reason,
                                        Scope &scope) {
  scope.builder.setOrigin("", "");
  ir::Unsupported op;
  op.reason = reason;
  return scope.builder.add(op, {}, "", {scope.valueName(name)})[0];
}

// --- Nodes --------------------------------------------------------------------------------------

void GraphImporter::importNodes(const NodeList &nodes, Scope &scope) {
  llvm::StringMap<std::string> makers;
  NameLists makes, uses;
  for (const onnx::NodeProto &node : nodes) {
    makes.push_back(claimOutputs(node, makers, scope));
    uses.emplace_back(node.input().begin(), node.input().end());
    for (std::string &name : capturedNames(node))
      uses.back().push_back(std::move(name));
  }

  const NodeOrder order = orderOf(makes, uses);
  if (!order.stuck.empty())
    block(Error("the graph has a cycle: " + cycleText(order.cycle, nodes, makes, uses)));
  for (size_t i : order.stuck) {
    const Site site = siteOf(nodes[static_cast<int>(i)], makes[i], scope);
    leaveOut(site, {}, "behind a cycle", scope);
  }
  for (size_t i : order.order)
    importNode(nodes[i], makes[i], scope);
}

// The node's output names, "" for those that something else has already.
std::vector<std::string> GraphImporter::claimOutputs(const onnx::NodeProto &node,
                                                     llvm::StringMap<std::string> &makers,
                                                     const Scope &scope) {
  std::vector<std::string> outputs = withoutTrailingBlanks(node.output());
  for (std::string &output : outputs) {
    if (output.empty())
      continue;
    std::string other;
    if (scope.defines(output))
      other = "an input or initializer";
    else if (const auto maker = makers.find(output); maker != makers.end())
      other = "a result of node " + quoted(maker->second);
    if (other.empty()) {
      makers[output] = nameOf(node);
      continue;
    }
    block(Error("has the name of " + other).at("output " + quoted(output)),
          siteOf(node, {}, scope));
    output.clear();
  }
  return outputs;
}

void GraphImporter::spend(size_t work) {
  work_ += work;
  tooLarge_ = work_ > kMaxWork;
  if (tooLarge_)
    throw Error(
        "is too large: more than " + std::to_string(kMaxWork) +
        " nodes, operands and attributes, with the bodies of functions counted for each call");
}

void GraphImporter::importNode(const onnx::NodeProto &node, std::vector<std::string> outputs,
                               Scope &scope) {
  spend(1 + node.input_size() + node.output_size() + node.attribute_size() + nestedNodes(node) +
        scope.prefix.size() / 64);
  const Site site = siteOf(node, std::move(outputs), scope);
  if (!refersToBindings(node))
    return importResolved(site, scope);
  if (!scope.bindings) {
    block(Error("an attribute refers to a function's attribute, but the node is in no function"),
          site);
    bool usable;
    return leaveOut(site, operandsOf(site, scope, usable), "a reference without a function", scope);
  }
  const onnx::NodeProto bound = resolved(node, *scope.bindings);
  importResolved({bound, site.name, site.op, site.inputs, site.outputs}, scope);
}

// A row of the table first, then a function of the model.
void GraphImporter::importResolved(const Site &site, Scope &scope) {
  const onnx::NodeProto &node = site.node;
  const llvm::StringRef domain = canonicalDomain(node.domain());
  const onnx::FunctionProto *function = functions_.find(node);
  const std::optional<int> opset = opsetOf(domain, scope);
  // An overload names one of the model's own functions.
  const ImporterRow *row =
      opset && node.overload().empty() ? findImporter(domain, node.op_type(), *opset) : nullptr;
  if (row)
    return importByRow(*row, *opset, site, scope);
  if (function && !isPlanned(domain, node.op_type()))
    return importCall(*function, site, scope);

  const Error fault =
      opset ? noImporter(domain, node.op_type(), *opset)
            : Error("the domain " + domainText(domain) + " is not imported (opset_import)");
  block(fault, site);
  bool usable;
  leaveOut(site, operandsOf(site, scope, usable), fault.what(), scope);
}

// A function's body may use the model's imports for what it does not import itself.
std::optional<int> GraphImporter::opsetOf(llvm::StringRef domain, const Scope &scope) const {
  const std::optional<int> version = scope.opsets.find(domain);
  return version ? version : modelOpsets_.find(domain);
}

ir::Values GraphImporter::operandsOf(const Site &site, Scope &scope, bool &usable) {
  ir::Values operands;
  usable = true;
  for (const std::string &name : site.inputs) {
    if (name.empty()) {
      operands.push_back(ir::kNoValue);
      continue;
    }
    std::optional<ir::ValueId> value = lookup(name, scope);
    if (!value) {
      block(Error("is not made by any node, and is no input or initializer")
                .at("input " + quoted(name)),
            site);
      value = unknownValue(name, "a name that nothing makes", scope);
      scope.values[name] = *value;
    }
    operands.push_back(*value);
    usable &= !value->valid() || scope.builder.fact(*value).known;
  }
  return operands;
}

void GraphImporter::importByRow(const ImporterRow &row, int opset, const Site &site, Scope &scope) {
  bool usable;
  ir::Values operands = operandsOf(site, scope, usable);
  while (!operands.empty() && !operands.back().valid())
    operands.pop_back();

  std::vector<Error> faults;
  checkCounts(row, site, faults);
  checkAttributes(row, site.node, faults);
  for (const Error &fault : faults)
    block(fault, site);
  if (!faults.empty())
    return leaveOut(site, operands, faults.front().what(), scope);
  if (!usable)
    return leaveOut(site, operands, "an operand is unknown", scope);

  try {
    if (!operands.empty() && operands[0].valid())
      checkType(row, site, scope.builder.fact(operands[0]).dtype);
    runImporter(row, opset, site, operands, scope);
  } catch (Error &e) {
    if (endsImport(e))
      throw tooLarge_ ? e : e.inNode(printable(site.name), site.op);
    block(e, site);
    leaveOut(site, operands, e.what(), scope);
  }
}

void GraphImporter::runImporter(const ImporterRow &row, int opset, const Site &site,
                                llvm::ArrayRef<ir::ValueId> operands, Scope &scope) {
  std::vector<std::string> outputNames;
  for (const std::string &output : site.outputs)
    outputNames.push_back(output.empty() ? "" : scope.valueName(output));

  scope.builder.setOrigin(site.name, site.op);
  const Attributes attributes(site.node, &job_.tensors);
  ImportContext context(attributes, opset, scope.builder, operands, site.inputs, outputNames,
                        *this);

  struct Restore {
    Scope *&slot, *value;
    ~Restore() { slot = value; }
  } restore{scope_, scope_};
  scope_ = &scope;
  row.import(context);

  for (size_t i = 0; i < site.outputs.size(); ++i) {
    if (site.outputs[i].empty())
      continue;
    if (!context.results()[i].valid())
      throw Error::internal("the importer left an output without a value")
          .at("output " + quoted(site.outputs[i]));
    scope.values[site.outputs[i]] = context.results()[i];
  }
}

// Stands in for a node that could not be imported, so that a dump shows the whole model.
void GraphImporter::leaveOut(const Site &site, llvm::ArrayRef<ir::ValueId> operands,
                             const std::string &reason, Scope &scope) {
  ir::Unsupported op;
  op.domain = canonicalDomain(site.node.domain()).str();
  op.type = site.node.op_type();
  op.reason = reason;
  op.results = static_cast<int64_t>(site.outputs.size());
  if (op.results == 0)
    return;

  ir::Values present;
  for (ir::ValueId operand : operands)
    if (operand.valid())
      present.push_back(operand);
  std::vector<std::string> names;
  llvm::SmallVector<bool, 4> wanted;
  for (const std::string &output : site.outputs) {
    names.push_back(output.empty() ? "" : scope.valueName(output));
    wanted.push_back(!output.empty());
  }
  scope.builder.setOrigin(site.name, site.op);
  const ir::Values results = scope.builder.add(op, present, "", names, wanted);
  for (size_t i = 0; i < site.outputs.size(); ++i)
    if (!site.outputs[i].empty())
      scope.values[site.outputs[i]] = results[i];
}

// --- Functions ----------------------------------------------------------------------------------

void GraphImporter::importCall(const onnx::FunctionProto &function, const Site &site,
                               Scope &scope) {
  try {
    const Deeper guard(*this);
    if (llvm::is_contained(calls_, &function))
      throw Error("the model-local function calls itself");
    const Opsets opsets = Opsets::of(function);
    const AttributeBindings bindings = bindAttributes(function, site.node);
    Scope body(scope.builder, opsets);
    body.bindings = &bindings;
    body.prefix = site.name + ".";
    spend(function.input_size() + function.output_size() + function.attribute_size() +
          function.attribute_proto_size());
    bindInputs(function, site, scope, body);

    struct Pop {
      std::vector<const onnx::FunctionProto *> &calls;
      ~Pop() { calls.pop_back(); }
    };
    calls_.push_back(&function);
    const Pop pop{calls_};
    importNodes(function.node(), body);
    bindOutputs(function, site, body, scope);
  } catch (Error &e) {
    if (endsImport(e))
      throw;
    block(e, site);
    bool usable;
    leaveOut(site, operandsOf(site, scope, usable), e.what(), scope);
  }
}

void GraphImporter::bindInputs(const onnx::FunctionProto &function, const Site &site, Scope &caller,
                               Scope &body) {
  const size_t formals = function.input_size();
  if (site.inputs.size() > formals)
    throw Error("the model-local function takes " + std::to_string(formals) +
                " inputs, the node has " + std::to_string(site.inputs.size()));
  if (site.outputs.size() > size_t(function.output_size()))
    throw Error("the model-local function has " + std::to_string(function.output_size()) +
                " outputs, the node names " + std::to_string(site.outputs.size()));

  bool usable;
  const ir::Values operands = operandsOf(site, caller, usable);
  for (size_t i = 0; i < formals; ++i)
    body.values[function.input(i)] = i < operands.size() ? operands[i] : ir::kNoValue;
  for (size_t i = 0; i < site.outputs.size(); ++i)
    if (!site.outputs[i].empty())
      body.renamed.try_emplace(function.output(i), caller.valueName(site.outputs[i]));
}

void GraphImporter::bindOutputs(const onnx::FunctionProto &function, const Site &site, Scope &body,
                                Scope &caller) {
  for (size_t i = 0; i < site.outputs.size(); ++i) {
    const std::string &name = site.outputs[i];
    if (name.empty())
      continue;
    std::optional<ir::ValueId> value = lookup(function.output(i), body);
    if (!value || !value->valid()) {
      block(Error("is not made by the body of the model-local function")
                .at("output " + quoted(function.output(i))),
            site);
      value = unknownValue(name, "a result that the function does not make", caller);
    }
    caller.values[name] = *value;
  }
}

// --- Subgraphs ----------------------------------------------------------------------------------

// Every graph of the node gets the same inputs: all that any of them takes from around it,
// constants excepted.
ir::GraphRef GraphImporter::importSubgraph(const onnx::GraphProto &graph,
                                           const onnx::NodeProto &node, ir::Values &captures) {
  const Deeper guard(*this);
  if (graph.input_size() > 0)
    throw Error("the subgraph " + quoted(graph.name()) + " has inputs, none were expected");

  Scope &outer = *scope_;
  ir::GraphBuilder builder;
  Scope scope(builder, outer.opsets);
  scope.outer = &outer;
  scope.bindings = outer.bindings;
  scope.prefix = outer.prefix;

  captureInputs(graph, node, scope, captures);
  addInitializers(graph, scope);
  importNodes(graph.node(), scope);
  addOutputs(graph, scope);
  return std::make_shared<const ir::Graph>(builder.finish());
}

void GraphImporter::captureInputs(const onnx::GraphProto &graph, const onnx::NodeProto &node,
                                  Scope &scope, ir::Values &captures) {
  const Scope &outer = *scope.outer;
  llvm::StringMap<ir::ValueId> captured;
  ir::Values inputs; // of this graph, one a capture
  for (const std::string &name : capturedNames(node)) {
    const auto found = outer.values.find(name);
    if (found == outer.values.end())
      continue;
    const ir::ValueId value = found->second;
    if (!value.valid()) {
      captured[name] = ir::kNoValue;
      continue;
    }
    ir::Fact fact = outer.builder.fact(value);
    if (fact.constant)
      continue;
    const size_t index = llvm::find(captures, value) - captures.begin();
    if (index == captures.size())
      captures.push_back(value);
    if (index == inputs.size())
      inputs.push_back(scope.builder.addInput(scope.valueName(name), std::move(fact)));
    captured[name] = inputs[index];
  }
  // What another of the node's graphs takes from outside may be the name of something of this
  // graph's own.
  for (const std::string &name : freeNames(graph)) {
    const auto found = captured.find(name);
    if (found != captured.end())
      scope.values[name] = found->second;
  }
}

// --- What importers see -------------------------------------------------------------------------

ir::ValueId ImportContext::required(size_t i, llvm::StringRef inputName) const {
  if (!has(i))
    throw Error("is missing").at("input " + quoted(inputName));
  return inputs_[i];
}

ir::ConstRef ImportContext::constant(size_t i, llvm::StringRef inputName) const {
  const ir::ConstRef data = b.fact(required(i, inputName)).constant;
  if (!data)
    throw Error("is computed when the model runs, a constant was expected")
        .at("input " + quoted(inputName));
  return data;
}

std::optional<llvm::SmallVector<ir::Dim, 4>> ImportContext::contents(size_t i) const {
  if (!has(i))
    return std::nullopt;
  return fact(i).contents;
}

void ImportContext::set(size_t i, ir::ValueId value) {
  if (wants(i))
    outputs_[i] = value;
}

void ImportContext::emit(ir::Op op, llvm::ArrayRef<ir::ValueId> operands) {
  set(0, b.add1(std::move(op), operands, "", outputName(0)));
}

ir::ValueId ImportContext::add(ir::Op op, llvm::ArrayRef<ir::ValueId> operands,
                               llvm::StringRef suffix) {
  return b.add1(std::move(op), operands, suffix);
}

ir::GraphRef ImportContext::importSubgraph(const onnx::GraphProto &graph, ir::Values &captures) {
  return importer_.importSubgraph(graph, attrs.node(), captures);
}

ir::Graph importModel(const ImportJob &job) { return GraphImporter(job).run(); }

} // namespace engine::frontend
