// Files that hold one TensorProto, as the ONNX project's test data does.
#pragma once

#include "ir/fact.h"

#include <string>

namespace engine::frontend {

// `name` receives the tensor's own name, which may be empty. Throws Error with the file.
ir::ConstRef readTensorFile(const std::string &path, std::string *name = nullptr);

} // namespace engine::frontend
