// Shapes and element types of results from operands: one overload per operator. The same functions
// run at import time on symbolic facts and at run time on concrete ones, for the dims that only the
// data decides.
#pragma once

#include "ir/graph.h"

namespace engine::ir {

class InferContext {
public:
  InferContext(llvm::ArrayRef<const Fact *> operands, llvm::MutableArrayRef<Fact> results,
               llvm::StringRef symbolPrefix)
      : operands_(operands), results_(results), symbolPrefix_(symbolPrefix) {}

  size_t numOperands() const { return operands_.size(); }
  bool has(size_t i) const { return i < operands_.size() && operands_[i] != nullptr; }
  const Fact &operand(size_t i) const { return *operands_[i]; }
  size_t numResults() const { return results_.size(); }
  Fact &result(size_t i) { return results_[i]; }
  // Results beyond those asked for are ignored.
  void set(size_t i, DType dtype, llvm::ArrayRef<Dim> shape) {
    if (i < results_.size())
      results_[i] = makeFact(dtype, shape);
  }

  // A dim that only the data decides: "@NODE.RESULT.AXIS", stable under rebuilding. A length, so
  // never negative, unlike the value of an input, which is "$INPUT".
  Dim freshDim(size_t result, int axis) const;
  bool isFresh(const Dim &dim) const; // holds a freshDim of this node

  // For messages: the operand list of the operator ("x w bias?"); infer sets it.
  void nameOperands(const char *operands) { operandNames_ = operands; }
  std::string operandName(size_t i) const;

private:
  llvm::ArrayRef<const Fact *> operands_;
  llvm::MutableArrayRef<Fact> results_;
  llvm::StringRef symbolPrefix_;
  const char *operandNames_ = "";
};

// Fills the results' facts. Throws Error (with `at("operand 'x'")`) where operands do not fit. A
// result stays unknown if an operand it depends on is.
void infer(const Op &op, InferContext &context);

// Checks that the operands fit the operator's list (none missing, none too many), and infers.
// `operands` holds null for absent ones; the results' facts come back. This is what builder,
// verifier and runtime call.
llvm::SmallVector<Fact, 2> inferResults(const Op &op, llvm::ArrayRef<const Fact *> operands,
                                        llvm::StringRef symbolPrefix);

// Contents of the results as dims where they follow from the operands' (integer arithmetic, Concat,
// Gather, ...). Part of infer; apart so that it can be tested alone.
void inferContents(const Op &op, InferContext &context);

// The shape that broadcasting a and b gives, axis by axis (numpy rules). Throws Error on constants
// that do not fit.
Shape broadcastShapes(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b);

// The elements of a small integer or bool tensor (at most Fact::kMaxContents) where all of them are
// known integers.
std::optional<llvm::SmallVector<int64_t>> constantContents(const Fact &fact);

// One axis of an ONNX Slice with bounds clamped to an axis of `length` elements; absent where a
// sign is not known.
struct SliceRange {
  Dim start, length;
};
std::optional<SliceRange> sliceRange(const Dim &start, const Dim &end, int64_t step,
                                     const Dim &length);

// Throws Error on: values used before they are made, operand counts and types that infer refuses,
// facts that infer would not give, names used twice, If graphs that do not agree.
void verify(const Graph &graph);

// Named symbols are lengths; "$INPUT" may be anything.
inline SymbolRange boundsOf(const Dim &dim) { return dim.bounds(SymbolRanges()); }
inline bool neverNegative(const Dim &dim) { return boundsOf(dim).min >= 0; }

} // namespace engine::ir
