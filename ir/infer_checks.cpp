#include "ir/infer_impl.h"

#include "ir/error.h"

namespace engine::ir {

static std::string quoted(const char *what, const std::string &name) {
  return std::string(what) + " '" + name + "'";
}

void refuseOperand(const InferContext &c, size_t i, const std::string &found,
                   const std::string &expected) {
  throw Error("found " + found + ", expected " + expected).at(quoted("operand", c.operandName(i)));
}

void refuseField(const char *field, const std::string &found, const std::string &expected) {
  throw Error("found " + found + ", expected " + expected).at(quoted("attribute", field));
}

static void refuseFact(const InferContext &c, size_t i, const std::string &expected) {
  refuseOperand(c, i, c.operand(i).str(), expected);
}

void requireRank(const InferContext &c, size_t i, int rank) {
  if (c.operand(i).rank() != rank)
    refuseFact(c, i, "rank " + std::to_string(rank));
}

void requireMinRank(const InferContext &c, size_t i, int rank) {
  if (c.operand(i).rank() < rank)
    refuseFact(c, i, "rank " + std::to_string(rank) + " or more");
}

void requireType(const InferContext &c, size_t i, DType type) {
  if (c.operand(i).dtype != type)
    refuseFact(c, i, std::string("element type ") + dtypeName(type));
}

void requireSameType(const InferContext &c, size_t i, size_t like) {
  if (c.operand(i).dtype == c.operand(like).dtype)
    return;
  refuseFact(c, i,
             std::string("element type ") + dtypeName(c.operand(like).dtype) + " as " +
                 quoted("operand", c.operandName(like)));
}

void requireFloat(const InferContext &c, size_t i) {
  if (!isFloat(c.operand(i).dtype))
    refuseFact(c, i, "a float type");
}

void requireNumeric(const InferContext &c, size_t i) {
  const DType type = c.operand(i).dtype;
  if (!isFloat(type) && (!isInteger(type) || isSubByte(type)))
    refuseFact(c, i, "a float type or an integer type of at least 8 bits");
}

void requireInteger(const InferContext &c, size_t i) {
  const DType type = c.operand(i).dtype;
  if (!isInteger(type) || isSubByte(type))
    refuseFact(c, i, "an integer type of at least 8 bits");
}

void requireIndex(const InferContext &c, size_t i) {
  const DType type = c.operand(i).dtype;
  if (type != DType::kI32 && type != DType::kI64)
    refuseFact(c, i, "element type i32 or i64");
}

Dim countOf(const Fact &fact) { return product(fact.shape); }

static bool differ(const Dim &a, const Dim &b) {
  return a.isConstant() && b.isConstant() && a != b;
}

void requireCount(const InferContext &c, size_t i, const Dim &count) {
  if (differ(countOf(c.operand(i)), count))
    refuseFact(c, i, count.str() + (count.is(1) ? " element" : " elements"));
}

void requireScalar(const InferContext &c, size_t i) { requireCount(c, i, 1); }

Dim requireDim(const InferContext &c, size_t i, int axis, const Dim &expected) {
  const Dim &found = c.operand(i).shape[axis];
  if (differ(found, expected))
    refuseFact(c, i, expected.str() + " at axis " + std::to_string(axis));
  return expected.isConstant() ? expected : found.isConstant() ? found : expected;
}

void requireShape(const InferContext &c, size_t i, llvm::ArrayRef<Dim> shape) {
  const Fact &found = c.operand(i);
  bool fits = found.shape.size() == shape.size();
  for (size_t axis = 0; fits && axis < shape.size(); ++axis)
    fits = !differ(found.shape[axis], shape[axis]);
  if (!fits)
    refuseFact(c, i, "shape " + str(shape));
}

void requireBroadcastTo(const InferContext &c, size_t i, llvm::ArrayRef<Dim> shape) {
  const Fact &found = c.operand(i);
  bool fits = found.shape.size() <= shape.size();
  for (size_t back = 1; fits && back <= found.shape.size(); ++back) {
    const Dim &dim = found.shape[found.shape.size() - back];
    fits = dim.is(1) || !differ(dim, shape[shape.size() - back]);
  }
  if (!fits)
    refuseFact(c, i, "a shape that broadcasts to " + str(shape));
}

int normalAxis(int64_t axis, int rank, const char *field) {
  const int64_t normal = axis < 0 ? axis + rank : axis;
  if (normal < 0 || normal >= rank) {
    refuseField(field, std::to_string(axis),
                "an axis of an operand of rank " + std::to_string(rank));
  }
  return static_cast<int>(normal);
}

} // namespace engine::ir
