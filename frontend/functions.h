// Model-local functions: a node may call one by domain and name; its body is then imported in the
// node's place.
#pragma once

#include "llvm/ADT/StringMap.h"

#include <string>

namespace onnx {
class AttributeProto;
class FunctionProto;
class ModelProto;
class NodeProto;
} // namespace onnx

namespace engine::frontend {

class Functions {
public:
  // Throws Error on two functions of one name.
  explicit Functions(const onnx::ModelProto &model);
  // Null if the model has none for this node.
  const onnx::FunctionProto *find(const onnx::NodeProto &node) const;

private:
  llvm::StringMap<const onnx::FunctionProto *> byName_;
};

// What the attributes of a function stand for in one call.
using AttributeBindings = llvm::StringMap<const onnx::AttributeProto *>;

// From the call's attributes and the function's defaults. The protos must outlive the result.
// Throws Error on an attribute that the function does not have.
AttributeBindings bindAttributes(const onnx::FunctionProto &function, const onnx::NodeProto &call);

bool refersToBindings(const onnx::NodeProto &node);
// The node with references (ref_attr_name) replaced by what they stand for; one that stands for
// nothing is left out, as an attribute that is not given. Nested graphs keep theirs: their nodes
// are resolved when they are imported.
onnx::NodeProto resolved(const onnx::NodeProto &node, const AttributeBindings &bindings);

} // namespace engine::frontend
