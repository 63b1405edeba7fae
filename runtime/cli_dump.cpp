#include "frontend/quote.h"
#include "ir/text.h"
#include "runtime/cli.h"
#include "runtime/session_impl.h"

#include "llvm/ADT/MapVector.h"

namespace engine::cli {

namespace {

using Json = nlohmann::json;

// --- JSON ----------------------------------------------------------------------------------------

Json graphJson(const ir::Graph &graph);

// The value of one field of an operator.
struct FieldJson {
  Json operator()(bool value) const { return value; }
  Json operator()(int64_t value) const { return value; }
  Json operator()(const std::string &value) const { return value; }
  Json operator()(DType value) const { return dtypeName(value); }
  Json operator()(const ir::Dim &value) const {
    return value.constant() ? Json(*value.constant()) : Json(value.str());
  }
  Json operator()(float value) const {
    return std::isfinite(value) ? Json(value) : Json(std::to_string(value));
  }
  Json operator()(const Band &band) const {
    auto end = [](int64_t value) { return value == Band::kOpen ? Json() : Json(value); };
    return {end(band.left), end(band.right)};
  }
  Json operator()(const ir::ConstRef &data) const {
    if (!data)
      return {};
    Json json = {{"dtype", dtypeName(data->dtype)},
                 {"shape", std::vector<int64_t>(data->dims.begin(), data->dims.end())},
                 {"bytes", data->bytes}};
    if (!data->file.empty())
      json.update({{"file", data->file}, {"offset", data->offset}});
    return json;
  }
  Json operator()(const ir::GraphRef &graph) const { return graph ? graphJson(*graph) : Json(); }
  template <class E>
  requires std::is_enum_v<E> Json operator()(E value) const {
    return enumNames(value)[static_cast<size_t>(value)];
  }
  template <class T, unsigned N> Json operator()(const llvm::SmallVector<T, N> &values) const {
    Json json = Json::array();
    for (const T &value : values)
      json.push_back((*this)(value));
    return json;
  }
};

Json factJson(const ir::Fact &fact) {
  if (!fact.known)
    return {{"known", false}};
  return {{"dtype", dtypeName(fact.dtype)}, {"shape", FieldJson()(fact.shape)}};
}

Json nodeJson(const ir::Graph &graph, const ir::Node &node) {
  auto names = [&](llvm::ArrayRef<ir::ValueId> values) {
    Json json = Json::array();
    for (ir::ValueId value : values)
      json.push_back(value.valid() ? Json(graph.value(value).name) : Json());
    return json;
  };
  Json fields = Json::object();
  std::visit(
      [&](const auto &op) {
        std::decay_t<decltype(op)>::fields(
            op, [&](const char *name, const auto &value) { fields[name] = FieldJson()(value); });
      },
      node.op);
  Json types = Json::array();
  for (ir::ValueId value : node.results)
    types.push_back(value.valid() ? factJson(graph.fact(value)) : Json());
  return {{"name", node.name},
          {"op", ir::opName(node.op)},
          {"onnx", node.onnx},
          {"fields", fields},
          {"operands", names(node.operands)},
          {"results", names(node.results)},
          {"types", std::move(types)}};
}

Json graphJson(const ir::Graph &graph) {
  Json inputs = Json::array(), outputs = Json::array(), nodes = Json::array();
  auto valueJson = [&](ir::ValueId value, const std::string &name) {
    Json json = factJson(graph.fact(value));
    json["name"] = name;
    return json;
  };
  for (ir::ValueId input : graph.inputs()) {
    Json json = valueJson(input, graph.value(input).name);
    json["default"] = llvm::any_of(
        graph.defaults(), [&](const ir::InputDefault &entry) { return entry.input == input; });
    inputs.push_back(std::move(json));
  }
  for (const ir::Node &node : graph.nodes())
    nodes.push_back(nodeJson(graph, node));
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    Json json = valueJson(graph.outputs()[i], graph.outputNames()[i]);
    json["value"] = graph.value(graph.outputs()[i]).name;
    outputs.push_back(std::move(json));
  }
  return {{"inputs", inputs}, {"nodes", nodes}, {"outputs", outputs}};
}

// --- Summary -------------------------------------------------------------------------------------

struct Counts {
  llvm::MapVector<llvm::StringRef, int64_t> operators; // those of If's graphs too
  int64_t nodes = 0, parameters = 0, bytes = 0;

  void add(const ir::Graph &graph) {
    for (const ir::Node &node : graph.nodes()) {
      if (const auto *constant = node.as<ir::Const>()) {
        parameters += constant->data->count();
        bytes += static_cast<int64_t>(constant->data->bytes);
        continue;
      }
      ++nodes;
      ++operators[ir::opName(node.op)];
      if (const auto *branch = node.as<ir::If>()) {
        add(*branch->thenGraph);
        add(*branch->elseGraph);
      }
    }
  }
};

Json summaryJson(const ir::Graph &graph) {
  Counts counts;
  counts.add(graph);
  Json operators = Json::object();
  for (const auto &[name, count] : counts.operators)
    operators[name.str()] = count;
  return {{"nodes", counts.nodes},
          {"operators", operators},
          {"parameters", counts.parameters},
          {"bytes", counts.bytes}};
}

std::string summaryText(const ir::Graph &graph) {
  Counts counts;
  counts.add(graph);
  std::string text = "nodes       " + std::to_string(counts.nodes) + "\n" + "parameters  " +
                     std::to_string(counts.parameters) + "\n" + "bytes       " +
                     std::to_string(counts.bytes) + "\n";
  auto sorted = counts.operators.takeVector();
  llvm::stable_sort(sorted, [](const auto &a, const auto &b) { return a.second > b.second; });
  for (const auto &[name, count] : sorted) {
    std::string number = std::to_string(count);
    number.insert(0, 8 - std::min<size_t>(number.size(), 8), ' ');
    text += number + "  " + name.str() + "\n";
  }
  return text;
}

} // namespace

int dump(const DumpCommand &command) {
  PartialModel partial = loadPartial(command);
  ir::Model &model = partial.model;
  lowering::PipelineOptions pipeline = detail::pipelineOptions({});
  pipeline.stopAfter = command.after;
  try {
    model.graph = lowering::runPasses(std::move(model.graph), pipeline);
  } catch (Error &error) {
    throw error.inFile(command.model);
  }

  if (command.json) {
    Json json = command.summary ? summaryJson(model.graph) : graphJson(model.graph);
    json["model"] = command.model;
    json["producer"] = model.producer;
    json["after"] = command.after;
    printJson(json);
  } else if (command.summary) {
    print(summaryText(model.graph));
  } else {
    std::string text;
    llvm::raw_string_ostream os(text);
    ir::print(model, os);
    print(os.str());
  }
  return partial.status;
}

} // namespace engine::cli
