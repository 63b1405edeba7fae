// The wire form of a model, read before protobuf sees it: weights stay where they are.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace engine::frontend {

// A copy of a serialized ModelProto in which every TensorProto's raw_data is replaced by its field
// `segment` {begin, end}: the bytes of `model` that hold it. (ONNX never gave `segment` a use; a
// model that has it is refused.) So protobuf holds no weights, and a file may be larger than
// protobuf's 2 GiB.
//
// Throws Error (without a location) on what is no well-formed message: cut short, garbage, graphs
// nested too deeply.
std::string withoutRawData(llvm::ArrayRef<char> model);

} // namespace engine::frontend
