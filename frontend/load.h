// From a file to a Model: an .onnx file (mapped, parsed, imported) or an `engine-ir 1` dump.
#pragma once

#include "ir/graph.h"

#include <string>
#include <vector>

namespace engine::frontend {

struct LoadOptions {
  // Symbols to fix before import: "batch" -> 1.
  llvm::StringMap<int64_t> symbols;
  // Folder of weight files that a dump names; empty: the dump's own.
  std::string weights;
};

// All that stands in the way of a model, each with its full message.
struct Blockers {
  std::vector<std::string> messages;
};

// Imports everything that can be. Blockers empty: the model can run. Else nodes that could not be
// imported stand as ir::Unsupported. Throws Error for what makes the file unreadable as a whole.
ir::Model loadModel(const std::string &path, const LoadOptions &options, Blockers &blockers);

// The same from memory; external data is looked for in `folder` (none if empty).
ir::Model loadModel(llvm::ArrayRef<char> bytes, const std::string &name, const std::string &folder,
                    const LoadOptions &options, Blockers &blockers);

} // namespace engine::frontend
