// The driver: walks a parsed model and builds its graph, node by node, from the importer table.
#pragma once

#include "frontend/load.h"
#include "frontend/tensor.h"

#include <string>
#include <vector>

namespace onnx {
class ModelProto;
} // namespace onnx

namespace engine::frontend {

struct ImportJob {
  const onnx::ModelProto &model;
  const TensorReader &tensors;
  const std::string &path; // FILE of messages
  const LoadOptions &options;
  Blockers &blockers;
  std::vector<std::string> &warnings;
};

ir::Graph importModel(const ImportJob &job);

} // namespace engine::frontend
