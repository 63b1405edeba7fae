#include "frontend/opsets.h"

#include "frontend/quote.h"
#include "ir/error.h"

#include "onnx-ml.pb.h"

namespace engine::frontend {

namespace {

struct DomainRow {
  const char *domain;
  int min, max;
};

constexpr DomainRow kDomains[] = {
    {"", 7, 26}, // 26 only adds operators; 27 changes some
    {"com.microsoft", 1, 1},
};

std::string rangeText(int min, int max) {
  if (min == max)
    return std::to_string(min) + " is supported";
  return std::to_string(min) + " to " + std::to_string(max) + " are supported";
}

void checkVersion(llvm::StringRef domain, int64_t version) {
  for (const DomainRow &row : kDomains) {
    if (domain != row.domain || (row.min <= version && version <= row.max))
      continue;
    throw Error("opset_import: version " + std::to_string(version) + " of " + domainText(domain) +
                " was found, " + rangeText(row.min, row.max));
  }
}

} // namespace

llvm::StringRef canonicalDomain(llvm::StringRef domain) {
  return domain == "ai.onnx" ? llvm::StringRef() : domain;
}

std::string domainText(llvm::StringRef domain) {
  return domain.empty() ? "ai.onnx" : printable(domain);
}

template <class Imports> Opsets Opsets::read(const Imports &imports) {
  Opsets opsets;
  for (const onnx::OperatorSetIdProto &import : imports) {
    const llvm::StringRef domain = canonicalDomain(import.domain());
    checkVersion(domain, import.version());
    const int version = static_cast<int>(import.version());
    const auto inserted = opsets.versions_.try_emplace(domain, version);
    if (!inserted.second && inserted.first->second != version)
      throw Error("opset_import: versions " + std::to_string(inserted.first->second) + " and " +
                  std::to_string(version) + " of " + domainText(domain) +
                  " were found, one was expected");
  }
  return opsets;
}

Opsets Opsets::of(const onnx::ModelProto &model) {
  Opsets opsets = read(model.opset_import());
  if (opsets.empty())
    throw Error("opset_import: is missing; " + domainText("") + " " +
                rangeText(kDomains[0].min, kDomains[0].max));
  return opsets;
}

Opsets Opsets::of(const onnx::FunctionProto &function) { return read(function.opset_import()); }

std::optional<int> Opsets::find(llvm::StringRef domain) const {
  const auto found = versions_.find(canonicalDomain(domain));
  if (found == versions_.end())
    return std::nullopt;
  return found->second;
}

void checkIrVersion(const onnx::ModelProto &model) {
  const std::string supported = rangeText(kMinIrVersion, kMaxIrVersion);
  if (!model.has_ir_version())
    throw Error("ir_version: is missing; " + supported);
  if (model.ir_version() < kMinIrVersion || model.ir_version() > kMaxIrVersion)
    throw Error("ir_version: " + std::to_string(model.ir_version()) + " was found, " + supported);
}

} // namespace engine::frontend
