#include "frontend/quote.h"
#include "ir/error.h"
#include "runtime/bundle.h"
#include "runtime/cli.h"
#include "runtime/session_impl.h"

namespace engine::cli {

namespace {

using Json = nlohmann::json;

constexpr TypicalSizes kAssumed{.batch = 1, .sequence = 1, .past = 1024};
constexpr const char *kBackends[] = {"cpu", "reference"};

std::string bandText(const Band &band) {
  auto end = [](int64_t value) { return value == Band::kOpen ? ".." : std::to_string(value); };
  std::string text = "[" + end(band.left) + ", " + end(band.right) + "]";
  if (band.open())
    return text + ": every key";
  if (band == kCausalBand)
    return text + ": causal";
  if (band.right == 0 && band.left >= 0)
    return text + ": causal, a window of the last " + std::to_string(band.left + 1);
  return text;
}

class Explainer {
public:
  Explainer(const ir::Graph &graph, llvm::StringMap<int64_t> symbols)
      : graph_(graph), symbols_(std::move(symbols)) {}

  Json run() {
    Json nodes = Json::array();
    for (const ir::Node &node : graph_.nodes())
      if (const auto *op = node.as<ir::Sdpa>())
        nodes.push_back(explain(node, *op));
    return nodes;
  }

  const std::map<std::string, int64_t> &assumed() const { return assumed_; }

private:
  Json explain(const ir::Node &node, const ir::Sdpa &op) {
    Json json = {{"name", node.name}, {"onnx", node.onnx}, {"band", bandText(op.band)}};
    // Where the first query stands among the keys.
    json["query_start"] = node.operand(ir::sdpa::queryStart).valid() ? "by batch entry"
                          : op.anchor == ir::Anchor::kKeyEnd
                              ? "so that the last query stands at the last key"
                              : sized(op.offset);
    json["scale"] = op.scale;
    json["softcap"] = op.softcap;
    const llvm::ArrayRef<ir::OperandSpec> specs = ir::operandSpecs(node.op);
    Json operands = Json::array();
    for (size_t i = 0; i < node.operands.size(); ++i)
      if (node.operands[i].valid())
        operands.push_back(
            {{"name", specs[i].name}, {"type", factText(graph_.fact(node.operands[i]))}});
    json["operands"] = operands;
    json["backends"] = Json::array();
    for (const char *backend : kBackends)
      json["backends"].push_back(selection(node, backend));
    return json;
  }

  Json selection(const ir::Node &node, const char *backend) const {
    lowering::SelectOptions options = detail::selectOptions({});
    options.backends = lowering::backendsFor(backend);
    Json json = {{"backend", backend}, {"kernel", nullptr}, {"objections", Json::array()}};
    try {
      const lowering::Selection selection = lowering::selectKernels(graph_, node, options);
      json["kernel"] = selection.rows.front()->name;
      // The first may still object to what it meets at run time.
      for (const KernelRow *row : llvm::drop_begin(selection.rows))
        json["otherwise"].push_back(row->name);
      for (const lowering::Objection &objection : selection.objections)
        json["objections"].push_back(
            {{"kernel", objection.row->name}, {"why", objection.sentence}});
    } catch (const Error &error) {
      json["error"] = error.what();
    }
    return json;
  }

  // "P + S = 1025"
  std::string sized(const ir::Dim &dim) {
    if (dim.isConstant())
      return dim.str();
    llvm::SmallVector<std::string, 4> names;
    dim.collectSymbols(names);
    for (const std::string &name : names) {
      if (symbols_.count(name))
        continue;
      if (const std::optional<int64_t> value = typicalValue(name, agreeing(kAssumed, symbols_)))
        symbols_[name] = assumed_[name] = *value;
    }
    const std::optional<int64_t> value = dim.tryEvaluate(symbols_);
    return value ? dim.str() + " = " + std::to_string(*value) : dim.str();
  }

  std::string factText(const ir::Fact &fact) {
    if (!fact.known)
      return "?";
    std::string text = std::string(dtypeName(fact.dtype)) + "[";
    for (const ir::Dim &dim : fact.shape)
      text += (text.back() == '[' ? "" : ", ") + sized(dim);
    text += "]";
    if (fact.contents) {
      text += " {";
      for (const ir::Dim &element : *fact.contents)
        text += (text.back() == '{' ? "" : ", ") + sized(element);
      text += "}";
    }
    return text;
  }

  const ir::Graph &graph_;
  llvm::StringMap<int64_t> symbols_;
  std::map<std::string, int64_t> assumed_;
};

std::string nodeText(const Json &node) {
  std::string text = node["name"].get<std::string>();
  if (node["onnx"] != "")
    text += "  (" + node["onnx"].get<std::string>() + ")";
  text += "\n";
  auto line = [&](std::string key, const std::string &value) {
    key.resize(std::max<size_t>(key.size() + 1, 12), ' ');
    text += "    " + key + value + "\n";
  };
  line("band", node["band"]);
  line("query 0 at", node["query_start"]);
  line("scale", node["scale"].dump() +
                    (node["softcap"] == 0.0 ? "" : ", softcap " + node["softcap"].dump()));
  std::vector<std::string> absent = {"bias", "mask", "keyLen"};
  for (const Json &operand : node["operands"]) {
    line(operand["name"], operand["type"]);
    std::erase(absent, operand["name"].get<std::string>());
  }
  for (const std::string &name : absent)
    line(name, name == "keyLen" ? "all keys" : "none");
  for (const Json &backend : node["backends"]) {
    const std::string name = backend["backend"];
    if (backend.contains("error")) {
      line(name, "no kernel: " + backend["error"].get<std::string>());
      continue;
    }
    std::string chosen = backend["kernel"];
    if (backend.contains("otherwise"))
      for (const Json &other : backend["otherwise"])
        chosen += ", or " + other.get<std::string>();
    line(name, chosen);
    for (const Json &objection : backend["objections"])
      line("", "not " + objection["kernel"].get<std::string>() + ": " +
                   objection["why"].get<std::string>());
  }
  return text;
}

// What the file says of its inputs, before any feed.
std::vector<ValueInfo> describeInputs(const ir::Graph &graph, llvm::ArrayRef<ir::ValueId> values,
                                      llvm::ArrayRef<std::string> names) {
  std::vector<ValueInfo> infos;
  for (size_t i = 0; i < values.size(); ++i) {
    ValueInfo info;
    info.name = names.empty() ? graph.value(values[i]).name : names[i];
    info.dtype = graph.fact(values[i]).dtype;
    for (const ir::Dim &dim : graph.fact(values[i]).shape)
      info.shape.push_back(dim.str());
    infos.push_back(std::move(info));
  }
  return infos;
}

} // namespace

int explain(const ExplainCommand &command) {
  PartialModel partial = loadPartial(command);
  const ir::Graph imported = std::move(partial.model.graph);
  llvm::StringMap<int64_t> symbols = symbolMap(parseSymbols(command.set));
  if (!command.inputBundle.empty()) {
    const std::vector<ValueInfo> inputs = describeInputs(imported, imported.inputs(), {});
    const Bundle bundle =
        readBundle(command.inputBundle, inputs,
                   describeInputs(imported, imported.outputs(), imported.outputNames()), true);
    for (const auto &symbol : symbolsOf(inputs, bundle.inputs))
      symbols.try_emplace(symbol.first(), symbol.second);
    // Values of single integers count as symbols too.
    for (ir::ValueId input : imported.inputs()) {
      const auto given = bundle.inputs.find(imported.value(input).name);
      const std::optional<llvm::SmallVector<ir::Dim, 4>> &contents = imported.fact(input).contents;
      if (given == bundle.inputs.end() || !contents || contents->size() != 1 ||
          given->second.count() != 1)
        continue;
      if (const auto symbol = contents->front().asSymbol())
        symbols.try_emplace(*symbol, given->second.dtype() == DType::kI64
                                         ? *given->second.as<int64_t>()
                                         : *given->second.as<int32_t>());
    }
  }
  ir::Graph graph;
  try {
    graph = lowering::runPasses(imported, detail::pipelineOptions({}));
  } catch (Error &error) {
    throw error.inFile(command.model);
  }
  Explainer explainer(graph, symbols);
  const Json nodes = explainer.run();
  if (command.json) {
    printJson({{"model", command.model}, {"assumed", explainer.assumed()}, {"nodes", nodes}});
    return partial.status;
  }
  print(std::to_string(nodes.size()) + " attention node" + (nodes.size() == 1 ? "" : "s") + "\n");
  if (!explainer.assumed().empty()) {
    std::string text = "unbound symbols are taken as 1 token over 1024:";
    const char *separator = " ";
    for (const auto &[name, value] : explainer.assumed()) {
      text += separator + name + " = " + std::to_string(value);
      separator = ", ";
    }
    print(text + "\n");
  }
  for (const Json &node : nodes)
    print("\n" + nodeText(node));
  return partial.status;
}

} // namespace engine::cli
