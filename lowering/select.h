// Kernel selection: for each node the rows of a backend without an objection, in the table's order,
// and the sentences of those that object (design.md, section 3).
#pragma once

#include "kernels/kernel.h"

#include <string>
#include <vector>

namespace engine::lowering {

struct Objection {
  const KernelRow *row;
  std::string sentence;
};

struct Selection {
  // The row that runs comes first. More than one only while a row may object when it runs
  // (KernelRow::decidesLate).
  llvm::SmallVector<const KernelRow *, 2> rows;
  std::vector<Objection> objections;
};

struct SelectOptions {
  // Rows asked first; the last backend should be the reference, which takes everything.
  std::vector<Backend> backends;
  // "sdpa:flash": only that row may run nodes of that operator.
  std::vector<std::string> forced;
  KernelOptions kernels;
};

// The backends by name: "reference", or "cpu" in front of it. Throws Error for another name.
std::vector<Backend> backendsFor(llvm::StringRef name);

// Layout operators, constants and If need no kernel and give an empty selection.
bool needsKernel(const ir::Op &op);

// Throws Error when a forced row objects (with its sentence), or for forced rows that do not exist.
Selection selectKernels(const ir::Graph &graph, const ir::Node &node, const SelectOptions &options);

} // namespace engine::lowering
