// What the files of inference share: checks that state found and expected, and the overloads of the
// attention family. Included by ir/infer*.cpp only.
#pragma once

#include "ir/infer.h"

namespace engine::ir {

// Throws Error "found ..., expected ..." at the operand.
[[noreturn]] void refuseOperand(const InferContext &c, size_t i, const std::string &found,
                                const std::string &expected);
// Throws Error at an attribute (a field of the operator).
[[noreturn]] void refuseField(const char *field, const std::string &found,
                              const std::string &expected);

void requireRank(const InferContext &c, size_t i, int rank);
void requireMinRank(const InferContext &c, size_t i, int rank);
void requireType(const InferContext &c, size_t i, DType type);
// The operands i and `like` have one type.
void requireSameType(const InferContext &c, size_t i, size_t like);
void requireFloat(const InferContext &c, size_t i);
void requireNumeric(const InferContext &c, size_t i); // floats and integers of whole bytes
void requireInteger(const InferContext &c, size_t i);
void requireIndex(const InferContext &c, size_t i); // i32 or i64

// The operand's element count as written.
Dim countOf(const Fact &fact);
void requireCount(const InferContext &c, size_t i, const Dim &count);
void requireScalar(const InferContext &c, size_t i); // one element, any rank

// Two dims that must be equal: throws on different constants, gives the better known one.
Dim requireDim(const InferContext &c, size_t i, int axis, const Dim &expected);
// Rank and every dim.
void requireShape(const InferContext &c, size_t i, llvm::ArrayRef<Dim> shape);
// Rank at most that of `shape`, each axis 1 or the shape's, aligned at the end.
void requireBroadcastTo(const InferContext &c, size_t i, llvm::ArrayRef<Dim> shape);

// A possibly negative axis as one in [0, rank); throws at "attribute 'axis'".
int normalAxis(int64_t axis, int rank, const char *field = "axis");

void inferOp(const CheckDims &op, InferContext &c);
void inferOp(const CheckLengths &op, InferContext &c);
// Elements as dims, where they are known: the contents, or a small integer constant.
using Contents = llvm::SmallVector<Dim, 4>;
std::optional<Contents> contentsOf(const Fact &fact);

void inferOp(const ApplyRope &op, InferContext &c);
void inferOp(const CacheLengths &op, InferContext &c);
void inferOp(const RopePositions &op, InferContext &c);
void inferOp(const KvWrite &op, InferContext &c);
void inferOp(const KvEvict &op, InferContext &c);
void inferOp(const KvQuantize &op, InferContext &c);
void inferOp(const Sdpa &op, InferContext &c);

} // namespace engine::ir
