// Who makes and who uses which names in a graph of the file.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <string>
#include <vector>

namespace onnx {
class GraphProto;
class NodeProto;
} // namespace onnx

namespace engine::frontend {

// The graphs in a node's attributes.
llvm::SmallVector<const onnx::GraphProto *, 2> subgraphsOf(const onnx::NodeProto &node);

// Names that the node's subgraphs take from around them, each once, in order of first use.
std::vector<std::string> capturedNames(const onnx::NodeProto &node);

// The same for one graph: what it uses and does not make.
std::vector<std::string> freeNames(const onnx::GraphProto &graph);

struct Cycle {
  std::vector<size_t> nodes; // each uses a result of the next, the last one of the first
};

struct NodeOrder {
  std::vector<size_t>
      order; // every node after those whose results it uses; in the file's order where that will do
  std::vector<size_t> stuck; // nodes that cannot be ordered
  Cycle cycle;               // why, if any are stuck
};

// `makes[i]`: names that node i makes; `uses[i]`: names that it uses.
NodeOrder orderOf(llvm::ArrayRef<std::vector<std::string>> makes,
                  llvm::ArrayRef<std::vector<std::string>> uses);

} // namespace engine::frontend
