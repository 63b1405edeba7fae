// What the driver asks about attributes before an importer reads them through Attributes
// (frontend/importer.h).
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace onnx {
class AttributeProto;
} // namespace onnx

namespace engine::frontend {

inline constexpr const char *kUndefinedKind = "undefined";

// "int", "floats", "graph", ...: the words of ImporterRow::attributes; kUndefinedKind if the file
// does not tell.
std::string kindOf(const onnx::AttributeProto &attribute);
bool isKind(llvm::StringRef word);

} // namespace engine::frontend
