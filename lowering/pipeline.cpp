#include "lowering/pipeline.h"

#include "ir/infer.h"
#include "ir/text.h"
#include "lowering/attention_patterns.h"
#include "lowering/canonicalize.h"
#include "lowering/cse.h"
#include "lowering/evaluate.h"
#include "lowering/fold.h"
#include "lowering/kv_state.h"
#include "lowering/norm_patterns.h"
#include "lowering/quant_patterns.h"

#include <chrono>

namespace engine::lowering {

namespace {

ir::Graph runCanonicalize(const ir::Graph &graph, const PassContext &) { return canonicalize(graph); }

ir::Graph runFold(const ir::Graph &graph, const PassContext &) {
  return foldConstants(graph, evaluateNode);
}

ir::Graph runCse(const ir::Graph &graph, const PassContext &) {
  return eliminateCommonSubexpressions(graph);
}

ir::Graph runAttention(const ir::Graph &graph, const PassContext &) {
  return recognizeAttention(graph);
}

ir::Graph runNorms(const ir::Graph &graph, const PassContext &) { return recognizeNorms(graph); }

ir::Graph runQuantProducts(const ir::Graph &graph, const PassContext &) {
  return recognizeQuantProducts(graph);
}

ir::Graph runKvState(const ir::Graph &graph, const PassContext &) { return recognizeKvStates(graph); }

constexpr Pass kPasses[] = {
    {"canonicalize", "shape arithmetic becomes dims, no-ops vanish", runCanonicalize},
    {"fold", "operators on small constants are evaluated", runFold},
    {"settle", "constants that folding made become dims and bounds", runCanonicalize},
    {"cse", "equal subexpressions are computed once", runCse},
    {"attention", "softmax(Q K^T) V becomes one node, its mask a band", runAttention},
    {"norms", "root mean square norms become one node", runNorms},
    {"quant", "products with dequantised constants stay quantised", runQuantProducts},
    {"kv_state", "caches that grow by Concat become KvWrite", runKvState},
};

const Pass *findPass(llvm::StringRef name) {
  for (const Pass &pass : kPasses)
    if (name == pass.name)
      return &pass;
  return nullptr;
}

// "import" is the state before the first pass: one may stop there, but not leave it out.
void checkPassName(llvm::StringRef name, bool orImport) {
  if (findPass(name) || (orImport && name == "import"))
    return;
  std::string known = orImport ? "import" : "";
  for (const Pass &pass : kPasses)
    known += (known.empty() ? "" : ", ") + std::string(pass.name);
  throw Error("there is no pass '" + name.str() + "'; the passes are: " + known);
}

using ConstsByPlace = llvm::StringMap<ir::ConstRef>;

std::string placeOf(llvm::StringRef file, uint64_t offset) {
  return file.str() + ":" + std::to_string(offset);
}

void collectConsts(const ir::Graph &graph, ConstsByPlace &byPlace) {
  for (const ir::Node &node : graph.nodes()) {
    if (const auto *c = node.as<ir::Const>())
      byPlace[placeOf(c->data->file, c->data->offset)] = c->data;
    if (const auto *branch = node.as<ir::If>()) {
      collectConsts(*branch->thenGraph, byPlace);
      collectConsts(*branch->elseGraph, byPlace);
    }
  }
}

ir::Graph throughText(ir::Graph graph) {
  // Bytes of constants that lie in files are found again by where they are.
  ConstsByPlace byPlace;
  collectConsts(graph, byPlace);
  auto resolve = [&](llvm::StringRef file, uint64_t offset, uint64_t, DType dtype,
                     llvm::ArrayRef<int64_t> dims) -> ir::ConstRef {
    auto it = byPlace.find(placeOf(file, offset));
    if (it == byPlace.end())
      throw Error::internal("constant at " + file.str() + " is not in the graph that printed it");
    if (it->second->dtype == dtype && dims.equals(it->second->dims))
      return it->second;
    // Two constants may name the same bytes as different tensors.
    auto copy = std::make_shared<ir::ConstData>(*it->second);
    copy->dtype = dtype;
    copy->dims.assign(dims.begin(), dims.end());
    return copy;
  };
  ir::Graph parsed = ir::parseGraph(ir::str(graph), resolve);
  std::string why;
  if (!ir::equal(graph, parsed, &why))
    throw Error::internal("printed and parsed, the graph differs: " + why);
  return parsed;
}

} // namespace

llvm::ArrayRef<Pass> passes() { return kPasses; }

ir::Graph runPasses(ir::Graph graph, const PipelineOptions &options) {
  using Clock = std::chrono::steady_clock;
  for (const std::string &name : options.disabled)
    checkPassName(name, /*orImport=*/false);
  if (!options.stopAfter.empty())
    checkPassName(options.stopAfter, /*orImport=*/true);

  auto finish = [&](llvm::StringRef name, Clock::time_point start) {
    if (options.verify)
      ir::verify(graph);
    if (options.roundTrip)
      graph = throughText(std::move(graph));
    if (options.observe) {
      const std::chrono::duration<double, std::milli> spent = Clock::now() - start;
      options.observe(name, graph, spent.count());
    }
  };

  finish("import", Clock::now());
  if (options.stopAfter == "import")
    return graph;
  for (const Pass &pass : kPasses) {
    const Clock::time_point start = Clock::now();
    if (!llvm::is_contained(options.disabled, pass.name)) {
      try {
        graph = pass.run(graph, options.context);
        finish(pass.name, start);
      } catch (Error &error) {
        throw error.inPass(pass.name);
      }
    }
    if (options.stopAfter == pass.name)
      break;
  }
  return graph;
}

} // namespace engine::lowering
