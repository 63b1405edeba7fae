#include "lowering/inline_if.h"

#include "ir/infer.h"
#include "ir/op_dims.h"

#include "llvm/ADT/StringSet.h"

namespace engine::lowering {

using ir::Dim;
using ir::Fact;
using ir::Graph;
using ir::GraphBuilder;
using ir::Node;
using ir::ValueId;
using ir::Values;

// Symbols that stand alone among dims: those that a run binds there.
static void collectLone(llvm::ArrayRef<Dim> dims, llvm::StringSet<> &bound) {
  for (const Dim &dim : dims) {
    if (const std::optional<std::string> symbol = dim.asSymbol())
      bound.insert(*symbol);
  }
}

// Whether every dim in the operators follows from the captures or from shapes that the branch
// itself makes.
static bool bindsItsSymbols(const Graph &branch, const GraphBuilder &outside,
                            llvm::ArrayRef<ValueId> captures) {
  llvm::StringSet<> bound;
  for (size_t i = 0; i < captures.size(); ++i) {
    const Fact &input = branch.fact(branch.inputs()[i]);
    collectLone(input.shape, bound);
    if (input.contents && outside.fact(captures[i]).contents)
      collectLone(*input.contents, bound);
  }
  for (const Node &node : branch.nodes()) {
    llvm::SmallVector<std::string, 4> symbols;
    ir::collectSymbols(node.op, symbols);
    if (!llvm::all_of(symbols, [&](const std::string &symbol) { return bound.contains(symbol); }))
      return false;
    for (const ValueId result : node.results) {
      if (result.valid())
        collectLone(branch.fact(result).shape, bound);
    }
  }
  return true;
}

namespace {

class BranchCopy {
public:
  BranchCopy(GraphBuilder &builder, const Graph &branch)
      : builder_(builder), branch_(branch), values_(branch.numValues()) {}

  void bindInputs(llvm::ArrayRef<ValueId> captures) {
    for (size_t i = 0; i < captures.size(); ++i) {
      const ValueId input = branch_.inputs()[i];
      bind(input, captures[i]);
      if (branch_.fact(input).contents && builder_.fact(captures[i]).contents)
        bindDims(*branch_.fact(input).contents, *builder_.fact(captures[i]).contents);
    }
  }

  void copy(const Node &node) {
    Values operands;
    for (const ValueId operand : node.operands)
      operands.push_back(operand.valid() ? values_[operand.index] : ir::kNoValue);
    llvm::SmallVector<std::string, 2> names;
    llvm::SmallVector<bool, 2> wanted;
    for (const ValueId result : node.results) {
      names.push_back(result.valid() ? branch_.value(result).name : "");
      wanted.push_back(result.valid());
    }
    builder_.setOrigin(node.name, node.onnx);
    const Values results =
        builder_.add(ir::substitute(node.op, dims_), operands, "", names, wanted);
    for (size_t i = 0; i < node.results.size() && i < results.size(); ++i) {
      if (node.results[i].valid())
        bind(node.results[i], results[i]);
    }
  }

  ValueId output(size_t i) const { return values_[branch_.outputs()[i].index]; }

private:
  void bind(ValueId inside, ValueId outside) {
    values_[inside.index] = outside;
    bindDims(branch_.fact(inside).shape, builder_.fact(outside).shape);
  }

  void bindDims(llvm::ArrayRef<Dim> inside, llvm::ArrayRef<Dim> outside) {
    for (size_t i = 0; i < inside.size() && inside.size() == outside.size(); ++i) {
      if (const std::optional<std::string> symbol = inside[i].asSymbol())
        dims_.try_emplace(*symbol, outside[i]);
    }
  }

  GraphBuilder &builder_;
  const Graph &branch_;
  std::vector<ValueId> values_;
  llvm::StringMap<Dim> dims_;
};

} // namespace

bool inlineIf(ir::GraphRewriter &rewriter, const Node &node) {
  const ir::If &branches = std::get<ir::If>(node.op);
  GraphBuilder &builder = rewriter.builder();
  const Values operands = rewriter[node.operands];
  const auto condition = ir::constantContents(builder.fact(operands[0]));
  if (!condition || condition->size() != 1)
    return false;
  const Graph &branch = condition->front() != 0 ? *branches.thenGraph : *branches.elseGraph;
  const llvm::ArrayRef<ValueId> captures = llvm::ArrayRef<ValueId>(operands).drop_front();
  if (!bindsItsSymbols(branch, builder, captures))
    return false;
  BranchCopy copy(builder, branch);
  copy.bindInputs(captures);
  for (const Node &inner : branch.nodes())
    copy.copy(inner);
  for (size_t i = 0; i < node.results.size(); ++i)
    rewriter.map(node.results[i], copy.output(i));
  return true;
}

} // namespace engine::lowering
