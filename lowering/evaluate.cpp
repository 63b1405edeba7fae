#include "lowering/evaluate.h"

#include "ir/infer.h"

namespace engine::lowering {

namespace {

struct Buffer {
  explicit Buffer(int64_t bytes) : memory(static_cast<size_t>(bytes) + 64) {
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    aligned = memory.data() + (64 - address % 64) % 64;
  }
  std::vector<char> memory;
  char *aligned;
};

const KernelRow &referenceRow(const ir::Op &op) {
  for (const KernelRow &row : referenceRows())
    if (row.op == op.index())
      return row;
  throw Error::internal(std::string("no reference kernel for ") + ir::opName(op));
}

llvm::SmallVector<int64_t, 4> concreteDims(const ir::Fact &fact) {
  llvm::SmallVector<int64_t, 4> dims;
  for (const ir::Dim &dim : fact.shape) {
    if (!dim.isConstant())
      throw Error("shape " + fact.str() + " is not constant");
    dims.push_back(*dim.constant());
  }
  return dims;
}

} // namespace

std::vector<ir::ConstRef> evaluateNode(const ir::Node &node,
                                       llvm::ArrayRef<ir::ConstRef> operands) {
  ir::GraphBuilder builder;
  ir::Values values;
  llvm::SmallVector<View, 8> views;
  for (const ir::ConstRef &operand : operands) {
    values.push_back(operand ? builder.constant(operand) : ir::kNoValue);
    views.push_back(operand ? viewOf(*operand) : View());
  }
  builder.setOrigin(node.name, node.onnx);
  llvm::SmallVector<bool, 4> wanted;
  for (ir::ValueId result : node.results)
    wanted.push_back(result.valid());
  const ir::Values made = builder.add(node.op, values, "", {}, wanted);
  for (ir::ValueId result : made)
    if (result.valid())
      builder.addOutput(result, "out" + std::to_string(result.index));
  const ir::Graph graph = builder.finish();
  const ir::Node &only = graph.nodes().back();

  std::vector<Buffer> buffers;
  llvm::SmallVector<View, 4> results;
  for (ir::ValueId result : only.results) {
    if (!result.valid()) {
      results.push_back(View());
      continue;
    }
    const ir::Fact &fact = graph.fact(result);
    const auto dims = concreteDims(fact);
    View view = makeView(nullptr, fact.dtype, dims);
    buffers.emplace_back(view.bytes());
    view.data = buffers.back().aligned;
    results.push_back(view);
  }

  const KernelOptions options;
  const KernelProblem problem{graph, only, options};
  const std::unique_ptr<Kernel> kernel = referenceRow(only.op).make(problem);
  const ir::SymbolValues symbols;
  KernelCall call{views, results, symbols};
  Buffer scratch(kernel->scratchBytes(call));
  call.scratch = scratch.aligned;
  kernel->run(call);

  std::vector<ir::ConstRef> constants;
  for (const View &view : results) {
    if (!view.present()) {
      constants.push_back(nullptr);
      continue;
    }
    constants.push_back(ir::makeConst(view.dtype, llvm::ArrayRef<int64_t>(view.dims, view.rank),
                                      view.data, static_cast<size_t>(view.bytes())));
  }
  return constants;
}

} // namespace engine::lowering
