// What is known about a value before it runs.
#pragma once

#include "ir/dim.h"
#include "ir/dtype.h"

#include <memory>
#include <optional>
#include <string>

namespace engine::ir {

// A constant tensor, dense, row-major. The bytes belong to `owner`: a mapped model file or a
// buffer.
struct ConstData {
  DType dtype = DType::kUndefined;
  llvm::SmallVector<int64_t, 4> dims;
  const void *data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> owner;
  // Where the bytes lie, if they lie in a file: relative to the model's folder.
  std::string file;
  uint64_t offset = 0;

  int64_t count() const;
  // Element i as an integer; the dtype must be an integer or bool.
  int64_t intAt(int64_t i) const;
  double floatAt(int64_t i) const; // any numeric dtype
  // Same dtype, dims and bytes.
  bool operator==(const ConstData &other) const;
};
using ConstRef = std::shared_ptr<const ConstData>;

// Copies `bytes` into an owned buffer.
ConstRef makeConst(DType dtype, llvm::ArrayRef<int64_t> dims, const void *data, size_t bytes);
ConstRef makeIntConst(DType dtype, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> values);
ConstRef makeFloatConst(DType dtype, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<double> values);

// `known` is false for results of operators that could not be imported: nothing may be concluded
// from them.
struct Fact {
  bool known = false;
  DType dtype = DType::kUndefined;
  Shape shape;
  // Elements of a small integer tensor (at most kMaxContents), row-major, where they are known as
  // dims.
  std::optional<llvm::SmallVector<Dim, 4>> contents;
  ConstRef constant;

  static constexpr int64_t kMaxContents = 64;

  int rank() const { return static_cast<int>(shape.size()); }
  bool operator==(const Fact &other) const;
  bool operator!=(const Fact &other) const { return !(*this == other); }
  std::string str() const; // "f32[batch, 8]", "i64[2]={batch, 8}", "?"
};

Fact makeFact(DType dtype, llvm::ArrayRef<Dim> shape);
// Contents are filled in for small integer constants.
Fact factOf(ConstRef data);

} // namespace engine::ir
