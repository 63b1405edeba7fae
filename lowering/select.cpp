#include "lowering/select.h"

#include "lowering/plan.h"

namespace engine::lowering {

namespace {

struct ForcedRow {
  llvm::StringRef op, row;
};

ForcedRow splitForced(llvm::StringRef text) {
  const auto parts = text.split(':');
  if (parts.first.empty() || parts.second.empty())
    throw Error("kernel '" + text.str() + "': expected OPERATOR:NAME, such as sdpa:reference");
  return {parts.first, parts.second};
}

// The row asked for must exist somewhere, or a misspelling would force nothing.
void checkForced(const SelectOptions &options) {
  for (const std::string &text : options.forced) {
    const ForcedRow forced = splitForced(text);
    std::string known;
    bool found = false;
    for (const Backend &backend : options.backends)
      for (const KernelRow &row : backend.rows) {
        if (forced.op != ir::opName(row.op))
          continue;
        found = found || forced.row == row.name;
        known += (known.empty() ? "" : ", ") + std::string(row.name);
      }
    if (!found)
      throw Error("there is no kernel '" + text + "'" +
                  (known.empty() ? "; no operator of that name has kernels"
                                 : "; the kernels of that operator are: " + known));
  }
}

std::string forcedRowOf(const ir::Op &op, const SelectOptions &options) {
  for (const std::string &text : options.forced) {
    const ForcedRow forced = splitForced(text);
    if (forced.op == ir::opName(op))
      return forced.row.str();
  }
  return {};
}

} // namespace

std::vector<Backend> backendsFor(llvm::StringRef name) {
  const Backend reference{"reference", referenceRows()};
  if (name == "reference")
    return {reference};
  if (name == "cpu")
    return {{"cpu", cpuRows()}, reference};
  throw Error("there is no backend '" + name.str() + "'; the backends are: cpu, reference");
}

bool needsKernel(const ir::Op &op) {
  return !std::holds_alternative<ir::Const>(op) && !std::holds_alternative<ir::DimValues>(op) &&
         !std::holds_alternative<ir::If>(op) && !isLayoutOp(op);
}

Selection selectKernels(const ir::Graph &graph, const ir::Node &node,
                        const SelectOptions &options) {
  checkForced(options);
  Selection selection;
  if (!needsKernel(node.op))
    return selection;
  const KernelProblem problem{graph, node, options.kernels};
  const std::string forced = forcedRowOf(node.op, options);
  bool settled = false;
  for (const Backend &backend : options.backends) {
    for (const KernelRow &row : backend.rows) {
      if (row.op != node.op.index())
        continue;
      std::string sentence = row.whyNot ? row.whyNot(problem) : std::string();
      if (!forced.empty() && forced != row.name) {
        if (sentence.empty())
          sentence = "another kernel is forced: " + forced;
      } else if (!forced.empty() && !sentence.empty()) {
        throw Error("the forced kernel '" + forced + "' cannot run: " + sentence)
            .inNode(node.name, node.onnx);
      }
      if (!sentence.empty()) {
        selection.objections.push_back({&row, std::move(sentence)});
        continue;
      }
      if (settled)
        continue;
      selection.rows.push_back(&row);
      settled = !row.decidesLate;
    }
  }
  if (selection.rows.empty())
    throw Error(std::string("no kernel for operator ") + ir::opName(node.op))
        .inNode(node.name, node.onnx);
  return selection;
}

} // namespace engine::lowering
