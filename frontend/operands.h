// What the importers of the generic operators share: axes, integers that must be known, small
// constants.
#pragma once

#include "frontend/importer.h"

namespace engine::frontend {

using Ints = ir::Ints;
using Dims = llvm::SmallVector<ir::Dim, 4>;

// An axis counted from the front; `rank` is that of the tensor it names. Throws at attribute (or
// input) NAME.
int64_t axisInRange(int64_t axis, int64_t rank, llvm::StringRef where);
int64_t axisAttribute(const ImportContext &ctx, int64_t otherwise, int64_t rank);
// Counted from the front, ascending, each once.
Ints axesInRange(llvm::ArrayRef<int64_t> axes, int64_t rank, llvm::StringRef where);

// The elements of an integer input as dims. Throws "must be known when the model is loaded".
Dims knownDims(const ImportContext &ctx, size_t input, llvm::StringRef name);
// The same as numbers.
Ints knownInts(const ImportContext &ctx, size_t input, llvm::StringRef name);
// Of an input with one element.
ir::Dim knownDim(const ImportContext &ctx, size_t input, llvm::StringRef name);

// Integers of an attribute up to some opset and of an input from then on.
struct IntsFrom {
  size_t input;
  const char *name; // of either
  bool isInput;
};
std::optional<Ints> intsFrom(const ImportContext &ctx, const IntsFrom &from);
// "attribute 'axes'" or "input 'axes'"
std::string whereOf(const IntsFrom &from);

// Elements of a rank-1 input, which must be a number.
int64_t lengthOf(const ImportContext &ctx, size_t input, llvm::StringRef name);

ir::ValueId scalar(ImportContext &ctx, DType type, double value, llvm::StringRef suffix);
// The value itself if it has the type.
ir::ValueId asType(ImportContext &ctx, ir::ValueId value, DType type, llvm::StringRef suffix);
// i32 to i64, for operators that take their integers at run time.
ir::ValueId asInt64(ImportContext &ctx, ir::ValueId value);

// Gives output 0 a value as its type: the last step of a composition that computes f16 and bf16 in
// f32.
void setAs(ImportContext &ctx, ir::ValueId value, DType type);
// f32 for f16 and bf16, else the type itself.
DType wideType(DType type);

} // namespace engine::frontend
