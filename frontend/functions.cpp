#include "frontend/functions.h"

#include "frontend/opsets.h"
#include "frontend/quote.h"
#include "ir/error.h"

#include "onnx-ml.pb.h"

#include "llvm/ADT/StringSet.h"

namespace engine::frontend {

namespace {

std::string keyOf(llvm::StringRef domain, llvm::StringRef name, llvm::StringRef overload) {
  std::string key = canonicalDomain(domain).str();
  key += '\0';
  key += name.str();
  key += '\0';
  key += overload.str();
  return key;
}

} // namespace

Functions::Functions(const onnx::ModelProto &model) {
  for (const onnx::FunctionProto &function : model.functions()) {
    const std::string key = keyOf(function.domain(), function.name(), function.overload());
    if (!byName_.try_emplace(key, &function).second)
      throw Error("function " +
                  quoted(domainText(canonicalDomain(function.domain())) + "." + function.name()) +
                  " is there twice");
  }
}

const onnx::FunctionProto *Functions::find(const onnx::NodeProto &node) const {
  return byName_.lookup(keyOf(node.domain(), node.op_type(), node.overload()));
}

AttributeBindings bindAttributes(const onnx::FunctionProto &function, const onnx::NodeProto &call) {
  llvm::StringSet<> known;
  AttributeBindings bindings;
  for (const std::string &name : function.attribute())
    known.insert(name);
  for (const onnx::AttributeProto &attribute : function.attribute_proto()) {
    known.insert(attribute.name());
    bindings[attribute.name()] = &attribute;
  }
  for (const onnx::AttributeProto &attribute : call.attribute()) {
    if (!known.count(attribute.name()))
      throw Error("is not one of the model-local function's")
          .at("attribute " + quoted(attribute.name()));
    bindings[attribute.name()] = &attribute;
  }
  return bindings;
}

bool refersToBindings(const onnx::NodeProto &node) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (!attribute.ref_attr_name().empty())
      return true;
  return false;
}

onnx::NodeProto resolved(const onnx::NodeProto &node, const AttributeBindings &bindings) {
  onnx::NodeProto result = node;
  result.clear_attribute();
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      *result.add_attribute() = attribute;
      continue;
    }
    const onnx::AttributeProto *bound = bindings.lookup(attribute.ref_attr_name());
    if (!bound)
      continue;
    onnx::AttributeProto &copy = *result.add_attribute();
    copy = *bound;
    copy.set_name(attribute.name());
  }
  return result;
}

} // namespace engine::frontend
