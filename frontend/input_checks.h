// Checks of a node's inputs and attributes under their ONNX names, for importers whose operators
// state shapes. What symbols leave open becomes a CheckDims, so that the same rule holds when the
// model runs.
#pragma once

#include "frontend/importer.h"
#include "ir/dtype_name.h"

namespace engine::frontend {

struct Input {
  size_t index;
  const char *name;
};

[[noreturn]] void refuseInput(llvm::StringRef name, const std::string &fault);
[[noreturn]] void refuseAttribute(llvm::StringRef name, const std::string &fault);
// "value 7, expected ..."
[[noreturn]] void refuseValue(llvm::StringRef attribute, int64_t value,
                              const std::string &expected);
// Both are there, or neither.
void expectTogether(const ImportContext &ctx, Input a, Input b);

void expectType(const ImportContext &ctx, Input input, DType type);
void expectRank(const ImportContext &ctx, Input input, int rank);

// What an axis may be.
struct DimRule {
  ir::Dim dim;
  bool orOne = false;  // 1 as well: it broadcasts
  bool orLess = false; // anything below as well

  DimRule(ir::Dim dim) : dim(std::move(dim)) {}
  static DimRule broadcast(ir::Dim dim);
  static DimRule atMost(ir::Dim dim);
};

// `carrier`, from now on behind the check that `actual`, the dims of the named input, follow the
// rules. Throws where they cannot, and adds nothing where they must.
ir::ValueId checkDims(ImportContext &ctx, ir::ValueId carrier, llvm::ArrayRef<ir::Dim> actual,
                      llvm::ArrayRef<DimRule> rules, llvm::StringRef inputName);
// The same with the input itself as carrier; rank included.
ir::ValueId checkedInput(ImportContext &ctx, Input input, llvm::ArrayRef<DimRule> rules);

} // namespace engine::frontend
