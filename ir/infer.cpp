#include "ir/infer.h"

#include "ir/error.h"
#include "ir/infer_impl.h"
#include "ir/view.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace engine::ir {

// --- Context -------------------------------------------------------------------------------------

Dim InferContext::freshDim(size_t result, int axis) const {
  return Dim::symbol("@" + symbolPrefix_.str() + "." + std::to_string(result) + "." +
                     std::to_string(axis));
}

bool InferContext::isFresh(const Dim &dim) const {
  llvm::SmallVector<std::string, 4> symbols;
  dim.collectSymbols(symbols);
  const std::string prefix = "@" + symbolPrefix_.str() + ".";
  return llvm::any_of(symbols, [&](const std::string &symbol) {
    if (!std::string_view(symbol).starts_with(prefix))
      return false;
    // The rest is RESULT.AXIS: a longer one belongs to a node whose name begins with this one's.
    const llvm::StringRef rest = llvm::StringRef(symbol).drop_front(prefix.size());
    return rest.find_first_not_of("0123456789.") == llvm::StringRef::npos && rest.count('.') == 1;
  });
}

std::string InferContext::operandName(size_t i) const {
  llvm::SmallVector<llvm::StringRef, 8> names;
  llvm::StringRef(operandNames_).split(names, ' ', -1, false);
  if (names.empty())
    return std::to_string(i);
  const bool isTail = i + 1 >= names.size() && names.back().back() == '*';
  if (!isTail)
    return i < names.size() ? names[i].rtrim('?').str() : std::to_string(i);
  return names.back().drop_back().str() + "[" + std::to_string(i + 1 - names.size()) + "]";
}

// --- Dims ----------------------------------------------------------------------------------------

static Dim broadcastDim(const Dim &a, const Dim &b, bool &fits) {
  if (a == b || b.is(1))
    return a;
  if (a.is(1))
    return b;
  if (a.isConstant() && b.isConstant()) {
    fits = false;
    return a;
  }
  // A constant other than 1 wins: the other is equal to it or 1.
  if (a.isConstant())
    return a;
  if (b.isConstant())
    return b;
  return Dim::broadcast(a, b);
}

Shape broadcastShapes(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape shape(rank);
  bool fits = true;
  for (size_t back = 1; back <= rank; ++back) {
    const Dim left = back <= a.size() ? a[a.size() - back] : Dim(1);
    const Dim right = back <= b.size() ? b[b.size() - back] : Dim(1);
    shape[rank - back] = broadcastDim(left, right, fits);
  }
  if (!fits)
    throw Error("found shapes " + str(a) + " and " + str(b) + ", expected shapes that broadcast");
  return shape;
}

// Start or end of an ONNX Slice as an index from the front, before clamping. INT64_MAX and its like
// stay what they are.
static std::optional<Dim> fromFront(const Dim &bound, const Dim &length) {
  const SymbolRange range = boundsOf(bound);
  if (range.min >= 0)
    return bound;
  if (range.max >= 0)
    return std::nullopt;
  // The lowest integers mean "before the first": far from overflow, they would be clamped all the
  // same.
  const std::optional<int64_t> constant = bound.constant();
  if (constant && *constant < INT64_MIN / 4)
    return Dim(INT64_MIN / 4);
  return bound + length;
}

static Dim clampDim(const Dim &dim, const Dim &low, const Dim &high) {
  const std::optional<int64_t> constant = dim.constant();
  // Bounds as large as exporters write for "to the end" exceed any axis.
  if (constant && *constant >= INT32_MAX && !high.isConstant())
    return high;
  if (constant && *constant <= INT64_MIN / 4)
    return low;
  Dim result = dim;
  if (result != high && boundsOf(high - result).min < 0)
    result = Dim::min(result, high);
  if (result != low && boundsOf(result - low).min < 0)
    result = Dim::max(result, low);
  return result;
}

std::optional<SliceRange> sliceRange(const Dim &start, const Dim &end, int64_t step,
                                     const Dim &length) {
  if (step == 0 || step == INT64_MIN)
    throw Error("found a step of " + std::to_string(step) + ", expected another than 0")
        .at("operand 'steps'");
  const std::optional<Dim> first = fromFront(start, length);
  const std::optional<Dim> last = fromFront(end, length);
  if (!first || !last)
    return std::nullopt;
  const bool forward = step > 0;
  const Dim low = forward ? Dim(0) : Dim(-1);
  const Dim high = forward ? length : length - 1;
  const Dim from = clampDim(*first, low, high);
  const Dim to = clampDim(*last, low, high);
  // The last few: as many as there are.
  if (step == 1 && to == length && start.isConstant() && *start.constant() < 0)
    return SliceRange{from, Dim::min(length, length - *first)};
  Dim span = forward ? to - from : from - to;
  if (!neverNegative(span))
    span = Dim::max(span, 0);
  const int64_t stride = forward ? step : -step;
  if (stride == 1)
    return SliceRange{from, span};
  if (const std::optional<int64_t> constant = span.constant())
    return SliceRange{from, Dim(*constant / stride + (*constant % stride != 0))};
  return SliceRange{from, Dim::floorDiv(span + (stride - 1), stride)};
}

// --- Constants, elementwise ----------------------------------------------------------------------

static void inferOp(const Const &op, InferContext &c) {
  if (!op.data)
    throw Error::internal("a constant without data");
  if (c.numResults() > 0)
    c.result(0) = factOf(op.data);
}

static void inferOp(const DimValues &op, InferContext &c) {
  if (op.dtype != DType::kI32 && op.dtype != DType::kI64)
    refuseField("dtype", dtypeName(op.dtype), "i32 or i64");
  Shape shape;
  int64_t count = 1;
  for (int64_t dim : op.dims) {
    shape.push_back(dim);
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count))
      refuseField("dims", str(shape), "lengths of axes");
  }
  if (count != static_cast<int64_t>(op.values.size()) || count > Fact::kMaxContents) {
    refuseField("values", std::to_string(op.values.size()) + " elements",
                std::to_string(count) + ", and at most " + std::to_string(Fact::kMaxContents));
  }
  c.set(0, op.dtype, shape);
}

static void requireUnaryType(UnaryKind kind, const InferContext &c) {
  switch (kind) {
  case UnaryKind::kNot:
    return requireType(c, 0, DType::kBool);
  case UnaryKind::kBitwiseNot:
    return requireInteger(c, 0);
  case UnaryKind::kAbs:
  case UnaryKind::kNeg:
  case UnaryKind::kRelu:
  case UnaryKind::kSign:
    return requireNumeric(c, 0);
  default:
    return requireFloat(c, 0);
  }
}

static void inferOp(const Unary &op, InferContext &c) {
  requireUnaryType(op.kind, c);
  const bool isTest = op.kind == UnaryKind::kIsInf || op.kind == UnaryKind::kIsNan;
  c.set(0, isTest ? DType::kBool : c.operand(0).dtype, c.operand(0).shape);
}

static bool isComparison(BinaryKind kind) {
  return kind == BinaryKind::kEqual || kind == BinaryKind::kLess ||
         kind == BinaryKind::kLessOrEqual || kind == BinaryKind::kGreater ||
         kind == BinaryKind::kGreaterOrEqual;
}

static void requireBinaryType(BinaryKind kind, const InferContext &c, size_t i) {
  switch (kind) {
  case BinaryKind::kAnd:
  case BinaryKind::kOr:
  case BinaryKind::kXor:
    return requireType(c, i, DType::kBool);
  case BinaryKind::kBitwiseAnd:
  case BinaryKind::kBitwiseOr:
  case BinaryKind::kBitwiseXor:
  case BinaryKind::kShiftLeft:
  case BinaryKind::kShiftRight:
    return requireInteger(c, i);
  case BinaryKind::kEqual:
    if (c.operand(i).dtype != DType::kBool)
      requireNumeric(c, i);
    return;
  default:
    return requireNumeric(c, i);
  }
}

static void inferOp(const Binary &op, InferContext &c) {
  requireBinaryType(op.kind, c, 0);
  requireBinaryType(op.kind, c, 1);
  const bool mayDiffer = op.kind == BinaryKind::kPow || op.kind == BinaryKind::kShiftLeft ||
                         op.kind == BinaryKind::kShiftRight;
  if (!mayDiffer)
    requireSameType(c, 1, 0);
  c.set(0, isComparison(op.kind) ? DType::kBool : c.operand(0).dtype,
        broadcastShapes(c.operand(0).shape, c.operand(1).shape));
}

static void inferOp(const Where &, InferContext &c) {
  requireType(c, 0, DType::kBool);
  requireSameType(c, 2, 1);
  const Shape values = broadcastShapes(c.operand(1).shape, c.operand(2).shape);
  c.set(0, c.operand(1).dtype, broadcastShapes(c.operand(0).shape, values));
}

static void inferOp(const Cast &op, InferContext &c) {
  if (op.to == DType::kUndefined)
    refuseField("to", "no element type", "one");
  c.set(0, op.to, c.operand(0).shape);
}

// --- Linear algebra ------------------------------------------------------------------------------

static void inferOp(const MatMul &, InferContext &c) {
  requireNumeric(c, 0);
  requireSameType(c, 1, 0);
  requireMinRank(c, 0, 1);
  requireMinRank(c, 1, 1);
  llvm::ArrayRef<Dim> a = c.operand(0).shape;
  llvm::ArrayRef<Dim> b = c.operand(1).shape;
  const bool aIsVector = a.size() == 1;
  const bool bIsVector = b.size() == 1;
  requireDim(c, 1, bIsVector ? 0 : static_cast<int>(b.size()) - 2, a.back());
  Shape shape = broadcastShapes(a.drop_back(std::min<size_t>(a.size(), 2)),
                                b.drop_back(std::min<size_t>(b.size(), 2)));
  if (!aIsVector)
    shape.push_back(a[a.size() - 2]);
  if (!bIsVector)
    shape.push_back(b.back());
  c.set(0, c.operand(0).dtype, shape);
}

static int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

static Dim ceilDiv(const Dim &a, int64_t b) {
  if (const std::optional<int64_t> constant = a.constant())
    return ceilDiv(*constant, b);
  if (const std::optional<Dim> exact = a.dividedBy(b))
    return *exact;
  return Dim::floorDiv(a + (b - 1), b);
}

static void requirePacking(int64_t bits, int64_t blockSize) {
  if (bits != 2 && bits != 4 && bits != 8)
    refuseField("bits", std::to_string(bits), "2, 4 or 8");
  if (blockSize < 1 || blockSize > INT32_MAX || blockSize * bits % 8 != 0)
    refuseField("block", std::to_string(blockSize), "a positive size of whole bytes");
}

static void inferOp(const QuantMatMul &op, InferContext &c) {
  enum Operand { kX, kW, kScales, kZeroPoints, kBias };
  requirePacking(op.bits, op.blockSize);
  if (op.n < 1 || op.n > INT32_MAX)
    refuseField("n", std::to_string(op.n), "a positive 32-bit size");
  if (op.k < 1 || op.k > INT32_MAX)
    refuseField("k", std::to_string(op.k), "a positive 32-bit size");
  const int64_t blocks = ceilDiv(op.k, op.blockSize);
  requireFloat(c, kX);
  requireMinRank(c, kX, 1);
  const Fact &x = c.operand(kX);
  requireDim(c, kX, x.rank() - 1, op.k);
  requireType(c, kW, DType::kU8);
  requireShape(c, kW, {Dim(op.n), Dim(blocks), Dim(op.blockSize * op.bits / 8)});
  if (c.operand(kScales).dtype != DType::kF32)
    requireSameType(c, kScales, kX);
  requireCount(c, kScales, op.n * blocks);
  if (c.has(kZeroPoints)) {
    const bool packed = c.operand(kZeroPoints).dtype == DType::kU8;
    if (!packed)
      requireSameType(c, kZeroPoints, kScales);
    requireCount(c, kZeroPoints, op.n * (packed ? ceilDiv(blocks * op.bits, 8) : blocks));
  }
  if (c.has(kBias)) {
    requireSameType(c, kBias, kX);
    requireShape(c, kBias, {Dim(op.n)});
  }
  Shape shape = x.shape;
  shape.back() = op.n;
  c.set(0, x.dtype, shape);
}

static void inferOp(const QuantGather &op, InferContext &c) {
  enum Operand { kData, kIndices, kScales, kZeroPoints };
  requirePacking(op.bits, op.blockSize);
  requireMinRank(c, kData, 2);
  requireIndex(c, kIndices);
  requireFloat(c, kScales);
  const Fact &data = c.operand(kData);
  Shape unpacked = data.shape;
  if (data.dtype == DType::kU8)
    unpacked.back() = unpacked.back() * (8 / op.bits);
  else if (!isSubByte(data.dtype) || op.bits != 4)
    refuseOperand(c, kData, data.str(), "u8, or i4 or u4 with 4 bits");
  Shape blocks = unpacked;
  blocks.back() = ceilDiv(blocks.back(), op.blockSize);
  requireCount(c, kScales, product(blocks));
  if (c.has(kZeroPoints)) {
    requireSameType(c, kZeroPoints, kData);
    if (data.dtype == DType::kU8)
      blocks.back() = ceilDiv(blocks.back() * op.bits, 8);
    requireCount(c, kZeroPoints, product(blocks));
  }
  Shape shape = c.operand(kIndices).shape;
  shape.append(unpacked.begin() + 1, unpacked.end());
  c.set(0, c.operand(kScales).dtype, shape);
}

static void inferOp(const Dequantize &op, InferContext &c) {
  enum Operand { kX, kScale, kZeroPoint };
  const Fact &x = c.operand(kX);
  if (!isInteger(x.dtype))
    refuseOperand(c, kX, x.str(), "an integer type");
  if (!isFloat(op.to))
    refuseField("to", dtypeName(op.to), "a float type");
  requireFloat(c, kScale);
  const Fact &scale = c.operand(kScale);
  if (op.blockSize < 0)
    refuseField("block", std::to_string(op.blockSize), "0 or more");
  if (op.blockSize > 0) {
    const int axis = normalAxis(op.axis, x.rank());
    Shape blocks = x.shape;
    blocks[axis] = ceilDiv(blocks[axis], op.blockSize);
    requireShape(c, kScale, blocks);
  } else if (!countOf(scale).is(1)) {
    requireRank(c, kScale, 1);
    requireDim(c, kScale, 0, x.shape[normalAxis(op.axis, x.rank())]);
  }
  if (c.has(kZeroPoint)) {
    requireSameType(c, kZeroPoint, kX);
    requireShape(c, kZeroPoint, scale.shape);
  }
  c.set(0, op.to, x.shape);
}

// --- Layout --------------------------------------------------------------------------------------

static void requireDims(const char *field, llvm::ArrayRef<Dim> dims) {
  for (const Dim &dim : dims) {
    if (dim.isConstant() && *dim.constant() < 0)
      refuseField(field, str(dims), "no negative length");
  }
}

static void requireSameCount(const InferContext &c, llvm::ArrayRef<Dim> dims) {
  const Dim count = countOf(c.operand(0));
  const Dim target = product(dims);
  if (count.isConstant() && target.isConstant() && count != target)
    refuseOperand(c, 0, c.operand(0).str(), target.str() + " elements for shape " + str(dims));
}

static void inferOp(const Reshape &op, InferContext &c) {
  requireDims("dims", op.dims);
  requireSameCount(c, op.dims);
  c.set(0, c.operand(0).dtype, op.dims);
}

static void requireShapeOperand(const InferContext &c, size_t i, int64_t length) {
  requireType(c, i, DType::kI64);
  requireShape(c, i, {Dim(length)});
}

static Shape freshShape(const InferContext &c, int64_t rank) {
  Shape shape;
  for (int axis = 0; axis < rank; ++axis)
    shape.push_back(c.freshDim(0, axis));
  return shape;
}

static void requireResultRank(int64_t rank) {
  if (rank < 0 || rank > kMaxRank)
    refuseField("rank", std::to_string(rank), "0 to " + std::to_string(kMaxRank));
}

// The dim that makes up for the others, where the division is exact.
static std::optional<Dim> remainingDim(const InferContext &c, const Dim &others) {
  const Dim count = countOf(c.operand(0));
  if (others.is(0))
    refuseOperand(c, 1, "-1 next to 0 in " + c.operand(1).str(), "one of them only");
  const std::optional<Dim> rest = count.dividedBy(others);
  if (!rest && count.isConstant() && others.isConstant()) {
    refuseOperand(c, 1, c.operand(1).str(),
                  "a shape whose known dims divide the " + count.str() + " elements");
  }
  return rest;
}

static void inferOp(const ReshapeTo &op, InferContext &c) {
  requireResultRank(op.rank);
  requireShapeOperand(c, 1, op.rank);
  const Fact &x = c.operand(0);
  const auto target = contentsOf(c.operand(1));
  if (!target) {
    c.set(0, x.dtype, freshShape(c, op.rank));
    return;
  }
  Shape shape = freshShape(c, op.rank);
  int inferred = -1;
  bool allKnown = true;
  for (int axis = 0; axis < op.rank; ++axis) {
    const Dim &dim = (*target)[axis];
    if (dim.is(-1)) {
      if (inferred >= 0)
        refuseOperand(c, 1, "two -1 in " + c.operand(1).str(), "one at most");
      inferred = axis;
    } else if (dim.isConstant() && *dim.constant() < 0) {
      refuseOperand(c, 1, dim.str() + " in " + c.operand(1).str(), "a length, 0 or -1");
    } else if (dim.is(0) && !op.allowZero) {
      if (axis >= x.rank())
        refuseOperand(c, 1, "0 at axis " + std::to_string(axis) + " in " + c.operand(1).str(),
                      "a 0 to stand for an axis of " + x.str());
      shape[axis] = x.shape[axis];
    } else if (neverNegative(dim)) {
      shape[axis] = dim;
    } else {
      allKnown = false; // may turn out to be -1
    }
  }
  if (inferred >= 0 && allKnown) {
    Dim others = 1;
    for (int axis = 0; axis < op.rank; ++axis) {
      if (axis != inferred)
        others = others * shape[axis];
    }
    if (const std::optional<Dim> rest = remainingDim(c, others))
      shape[inferred] = *rest;
  } else if (allKnown) {
    requireSameCount(c, shape);
  }
  c.set(0, x.dtype, shape);
}

static void inferOp(const Transpose &op, InferContext &c) {
  const Fact &x = c.operand(0);
  const std::string found = str(Shape(op.perm.begin(), op.perm.end()));
  llvm::SmallVector<bool, 8> seen(x.rank(), false);
  Shape shape;
  for (int64_t axis : op.perm) {
    if (axis < 0 || axis >= x.rank() || seen[axis])
      refuseField("perm", found, "each axis of " + x.str() + " once");
    seen[axis] = true;
    shape.push_back(x.shape[axis]);
  }
  if (static_cast<int>(shape.size()) != x.rank())
    refuseField("perm", found, "each axis of " + x.str() + " once");
  c.set(0, x.dtype, shape);
}

// The elements of a Slice with constant bounds must lie on the axis.
static void requireSliceInside(const InferContext &c, const Slice &op, const Dim &length) {
  if (op.start.isConstant() && *op.start.constant() < 0 && !op.length.is(0))
    refuseField("start", op.start.str(), "an index from 0 on");
  if (!op.start.isConstant() || !op.length.isConstant() || !length.isConstant() || op.length.is(0))
    return;
  int64_t last = 0;
  const bool overflow = __builtin_mul_overflow(*op.length.constant() - 1, op.step, &last) ||
                        __builtin_add_overflow(last, *op.start.constant(), &last);
  const int64_t end = *length.constant();
  if (overflow || last < 0 || last >= end || *op.start.constant() >= end) {
    refuseOperand(c, 0, c.operand(0).str(),
                  "room for " + op.length.str() + " elements from " + op.start.str() +
                      " on along axis " + std::to_string(op.axis) + ", step " +
                      std::to_string(op.step));
  }
}

static void inferOp(const Slice &op, InferContext &c) {
  const Fact &x = c.operand(0);
  const int axis = normalAxis(op.axis, x.rank());
  if (op.step == 0)
    refuseField("step", "0", "another step");
  requireDims("length", {op.length});
  requireSliceInside(c, op, x.shape[axis]);
  Shape shape = x.shape;
  shape[axis] = op.length;
  c.set(0, x.dtype, shape);
}

static void inferOp(const SliceAt &op, InferContext &c) {
  enum Operand { kX, kStarts, kEnds, kSteps };
  const Fact &x = c.operand(kX);
  const int64_t count = static_cast<int64_t>(op.axes.size());
  for (size_t i : {kStarts, kEnds, kSteps}) {
    if (c.has(i))
      requireShapeOperand(c, i, count);
  }
  const auto starts = contentsOf(c.operand(kStarts));
  const auto ends = contentsOf(c.operand(kEnds));
  const auto steps = c.has(kSteps) ? contentsOf(c.operand(kSteps))
                                   : llvm::SmallVector<Dim, 4>(op.axes.size(), Dim(1));
  Shape shape = x.shape;
  llvm::SmallVector<bool, 8> seen(x.rank(), false);
  for (size_t i = 0; i < op.axes.size(); ++i) {
    const int axis = normalAxis(op.axes[i], x.rank(), "axes");
    if (seen[axis])
      refuseField("axes", str(Shape(op.axes.begin(), op.axes.end())), "each axis once");
    seen[axis] = true;
    std::optional<SliceRange> range;
    if (starts && ends && steps && (*steps)[i].isConstant())
      range = sliceRange((*starts)[i], (*ends)[i], *(*steps)[i].constant(), x.shape[axis]);
    shape[axis] = range ? range->length : c.freshDim(0, axis);
  }
  c.set(0, x.dtype, shape);
}

static void inferOp(const Expand &op, InferContext &c) {
  requireDims("dims", op.dims);
  c.set(0, c.operand(0).dtype, broadcastShapes(c.operand(0).shape, op.dims));
}

static void inferOp(const ExpandTo &op, InferContext &c) {
  requireResultRank(op.rank);
  requireType(c, 1, DType::kI64);
  requireRank(c, 1, 1);
  const Fact &x = c.operand(0);
  if (x.rank() > op.rank)
    refuseField("rank", std::to_string(op.rank), std::to_string(x.rank()) + " or more");
  if (const auto target = contentsOf(c.operand(1))) {
    requireDims("shape", *target);
    const Shape shape = broadcastShapes(x.shape, *target);
    if (static_cast<int64_t>(shape.size()) != op.rank)
      refuseOperand(c, 1, c.operand(1).str(), std::to_string(op.rank) + " elements");
    c.set(0, x.dtype, shape);
    return;
  }
  Shape shape = freshShape(c, op.rank);
  // An axis longer than 1 keeps its length.
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Dim &dim = x.shape[axis];
    if (dim.isConstant() && !dim.is(1))
      shape[op.rank - x.rank() + axis] = dim;
  }
  c.set(0, x.dtype, shape);
}

static void inferOp(const Concat &op, InferContext &c) {
  if (c.numOperands() == 0)
    throw Error("found no operand, expected one or more").at("operand 'xs'");
  const Fact &first = c.operand(0);
  const int axis = normalAxis(op.axis, first.rank());
  Shape shape = first.shape;
  for (size_t i = 1; i < c.numOperands(); ++i) {
    requireSameType(c, i, 0);
    requireRank(c, i, first.rank());
    for (int other = 0; other < first.rank(); ++other) {
      if (other == axis)
        shape[axis] = shape[axis] + c.operand(i).shape[axis];
      else
        shape[other] = requireDim(c, i, other, shape[other]);
    }
  }
  c.set(0, first.dtype, shape);
}

static void inferOp(const Pad &op, InferContext &c) {
  const Fact &x = c.operand(0);
  const size_t rank = x.shape.size();
  if (op.pads.size() != 2 * rank)
    refuseField("pads", str(op.pads), std::to_string(2 * rank) + " entries");
  if (c.has(1)) {
    requireSameType(c, 1, 0);
    requireScalar(c, 1);
  }
  Shape shape = x.shape;
  for (size_t axis = 0; axis < rank; ++axis)
    shape[axis] = shape[axis] + op.pads[axis] + op.pads[rank + axis];
  requireDims("pads", shape);
  c.set(0, x.dtype, shape);
}

static void inferOp(const Fill &op, InferContext &c) {
  requireScalar(c, 0);
  requireDims("dims", op.dims);
  c.set(0, c.operand(0).dtype, op.dims);
}

static void inferOp(const FillTo &op, InferContext &c) {
  requireResultRank(op.rank);
  requireScalar(c, 0);
  requireShapeOperand(c, 1, op.rank);
  const auto target = contentsOf(c.operand(1));
  if (target)
    requireDims("shape", *target);
  c.set(0, c.operand(0).dtype, target ? Shape(*target) : freshShape(c, op.rank));
}

// The element of a constant scalar.
static std::optional<double> constantFloat(const Fact &fact) {
  if (!fact.constant || fact.constant->count() != 1)
    return std::nullopt;
  return fact.constant->floatAt(0);
}

static int64_t requireRangeLength(double length) {
  if (!(length < 9e15)) // NaN too
    throw Error("found a range of " + std::to_string(length) +
                " elements, expected fewer than 2^53");
  return length > 0 ? static_cast<int64_t>(length) : 0;
}

// Elements of a float range. The difference is rounded to the element type, as onnxruntime does.
static std::optional<Dim> floatRangeLength(const InferContext &c) {
  const auto start = constantFloat(c.operand(0));
  const auto limit = constantFloat(c.operand(1));
  const auto delta = constantFloat(c.operand(2));
  if (!start || !limit || !delta)
    return std::nullopt;
  const double span = c.operand(0).dtype == DType::kF64
                          ? *limit - *start
                          : static_cast<float>(*limit) - static_cast<float>(*start);
  if (*delta == 0)
    refuseOperand(c, 2, "0", "another step");
  return Dim(requireRangeLength(std::ceil(span / *delta)));
}

static std::optional<Dim> scalarContents(const Fact &fact) {
  const auto contents = contentsOf(fact);
  if (!contents || contents->size() != 1)
    return std::nullopt;
  return contents->front();
}

static std::optional<Dim> integerRangeLength(const InferContext &c) {
  const std::optional<Dim> start = scalarContents(c.operand(0));
  const std::optional<Dim> limit = scalarContents(c.operand(1));
  const std::optional<Dim> delta = scalarContents(c.operand(2));
  if (!start || !limit || !delta || !delta->isConstant())
    return std::nullopt;
  const int64_t step = *delta->constant();
  if (step == 0)
    refuseOperand(c, 2, "0", "another step");
  if (start->isConstant() && limit->isConstant()) {
    const double span =
        static_cast<double>(*limit->constant()) - static_cast<double>(*start->constant());
    requireRangeLength(std::ceil(span / static_cast<double>(step)));
    const int64_t exact = *limit->constant() - *start->constant();
    const bool empty = exact == 0 || (exact > 0) != (step > 0);
    return Dim(empty ? 0 : exact / step + (exact % step != 0));
  }
  if (step == INT64_MIN)
    return std::nullopt;
  Dim span = step > 0 ? *limit - *start : *start - *limit;
  if (!neverNegative(span))
    span = Dim::max(span, 0);
  return ceilDiv(span, step > 0 ? step : -step);
}

static void inferOp(const Range &, InferContext &c) {
  requireNumeric(c, 0);
  for (size_t i = 0; i < 3; ++i) {
    requireSameType(c, i, 0);
    requireScalar(c, i);
  }
  const std::optional<Dim> length =
      isFloat(c.operand(0).dtype) ? floatRangeLength(c) : integerRangeLength(c);
  c.set(0, c.operand(0).dtype, {length ? *length : c.freshDim(0, 0)});
}

static void inferOp(const Tile &op, InferContext &c) {
  const Fact &x = c.operand(0);
  if (op.repeats.size() != x.shape.size())
    refuseField("repeats", str(op.repeats), "one entry per axis of " + x.str());
  requireDims("repeats", op.repeats);
  Shape shape = x.shape;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    shape[axis] = shape[axis] * op.repeats[axis];
  c.set(0, x.dtype, shape);
}

static void inferOp(const Trilu &, InferContext &c) {
  requireMinRank(c, 0, 2);
  c.set(0, c.operand(0).dtype, c.operand(0).shape);
}

// --- Indexing ------------------------------------------------------------------------------------

static void inferOp(const Gather &op, InferContext &c) {
  const Fact &x = c.operand(0);
  const int axis = normalAxis(op.axis, x.rank());
  requireIndex(c, 1);
  const Fact &indices = c.operand(1);
  Shape shape(x.shape.begin(), x.shape.begin() + axis);
  shape.append(indices.shape.begin(), indices.shape.end());
  shape.append(x.shape.begin() + axis + 1, x.shape.end());
  c.set(0, x.dtype, shape);
}

// Indices with x's rank, no longer than x on the axes that are not indexed.
static void requireElementIndices(const InferContext &c, int axis) {
  requireIndex(c, 1);
  const Fact &x = c.operand(0);
  const Fact &indices = c.operand(1);
  requireRank(c, 1, x.rank());
  for (int other = 0; other < x.rank(); ++other) {
    const std::optional<int64_t> found = indices.shape[other].constant();
    const std::optional<int64_t> limit = x.shape[other].constant();
    if (other != axis && found && limit && *found > *limit)
      refuseOperand(c, 1, indices.str(),
                    "at most " + std::to_string(*limit) + " at axis " + std::to_string(other));
  }
}

static void inferOp(const GatherElements &op, InferContext &c) {
  requireElementIndices(c, normalAxis(op.axis, c.operand(0).rank()));
  c.set(0, c.operand(0).dtype, c.operand(1).shape);
}

// Length of one index tuple: the last dim of `indices`.
static int64_t requireTuple(const InferContext &c, int64_t batchDims) {
  requireIndex(c, 1);
  requireMinRank(c, 0, 1);
  requireMinRank(c, 1, 1);
  const Fact &x = c.operand(0);
  const Fact &indices = c.operand(1);
  if (batchDims < 0 || batchDims >= std::min(x.rank(), indices.rank()))
    refuseField("batch_dims", std::to_string(batchDims), "fewer than the rank of both operands");
  for (int axis = 0; axis < batchDims; ++axis)
    requireDim(c, 1, axis, x.shape[axis]);
  const std::optional<int64_t> length = indices.shape.back().constant();
  if (!length || *length < 1 || *length + batchDims > x.rank()) {
    refuseOperand(c, 1, indices.str(),
                  "1 to " + std::to_string(x.rank() - batchDims) + " as its last dim");
  }
  return *length;
}

static void inferOp(const GatherNd &op, InferContext &c) {
  const int64_t length = requireTuple(c, op.batchDims);
  const Fact &x = c.operand(0);
  Shape shape(c.operand(1).shape.begin(), c.operand(1).shape.end() - 1);
  shape.append(x.shape.begin() + op.batchDims + length, x.shape.end());
  c.set(0, x.dtype, shape);
}

static void requireReduction(const InferContext &c, ScatterReduction reduction) {
  requireSameType(c, 2, 0);
  if (reduction != ScatterReduction::kNone)
    requireNumeric(c, 0);
}

static void inferOp(const ScatterNd &op, InferContext &c) {
  const int64_t length = requireTuple(c, 0);
  requireReduction(c, op.reduction);
  const Fact &x = c.operand(0);
  Shape updates(c.operand(1).shape.begin(), c.operand(1).shape.end() - 1);
  updates.append(x.shape.begin() + length, x.shape.end());
  requireShape(c, 2, updates);
  c.set(0, x.dtype, x.shape);
}

static void inferOp(const ScatterElements &op, InferContext &c) {
  requireElementIndices(c, normalAxis(op.axis, c.operand(0).rank()));
  requireReduction(c, op.reduction);
  requireShape(c, 2, c.operand(1).shape);
  c.set(0, c.operand(0).dtype, c.operand(0).shape);
}

// --- Reductions and norms ------------------------------------------------------------------------

static void inferOp(const Reduce &op, InferContext &c) {
  const bool ordered = op.kind == ReduceKind::kMax || op.kind == ReduceKind::kMin;
  if (!ordered || c.operand(0).dtype != DType::kBool)
    requireNumeric(c, 0);
  const Fact &x = c.operand(0);
  llvm::SmallVector<bool, 8> reduced(x.rank(), false);
  for (int64_t axis : op.axes) {
    const int normal = normalAxis(axis, x.rank(), "axes");
    if (reduced[normal])
      refuseField("axes", str(Shape(op.axes.begin(), op.axes.end())), "each axis once");
    reduced[normal] = true;
  }
  Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!reduced[axis])
      shape.push_back(x.shape[axis]);
    else if (op.keepDims)
      shape.push_back(1);
  }
  c.set(0, x.dtype, shape);
}

static void inferOp(const ArgReduce &op, InferContext &c) {
  requireNumeric(c, 0);
  Shape shape = c.operand(0).shape;
  const int axis = normalAxis(op.axis, c.operand(0).rank());
  if (op.keepDims)
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + axis);
  c.set(0, DType::kI64, shape);
}

static void inferOp(const TopK &op, InferContext &c) {
  requireNumeric(c, 0);
  const Fact &x = c.operand(0);
  const int axis = normalAxis(op.axis, x.rank());
  requireDims("k", {op.k});
  const Dim &length = x.shape[axis];
  if (op.k.isConstant() && length.isConstant() && *op.k.constant() > *length.constant())
    refuseField("k", op.k.str(), "at most the axis's length " + length.str());
  Shape shape = x.shape;
  shape[axis] = op.k;
  c.set(0, x.dtype, shape);
  c.set(1, DType::kI64, shape);
}

static void inferOp(const CumSum &op, InferContext &c) {
  requireNumeric(c, 0);
  normalAxis(op.axis, c.operand(0).rank());
  c.set(0, c.operand(0).dtype, c.operand(0).shape);
}

static void inferOp(const Softmax &op, InferContext &c) {
  requireFloat(c, 0);
  normalAxis(op.axis, c.operand(0).rank());
  c.set(0, c.operand(0).dtype, c.operand(0).shape);
}

static void inferOp(const RmsNorm &op, InferContext &c) {
  requireFloat(c, 0);
  requireFloat(c, 1);
  normalAxis(op.axis, c.operand(0).rank());
  requireBroadcastTo(c, 1, c.operand(0).shape);
  c.set(0, c.operand(1).dtype, c.operand(0).shape);
}

static void inferOp(const LayerNorm &op, InferContext &c) {
  requireFloat(c, 0);
  requireFloat(c, 1);
  const Fact &x = c.operand(0);
  const int axis = normalAxis(op.axis, x.rank());
  requireBroadcastTo(c, 1, x.shape);
  if (c.has(2)) {
    requireSameType(c, 2, 1);
    requireBroadcastTo(c, 2, x.shape);
  }
  Shape statistics = x.shape;
  std::fill(statistics.begin() + axis, statistics.end(), Dim(1));
  c.set(0, c.operand(1).dtype, x.shape);
  c.set(1, DType::kF32, statistics);
  c.set(2, DType::kF32, statistics);
}

// --- Control -------------------------------------------------------------------------------------

static void requireBranch(const InferContext &c, const GraphRef &graph, const char *field,
                          size_t results) {
  if (!graph)
    throw Error::internal("an If without a graph").at(std::string("attribute '") + field + "'");
  const size_t captures = c.numOperands() - 1;
  if (graph->inputs().size() != captures) {
    refuseField(field, std::to_string(graph->inputs().size()) + " inputs",
                std::to_string(captures) + ", one per capture");
  }
  if (graph->outputs().size() != results) {
    refuseField(field, std::to_string(graph->outputs().size()) + " outputs",
                std::to_string(results));
  }
}

// Symbols that mean the same inside and outside the branches: those of the captures.
static void collectCaptureSymbols(const InferContext &c,
                                  llvm::SmallVectorImpl<std::string> &symbols) {
  for (size_t i = 1; i < c.numOperands(); ++i) {
    if (!c.has(i))
      continue;
    for (const Dim &dim : c.operand(i).shape)
      dim.collectSymbols(symbols);
    if (!c.operand(i).contents)
      continue;
    for (const Dim &dim : *c.operand(i).contents)
      dim.collectSymbols(symbols);
  }
}

static bool onlySymbolsOf(const Dim &dim, llvm::ArrayRef<std::string> known) {
  llvm::SmallVector<std::string, 4> symbols;
  dim.collectSymbols(symbols);
  return llvm::all_of(symbols,
                      [&](const std::string &symbol) { return llvm::is_contained(known, symbol); });
}

static void inferOp(const If &op, InferContext &c) {
  if (c.numOperands() == 0 || !c.has(0))
    throw Error("found no operand, expected the condition").at("operand 'condition'");
  if (c.operand(0).known) {
    requireType(c, 0, DType::kBool);
    requireScalar(c, 0);
  }
  const size_t results = static_cast<size_t>(op.results);
  requireBranch(c, op.thenGraph, "then", results);
  requireBranch(c, op.elseGraph, "else", results);
  llvm::SmallVector<std::string, 8> symbols;
  collectCaptureSymbols(c, symbols);
  for (size_t i = 0; i < std::min(results, c.numResults()); ++i) {
    const Fact &a = op.thenGraph->fact(op.thenGraph->outputs()[i]);
    const Fact &b = op.elseGraph->fact(op.elseGraph->outputs()[i]);
    if (!a.known || !b.known)
      continue;
    if (a.dtype != b.dtype || a.rank() != b.rank()) {
      refuseField("else", b.str() + " as output " + std::to_string(i),
                  a.str() + " as the then branch gives");
    }
    Shape shape = a.shape;
    for (int axis = 0; axis < a.rank(); ++axis) {
      if (a.shape[axis] != b.shape[axis] || !onlySymbolsOf(a.shape[axis], symbols))
        shape[axis] = c.freshDim(i, axis);
    }
    c.set(i, a.dtype, shape);
  }
}

static void inferOp(const Unsupported &, InferContext &) {}

// --- Entry ---------------------------------------------------------------------------------------

// Kernels take views of at most kMaxRank axes, and byte counts that fit 63 bits.
static void requireTractable(const Fact &fact) {
  if (!fact.known)
    return;
  if (fact.rank() > kMaxRank) {
    throw Error("found a result of rank " + std::to_string(fact.rank()) + ", expected at most " +
                std::to_string(kMaxRank));
  }
  int64_t bits = dtypeInfo(fact.dtype).bits;
  for (const Dim &dim : fact.shape) {
    const std::optional<int64_t> length = dim.constant();
    if (length && *length < 0)
      throw Error("found a result of shape " + str(fact.shape) + ", expected no negative length");
    if (length && *length > 0 && __builtin_mul_overflow(bits, *length, &bits))
      throw Error("found a result of shape " + str(fact.shape) + ", expected fewer elements");
  }
}

// Results follow from all operands, save for those of If, which follow from its graphs.
template <class T> static bool dependsOnUnknown(const T &, const InferContext &c) {
  if constexpr (std::is_same_v<T, If>)
    return false;
  for (size_t i = 0; i < c.numOperands(); ++i) {
    if (c.has(i) && !c.operand(i).known)
      return true;
  }
  return false;
}

// Every operand without '?' is there.
template <class T> static void requireOperands(const T &, const InferContext &c) {
  if constexpr (std::is_same_v<T, Unsupported>)
    return; // lists its operands as the model does
  const llvm::StringRef names(T::kOperands);
  llvm::SmallVector<llvm::StringRef, 8> specs;
  names.split(specs, ' ', -1, false);
  const bool hasTail = !specs.empty() && specs.back().back() == '*';
  const size_t single = specs.size() - (hasTail ? 1 : 0);
  if (!hasTail && c.numOperands() > single) {
    throw Error("found " + std::to_string(c.numOperands()) + " operands, expected at most " +
                std::to_string(single));
  }
  for (size_t i = 0; i < std::max(single, c.numOperands()); ++i) {
    const bool optional = i < single && specs[i].back() == '?';
    if (!optional && !c.has(i))
      throw Error("found none, expected one").at("operand '" + c.operandName(i) + "'");
  }
}

void infer(const Op &op, InferContext &context) {
  for (size_t i = 0; i < context.numResults(); ++i)
    context.result(i) = Fact();
  std::visit(
      [&](const auto &alternative) {
        using T = std::decay_t<decltype(alternative)>;
        context.nameOperands(T::kOperands);
        requireOperands(alternative, context);
        if (!dependsOnUnknown(alternative, context))
          inferOp(alternative, context);
      },
      op);
  for (size_t i = 0; i < context.numResults(); ++i)
    requireTractable(context.result(i));
  inferContents(op, context);
}

} // namespace engine::ir
