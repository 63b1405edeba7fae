// The passes, in order, and the one place that runs them: named, timed, verified, dumped, disabled,
// stopped after.
#pragma once

#include "ir/graph.h"
#include "kernels/kernel.h"

#include <functional>
#include <string>
#include <vector>

namespace engine::lowering {

struct PassContext {
  KernelOptions kernels;
};

struct Pass {
  const char *name;
  const char *summary; // for `engine dump --help` and docs
  ir::Graph (*run)(const ir::Graph &, const PassContext &);
};

llvm::ArrayRef<Pass> passes();

struct PipelineOptions {
  std::vector<std::string> disabled;
  std::string stopAfter;  // empty: run all; "import": run none
  bool roundTrip = false; // print, parse, compare and go on with the parsed graph, after every pass
  bool verify = false;
  PassContext context;
  // Called with each state, "import" first.
  std::function<void(llvm::StringRef pass, const ir::Graph &graph, double milliseconds)> observe;
};

// Throws Error for names of passes that do not exist, listing those that do.
ir::Graph runPasses(ir::Graph graph, const PipelineOptions &options);

} // namespace engine::lowering
