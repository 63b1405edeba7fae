#include "lowering/fold.h"

#include "ir/infer.h"
#include "lowering/branches.h"

namespace engine::lowering {

using ir::ConstRef;
using ir::Dim;
using ir::Fact;
using ir::Node;
using ir::ValueId;

// What exporters leave to be computed at each run is small: ranges, masks of positions, inverse
// frequencies. More would trade memory and dump size for arithmetic that costs less than reading
// the result, and the reference kernels that fold are slow.
static constexpr int64_t kMaxResult = 4096;
static constexpr int64_t kMaxOperand = 1 << 20;

static bool canFold(const ir::Op &op) {
  return !std::holds_alternative<ir::Const>(op) && !std::holds_alternative<ir::DimValues>(op) &&
         !std::holds_alternative<ir::If>(op) && !std::holds_alternative<ir::Unsupported>(op);
}

// The operands' constants, null where absent; nothing if one is no constant, or all are absent.
static std::vector<ConstRef> constantOperands(const ir::GraphBuilder &builder,
                                              llvm::ArrayRef<ValueId> operands) {
  std::vector<ConstRef> constants;
  bool some = false;
  for (const ValueId operand : operands) {
    const ConstRef constant = operand.valid() ? builder.fact(operand).constant : nullptr;
    if (operand.valid() && (!constant || constant->count() > kMaxOperand))
      return {};
    some |= operand.valid();
    constants.push_back(constant);
  }
  return some ? constants : std::vector<ConstRef>();
}

static bool isSmall(const Fact &fact) {
  int64_t count = 1;
  for (const Dim &dim : fact.shape) {
    const std::optional<int64_t> length = dim.constant();
    if (!length || *length > kMaxResult)
      return false;
    count *= *length;
    if (count > kMaxResult)
      return false;
  }
  return fact.known;
}

// The results, or none where the node is not to be folded. A node that throws stays: the error
// belongs to the run.
static std::vector<ConstRef> fold(const Node &node, llvm::ArrayRef<ConstRef> operands,
                                  const Evaluator &evaluate) {
  std::vector<Fact> facts;
  for (const ConstRef &operand : operands)
    facts.push_back(operand ? ir::factOf(operand) : Fact());
  llvm::SmallVector<const Fact *, 8> pointers;
  for (size_t i = 0; i < facts.size(); ++i)
    pointers.push_back(operands[i] ? &facts[i] : nullptr);
  try {
    const auto results = ir::inferResults(node.op, pointers, node.name);
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i].valid() && !isSmall(results[i]))
        return {};
    }
    return evaluate(node, operands);
  } catch (const Error &) {
    return {};
  }
}

static void mapResults(ir::GraphRewriter &rewriter, const Node &node,
                       llvm::ArrayRef<ConstRef> constants) {
  if (node.results.size() == 1) {
    rewriter.copyAs(node, ir::Const{constants[0]}, {});
    return;
  }
  ir::GraphBuilder &builder = rewriter.builder();
  for (size_t i = 0; i < node.results.size(); ++i) {
    if (!node.results[i].valid())
      continue;
    builder.setOrigin(node.name, node.onnx);
    const std::string &name = rewriter.from().value(node.results[i]).name;
    const std::string suffix = i == 0 ? "" : "result" + std::to_string(i);
    rewriter.map(node.results[i], builder.add1(ir::Const{constants[i]}, {}, suffix, name));
  }
}

static void foldNode(ir::GraphRewriter &rewriter, const Node &node, const Evaluator &evaluate) {
  std::vector<ConstRef> results;
  if (canFold(node.op)) {
    const auto operands = constantOperands(rewriter.builder(), rewriter[node.operands]);
    if (!operands.empty())
      results = fold(node, operands, evaluate);
  }
  if (results.empty())
    rewriter.copyAs(
        node,
        withBranches(node.op,
                     [&](const ir::Graph &branch) { return foldConstants(branch, evaluate); }),
        rewriter[node.operands]);
  else
    mapResults(rewriter, node, results);
}

ir::Graph foldConstants(const ir::Graph &graph, const Evaluator &evaluate) {
  ir::GraphRewriter rewriter(graph);
  for (const Node &node : graph.nodes())
    foldNode(rewriter, node, evaluate);
  return rewriter.finish();
}

} // namespace engine::lowering
