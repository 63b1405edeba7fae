// Versions that a file may have.
#pragma once

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace onnx {
class FunctionProto;
class ModelProto;
} // namespace onnx

namespace engine::frontend {

inline constexpr int kMinIrVersion = 3;
inline constexpr int kMaxIrVersion = 14; // later ones add element types that the IR refuses by name
// From this IR version on, an initializer that is also a graph input is only the input's default.
inline constexpr int kFirstIrVersionWithDefaults = 4;

// "ai.onnx" and "" are one domain; here it is always "".
llvm::StringRef canonicalDomain(llvm::StringRef domain);
// As messages and Node::onnx write it: "ai.onnx" for "".
std::string domainText(llvm::StringRef domain);

// Opset versions by domain, of a model or of a function.
class Opsets {
public:
  // Throw Error naming found and supported versions. Domains that the engine does not know may have
  // any version.
  static Opsets of(const onnx::ModelProto &model);
  static Opsets of(const onnx::FunctionProto &function);

  std::optional<int> find(llvm::StringRef domain) const;
  bool empty() const { return versions_.empty(); }

private:
  template <class Imports> static Opsets read(const Imports &imports);
  llvm::StringMap<int> versions_;
};

// Throws Error naming found and supported versions.
void checkIrVersion(const onnx::ModelProto &model);

} // namespace engine::frontend
