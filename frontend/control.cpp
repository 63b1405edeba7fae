#include "frontend/importer.h"

#include "onnx-ml.pb.h"

namespace engine::frontend {

namespace {

// The value of whichever attribute is there; null if none is.
ir::ConstRef valueOf(const Attributes &attrs) {
  if (attrs.has("value"))
    return attrs.tensor("value");
  if (const std::optional<int64_t> value = attrs.integer("value_int"))
    return ir::makeIntConst(DType::kI64, {}, {*value});
  if (const auto values = attrs.integers("value_ints"))
    return ir::makeIntConst(DType::kI64, {static_cast<int64_t>(values->size())}, *values);
  if (const std::optional<float> value = attrs.real("value_float"))
    return ir::makeConst(DType::kF32, {}, &*value, sizeof(float));
  if (const auto values = attrs.reals("value_floats"))
    return ir::makeConst(DType::kF32, {static_cast<int64_t>(values->size())}, values->data(),
                         values->size() * sizeof(float));
  return nullptr;
}

void importConstant(ImportContext &c) {
  for (const char *name : {"value_string", "value_strings"})
    if (c.attrs.has(name))
      throw Error("strings are not supported").at(std::string("attribute '") + name + "'");
  if (c.attrs.has("sparse_value"))
    throw Error("sparse tensors are not supported").at("attribute 'sparse_value'");
  if (c.attrs.node().attribute_size() != 1)
    throw Error("the node has " + std::to_string(c.attrs.node().attribute_size()) +
                " attributes, exactly one value was expected");
  c.set(0, c.b.constant(valueOf(c.attrs), "", c.outputName(0)));
}

// No node: another name for its operand.
void importIdentity(ImportContext &c) { c.set(0, c.required(0, "input")); }

const onnx::GraphProto &branch(const ImportContext &c, llvm::StringRef name) {
  const onnx::GraphProto *graph = c.attrs.graph(name);
  if (!graph)
    throw Error("is missing").at("attribute '" + name.str() + "'");
  if (static_cast<size_t>(graph->output_size()) < c.numOutputs())
    throw Error("has " + std::to_string(graph->output_size()) + " outputs, the node has " +
                std::to_string(c.numOutputs()))
        .at("attribute '" + name.str() + "'");
  return *graph;
}

void importIf(ImportContext &c) {
  const onnx::GraphProto &thenBranch = branch(c, "then_branch");
  const onnx::GraphProto &elseBranch = branch(c, "else_branch");
  if (thenBranch.output_size() != elseBranch.output_size())
    throw Error("has " + std::to_string(elseBranch.output_size()) + " outputs, then_branch has " +
                std::to_string(thenBranch.output_size()))
        .at("attribute 'else_branch'");

  ir::Values captures;
  ir::If op;
  op.thenGraph = c.importSubgraph(thenBranch, captures);
  op.elseGraph = c.importSubgraph(elseBranch, captures);
  op.results = thenBranch.output_size();

  ir::Values operands{c.required(0, "cond")};
  operands.append(captures.begin(), captures.end());
  std::vector<std::string> names;
  llvm::SmallVector<bool, 4> wanted;
  for (int64_t i = 0; i < op.results; ++i) {
    names.push_back(c.outputName(i));
    wanted.push_back(c.wants(i));
  }
  const ir::Values results = c.b.add(op, operands, "", names, wanted);
  for (size_t i = 0; i < results.size(); ++i)
    c.set(i, results[i]);
}

constexpr const char *kConstantAttributes =
    "value:tensor value_int:int value_ints:ints value_float:float "
    "value_floats:floats value_string:string value_strings:strings "
    "sparse_value:sparse_tensor";

constexpr ImporterRow kRows[] = {
    {"", "Constant", 1, kLatest, 0, 0, 1, kConstantAttributes, "", importConstant,
     "value_string, value_strings and sparse_value"},
    {"", "Identity", 1, kLatest, 1, 1, 1, "", "", importIdentity, "sequences and optionals"},
    {"", "If", 1, kLatest, 1, 1, kLatest, "then_branch:graph else_branch:graph", "bool", importIf,
     "branches that give sequences or optionals; a branch that cannot be imported, even if it is "
     "never taken"},
};

} // namespace

llvm::ArrayRef<ImporterRow> controlImporters() { return kRows; }

} // namespace engine::frontend
