// Every operator of the IR has a reference kernel and occurs in a test case: what is listed in
// ir/ops.h is complete.
#include "frontend/load.h"
#include "kernels/kernel.h"
#include "lowering/select.h"

#include "doctest/doctest.h"

#include <filesystem>
#include <set>

using namespace engine;

namespace {

template <size_t... I> std::vector<ir::Op> oneOfEach(std::index_sequence<I...>) {
  return {ir::Op(std::in_place_index<I>)...};
}

std::vector<ir::Op> allOps() { return oneOfEach(std::make_index_sequence<ir::kNumOps>()); }

bool hasReferenceKernel(size_t op) {
  return llvm::any_of(referenceRows(), [&](const KernelRow &row) { return row.op == op; });
}

void collect(const ir::Graph &graph, std::set<size_t> &seen) {
  for (const ir::Node &node : graph.nodes()) {
    seen.insert(node.op.index());
    if (const auto *branch = node.as<ir::If>()) {
      collect(*branch->thenGraph, seen);
      collect(*branch->elseGraph, seen);
    }
  }
}

} // namespace

TEST_CASE(
    "op list: every operator that needs a kernel has a reference kernel that takes everything") {
  for (const ir::Op &op : allOps()) {
    if (!lowering::needsKernel(op) || std::holds_alternative<ir::Unsupported>(op))
      continue;
    const std::string name = ir::opName(op);
    CAPTURE(name);
    CHECK(hasReferenceKernel(op.index()));
  }
  for (const KernelRow &row : referenceRows()) {
    const std::string name = ir::opName(row.op);
    CAPTURE(name);
    CHECK(!row.whyNot);
    CHECK(row.acceptsStrides);
    CHECK(!row.decidesLate);
  }
}

TEST_CASE("op list: every operator occurs in a test case") {
  std::set<size_t> seen;
  for (const auto &entry : std::filesystem::directory_iterator("test_cases")) {
    const std::string model = (entry.path() / "model.onnx").string();
    if (!std::filesystem::exists(model))
      continue;
    try {
      frontend::Blockers blockers;
      collect(frontend::loadModel(model, {}, blockers).graph, seen);
    } catch (const Error &) {
      // Files that must be refused as a whole.
    }
  }
  for (const ir::Op &op : allOps()) {
    const std::string name = ir::opName(op);
    CAPTURE(name);
    CHECK(seen.count(op.index()) == 1);
  }
}
