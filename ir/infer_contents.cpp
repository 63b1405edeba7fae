// Contents of small integer tensors as dims: what keeps Shape/Gather/Concat/Reshape chains
// symbolic. Every function gives the results' elements or nothing; nothing is always right.
#include "ir/infer_impl.h"

#include "ir/error.h"

namespace engine::ir {

// --- What operands say ---------------------------------------------------------------------------

static bool holdsIntegers(DType type) {
  return type == DType::kBool || (isInteger(type) && !isSubByte(type));
}

std::optional<llvm::SmallVector<int64_t>> constantContents(const Fact &fact) {
  llvm::SmallVector<int64_t> values;
  if (fact.contents) {
    for (const Dim &dim : *fact.contents) {
      if (!dim.isConstant())
        return std::nullopt;
      values.push_back(*dim.constant());
    }
    return values;
  }
  if (!fact.constant || !holdsIntegers(fact.constant->dtype) ||
      fact.constant->count() > Fact::kMaxContents)
    return std::nullopt;
  for (int64_t i = 0; i < fact.constant->count(); ++i)
    values.push_back(fact.constant->intAt(i));
  return values;
}

std::optional<Contents> contentsOf(const Fact &fact) {
  if (fact.contents)
    return fact.contents;
  const auto constants = constantContents(fact);
  if (!constants)
    return std::nullopt;
  return Contents(constants->begin(), constants->end());
}

// --- Positions: which operand element a result element comes from --------------------------------

using Ints64 = llvm::SmallVector<int64_t, 8>;

static std::optional<Ints64> constantDims(const Fact &fact) {
  Ints64 dims;
  for (const Dim &dim : fact.shape) {
    if (!dim.isConstant())
      return std::nullopt;
    dims.push_back(*dim.constant());
  }
  return dims;
}

static int64_t countOfDims(llvm::ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

static Ints64 denseStrides(llvm::ArrayRef<int64_t> dims) {
  Ints64 strides(dims.size());
  int64_t stride = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  return strides;
}

// For each element of a tensor of `dims`, row-major: `offset` plus its coordinates times `strides`.
static Ints64 positions(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> strides,
                        int64_t offset = 0) {
  const Ints64 dense = denseStrides(dims);
  Ints64 result;
  for (int64_t i = 0; i < countOfDims(dims); ++i) {
    int64_t position = offset;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      position += i / dense[axis] % dims[axis] * strides[axis];
    result.push_back(position);
  }
  return result;
}

// Strides that broadcast a tensor of `dims` to `rank` axes.
static Ints64 broadcastStrides(llvm::ArrayRef<int64_t> dims, size_t rank) {
  const Ints64 dense = denseStrides(dims);
  Ints64 strides(rank, 0);
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] != 1)
      strides[rank - dims.size() + axis] = dense[axis];
  }
  return strides;
}

static Contents pick(const Contents &from, llvm::ArrayRef<int64_t> where) {
  Contents result;
  for (int64_t position : where)
    result.push_back(from[position]);
  return result;
}

// An operand's elements as the result sees them.
static std::optional<Contents> broadcastContents(const Fact &operand,
                                                 llvm::ArrayRef<int64_t> resultDims) {
  const auto contents = contentsOf(operand);
  const auto dims = constantDims(operand);
  if (!contents || !dims)
    return std::nullopt;
  return pick(*contents, positions(resultDims, broadcastStrides(*dims, resultDims.size())));
}

// --- Arithmetic on one element -------------------------------------------------------------------

static std::optional<Dim> checkedAdd(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional<Dim>(sum);
}

static std::optional<Dim> checkedSub(int64_t a, int64_t b) {
  int64_t difference;
  return __builtin_sub_overflow(a, b, &difference) ? std::nullopt : std::optional<Dim>(difference);
}

static std::optional<Dim> checkedMul(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional<Dim>(product);
}

static std::optional<Dim> divideConstants(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1))
    return std::nullopt;
  return Dim(a / b);
}

static std::optional<Dim> floorModConstants(int64_t a, int64_t b) {
  if (b == 0 || b == -1)
    return b == 0 ? std::nullopt : std::optional<Dim>(0);
  const int64_t rest = a % b;
  return Dim(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

static std::optional<Dim> combineConstants(BinaryKind kind, int64_t a, int64_t b) {
  switch (kind) {
  case BinaryKind::kAdd:
    return checkedAdd(a, b);
  case BinaryKind::kSub:
    return checkedSub(a, b);
  case BinaryKind::kMul:
    return checkedMul(a, b);
  case BinaryKind::kDiv:
    return divideConstants(a, b);
  case BinaryKind::kMod:
    return floorModConstants(a, b);
  case BinaryKind::kFmod:
    return b == 0 || b == -1 ? std::nullopt : std::optional<Dim>(a % b);
  case BinaryKind::kMin:
    return Dim(std::min(a, b));
  case BinaryKind::kMax:
    return Dim(std::max(a, b));
  case BinaryKind::kAnd:
    return Dim(a != 0 && b != 0);
  case BinaryKind::kOr:
    return Dim(a != 0 || b != 0);
  case BinaryKind::kXor:
    return Dim((a != 0) != (b != 0));
  case BinaryKind::kEqual:
    return Dim(a == b);
  case BinaryKind::kLess:
    return Dim(a < b);
  case BinaryKind::kLessOrEqual:
    return Dim(a <= b);
  case BinaryKind::kGreater:
    return Dim(a > b);
  case BinaryKind::kGreaterOrEqual:
    return Dim(a >= b);
  default:
    return std::nullopt;
  }
}

// Integer division truncates: that is floorDiv where no operand is negative.
static std::optional<Dim> divideDims(const Dim &a, const Dim &b) {
  if (b.is(0))
    return std::nullopt;
  if (std::optional<Dim> exact = a.dividedBy(b))
    return exact;
  if (!neverNegative(a) || !neverNegative(b))
    return std::nullopt;
  return Dim::floorDiv(a, b);
}

static std::optional<Dim> modDims(const Dim &a, const Dim &b) {
  if (b.is(0) || !neverNegative(a) || !neverNegative(b))
    return std::nullopt;
  return Dim::mod(a, b);
}

// One value of a comparison that bounds decide for both orders: `-1 == batch` is false, `S >= 0` is
// true.
static std::optional<Dim> compareDims(BinaryKind kind, const Dim &a, const Dim &b) {
  const SymbolRange difference = boundsOf(a - b);
  const bool less = difference.max < 0;
  const bool greater = difference.min > 0;
  const bool same = a == b;
  if (kind == BinaryKind::kEqual) {
    if (same || less || greater)
      return Dim(same);
    return std::nullopt;
  }
  const bool notGreater = same || difference.max <= 0;
  const bool notLess = same || difference.min >= 0;
  switch (kind) {
  case BinaryKind::kLess:
    return less || notLess ? std::optional<Dim>(less) : std::nullopt;
  case BinaryKind::kLessOrEqual:
    return notGreater || greater ? std::optional<Dim>(notGreater) : std::nullopt;
  case BinaryKind::kGreater:
    return greater || notGreater ? std::optional<Dim>(greater) : std::nullopt;
  case BinaryKind::kGreaterOrEqual:
    return notLess || less ? std::optional<Dim>(notLess) : std::nullopt;
  default:
    return std::nullopt;
  }
}

static std::optional<Dim> combine(BinaryKind kind, const Dim &a, const Dim &b) {
  if (a.isConstant() && b.isConstant())
    return combineConstants(kind, *a.constant(), *b.constant());
  switch (kind) {
  case BinaryKind::kAdd:
    return a + b;
  case BinaryKind::kSub:
    return a - b;
  case BinaryKind::kMul:
    return a * b;
  case BinaryKind::kDiv:
    return divideDims(a, b);
  case BinaryKind::kMod:
  case BinaryKind::kFmod:
    return modDims(a, b);
  case BinaryKind::kMin:
    return Dim::min(a, b);
  case BinaryKind::kMax:
    return Dim::max(a, b);
  default:
    return compareDims(kind, a, b);
  }
}

static std::optional<Dim> apply(UnaryKind kind, const Dim &x) {
  const std::optional<int64_t> constant = x.constant();
  switch (kind) {
  case UnaryKind::kNeg:
    return constant && *constant == INT64_MIN ? std::nullopt : std::optional<Dim>(-x);
  case UnaryKind::kAbs:
    if (neverNegative(x))
      return x;
    return constant && *constant != INT64_MIN ? std::optional<Dim>(-x) : std::nullopt;
  case UnaryKind::kSign:
    return constant ? std::optional<Dim>((*constant > 0) - (*constant < 0)) : std::nullopt;
  case UnaryKind::kNot:
    return constant ? std::optional<Dim>(*constant == 0) : std::nullopt;
  default:
    return std::nullopt;
  }
}

// --- Operators -----------------------------------------------------------------------------------

namespace {

struct ResultInfo {
  Ints64 dims;
  DType dtype;
};

} // namespace

// Any operator not listed here says nothing.
template <class T>
static std::optional<Contents> contentsFor(const T &, const InferContext &, const ResultInfo &) {
  return std::nullopt;
}

static std::optional<Contents> contentsFor(const Const &op, const InferContext &,
                                           const ResultInfo &) {
  Contents contents;
  for (int64_t i = 0; i < op.data->count(); ++i)
    contents.push_back(op.data->intAt(i));
  return contents;
}

static std::optional<Contents> contentsFor(const DimValues &op, const InferContext &,
                                           const ResultInfo &) {
  return op.values;
}

static std::optional<Contents> contentsFor(const Unary &op, const InferContext &c,
                                           const ResultInfo &) {
  const auto x = contentsOf(c.operand(0));
  if (!x)
    return std::nullopt;
  Contents contents;
  for (const Dim &element : *x) {
    const std::optional<Dim> value = apply(op.kind, element);
    if (!value)
      return std::nullopt;
    contents.push_back(*value);
  }
  return contents;
}

static std::optional<Contents> contentsFor(const Binary &op, const InferContext &c,
                                           const ResultInfo &result) {
  const auto a = broadcastContents(c.operand(0), result.dims);
  const auto b = broadcastContents(c.operand(1), result.dims);
  if (!a || !b)
    return std::nullopt;
  Contents contents;
  for (size_t i = 0; i < a->size(); ++i) {
    const std::optional<Dim> value = combine(op.kind, (*a)[i], (*b)[i]);
    if (!value)
      return std::nullopt;
    contents.push_back(*value);
  }
  return contents;
}

static std::optional<Contents> contentsFor(const Where &, const InferContext &c,
                                           const ResultInfo &result) {
  const auto condition = broadcastContents(c.operand(0), result.dims);
  const auto a = broadcastContents(c.operand(1), result.dims);
  const auto b = broadcastContents(c.operand(2), result.dims);
  if (!condition)
    return std::nullopt;
  Contents contents;
  for (size_t i = 0; i < condition->size(); ++i) {
    const Dim &chosen = (*condition)[i];
    const std::optional<Contents> &from = chosen.is(0) ? b : a;
    if (!chosen.isConstant() || !from)
      return std::nullopt;
    contents.push_back((*from)[i]);
  }
  return contents;
}

static std::optional<Contents> contentsFor(const Cast &op, const InferContext &c,
                                           const ResultInfo &) {
  const auto x = contentsOf(c.operand(0));
  if (!x || op.to != DType::kBool)
    return x;
  Contents contents;
  for (const Dim &element : *x) {
    const SymbolRange range = boundsOf(element);
    if (element.is(0))
      contents.push_back(0);
    else if (range.min > 0 || range.max < 0)
      contents.push_back(1);
    else
      return std::nullopt;
  }
  return contents;
}

// All elements are lengths then, whatever the operand's may be.
static std::optional<Contents> contentsFor(const CheckLengths &, const InferContext &c,
                                           const ResultInfo &) {
  return contentsOf(c.operand(0));
}

static std::optional<Contents> contentsFor(const Reshape &, const InferContext &c,
                                           const ResultInfo &) {
  return contentsOf(c.operand(0));
}

static std::optional<Contents> contentsFor(const ReshapeTo &, const InferContext &c,
                                           const ResultInfo &) {
  return contentsOf(c.operand(0));
}

static std::optional<Contents> contentsFor(const Transpose &op, const InferContext &c,
                                           const ResultInfo &result) {
  const auto x = contentsOf(c.operand(0));
  const auto dims = constantDims(c.operand(0));
  if (!x || !dims)
    return std::nullopt;
  const Ints64 dense = denseStrides(*dims);
  Ints64 strides;
  for (int64_t axis : op.perm)
    strides.push_back(dense[axis]);
  return pick(*x, positions(result.dims, strides));
}

// One axis, constant bounds, of a tensor of `dims`; `dims` becomes the result's.
static std::optional<Contents> sliceContents(const Contents &x, Ints64 &dims, int axis,
                                             const SliceRange &range, int64_t step) {
  const std::optional<int64_t> start = range.start.constant();
  const std::optional<int64_t> length = range.length.constant();
  if (!start || !length)
    return std::nullopt;
  Ints64 strides = denseStrides(dims);
  const int64_t offset = *length > 0 ? *start * strides[axis] : 0;
  strides[axis] = *length > 1 ? strides[axis] * step : 0;
  dims[axis] = *length;
  return pick(x, positions(dims, strides, offset));
}

static std::optional<Contents> contentsFor(const Slice &op, const InferContext &c,
                                           const ResultInfo &) {
  const auto x = contentsOf(c.operand(0));
  auto dims = constantDims(c.operand(0));
  if (!x || !dims)
    return std::nullopt;
  const int axis = normalAxis(op.axis, c.operand(0).rank());
  return sliceContents(*x, *dims, axis, {op.start, op.length}, op.step);
}

static std::optional<Contents> contentsFor(const SliceAt &op, const InferContext &c,
                                           const ResultInfo &) {
  auto x = contentsOf(c.operand(0));
  auto dims = constantDims(c.operand(0));
  const auto starts = contentsOf(c.operand(1));
  const auto ends = contentsOf(c.operand(2));
  const auto steps =
      c.has(3) ? constantContents(c.operand(3)) : llvm::SmallVector<int64_t>(op.axes.size(), 1);
  if (!x || !dims || !starts || !ends || !steps)
    return std::nullopt;
  for (size_t i = 0; i < op.axes.size(); ++i) {
    const int axis = normalAxis(op.axes[i], c.operand(0).rank());
    const auto range = sliceRange((*starts)[i], (*ends)[i], (*steps)[i], (*dims)[axis]);
    if (!range)
      return std::nullopt;
    x = sliceContents(*x, *dims, axis, *range, (*steps)[i]);
    if (!x)
      return std::nullopt;
  }
  return x;
}

static std::optional<Contents> contentsFor(const Expand &, const InferContext &c,
                                           const ResultInfo &result) {
  return broadcastContents(c.operand(0), result.dims);
}

static std::optional<Contents> contentsFor(const ExpandTo &, const InferContext &c,
                                           const ResultInfo &result) {
  return broadcastContents(c.operand(0), result.dims);
}

static std::optional<Contents> fillContents(const Fact &value, const ResultInfo &result) {
  const auto element = contentsOf(value);
  if (!element || element->size() != 1)
    return std::nullopt;
  return Contents(countOfDims(result.dims), element->front());
}

static std::optional<Contents> contentsFor(const Fill &, const InferContext &c,
                                           const ResultInfo &result) {
  return fillContents(c.operand(0), result);
}

static std::optional<Contents> contentsFor(const FillTo &, const InferContext &c,
                                           const ResultInfo &result) {
  return fillContents(c.operand(0), result);
}

static std::optional<Contents> contentsFor(const Concat &op, const InferContext &c,
                                           const ResultInfo &result) {
  const int axis = normalAxis(op.axis, c.operand(0).rank());
  const Ints64 dense = denseStrides(result.dims);
  Contents contents(countOfDims(result.dims));
  int64_t offset = 0;
  for (size_t i = 0; i < c.numOperands(); ++i) {
    const auto x = contentsOf(c.operand(i));
    const auto dims = constantDims(c.operand(i));
    if (!x || !dims)
      return std::nullopt;
    const Ints64 where = positions(*dims, dense, offset * dense[axis]);
    for (size_t element = 0; element < where.size(); ++element)
      contents[where[element]] = (*x)[element];
    offset += (*dims)[axis];
  }
  return contents;
}

static std::optional<Contents> contentsFor(const Range &, const InferContext &c,
                                           const ResultInfo &result) {
  const auto start = contentsOf(c.operand(0));
  const auto delta = contentsOf(c.operand(2));
  if (!start || !delta)
    return std::nullopt;
  Contents contents;
  std::optional<Dim> value = start->front();
  for (int64_t i = 0; i < result.dims[0]; ++i) {
    if (!value)
      return std::nullopt;
    contents.push_back(*value);
    value = combine(BinaryKind::kAdd, *value, delta->front());
  }
  return contents;
}

static std::optional<Contents> contentsFor(const Tile &, const InferContext &c,
                                           const ResultInfo &result) {
  const auto x = contentsOf(c.operand(0));
  if (!x || c.operand(0).rank() != 1)
    return std::nullopt;
  Contents contents;
  for (int64_t i = 0; i < result.dims[0]; ++i)
    contents.push_back((*x)[i % x->size()]);
  return contents;
}

static std::optional<Contents> contentsFor(const Gather &op, const InferContext &c,
                                           const ResultInfo &result) {
  const auto x = contentsOf(c.operand(0));
  const auto dims = constantDims(c.operand(0));
  const auto indices = constantContents(c.operand(1));
  if (!x || !dims || !indices)
    return std::nullopt;
  const int axis = normalAxis(op.axis, c.operand(0).rank());
  const int64_t length = (*dims)[axis];
  const int64_t inner = denseStrides(*dims)[axis];
  const int64_t count = static_cast<int64_t>(indices->size());
  Contents contents;
  for (int64_t i = 0; i < countOfDims(result.dims); ++i) {
    const int64_t index = (*indices)[i / inner % count];
    // An index out of range is the kernel's error to report.
    if (index < -length || index >= length)
      return std::nullopt;
    const int64_t row = index < 0 ? index + length : index;
    contents.push_back((*x)[(i / inner / count * length + row) * inner + i % inner]);
  }
  return contents;
}

static std::optional<BinaryKind> combiningKind(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::kSum:
    return BinaryKind::kAdd;
  case ReduceKind::kProd:
    return BinaryKind::kMul;
  case ReduceKind::kMax:
    return BinaryKind::kMax;
  case ReduceKind::kMin:
    return BinaryKind::kMin;
  default:
    return std::nullopt;
  }
}

// What a reduction of nothing gives; the largest of nothing is an error elsewhere.
static std::optional<Dim> emptyReduction(ReduceKind kind) {
  if (kind == ReduceKind::kSum)
    return Dim(0);
  if (kind == ReduceKind::kProd)
    return Dim(1);
  return std::nullopt;
}

static std::optional<Contents> contentsFor(const Reduce &op, const InferContext &c,
                                           const ResultInfo &result) {
  const auto x = contentsOf(c.operand(0));
  const auto dims = constantDims(c.operand(0));
  if (op.axes.empty() || !x || !dims)
    return op.axes.empty() ? x : std::nullopt;
  const std::optional<BinaryKind> kind = combiningKind(op.kind);
  if (!kind)
    return std::nullopt;
  Ints64 kept = *dims;
  for (int64_t axis : op.axes)
    kept[normalAxis(axis, c.operand(0).rank())] = 1;
  const Ints64 where = positions(*dims, broadcastStrides(kept, kept.size()));
  llvm::SmallVector<std::optional<Dim>, 4> sums(countOfDims(result.dims));
  for (size_t i = 0; i < where.size(); ++i) {
    std::optional<Dim> &sum = sums[where[i]];
    sum = sum ? combine(*kind, *sum, (*x)[i]) : std::optional<Dim>((*x)[i]);
    if (!sum)
      return std::nullopt;
  }
  Contents contents;
  for (const std::optional<Dim> &sum : sums) {
    const std::optional<Dim> value = sum ? sum : emptyReduction(op.kind);
    if (!value)
      return std::nullopt;
    contents.push_back(*value);
  }
  return contents;
}

// The branch that runs, if it is known, or what both agree on.
static std::optional<Contents> contentsFor(const If &op, const InferContext &c,
                                           const ResultInfo &) {
  const auto condition = constantContents(c.operand(0));
  const auto thenContents = contentsOf(op.thenGraph->fact(op.thenGraph->outputs()[0]));
  const auto elseContents = contentsOf(op.elseGraph->fact(op.elseGraph->outputs()[0]));
  const auto allConstant = [](const std::optional<Contents> &contents) {
    return contents && llvm::all_of(*contents, [](const Dim &dim) { return dim.isConstant(); });
  };
  if (condition && condition->size() == 1) {
    const std::optional<Contents> &chosen = condition->front() ? thenContents : elseContents;
    return allConstant(chosen) ? chosen : std::nullopt;
  }
  return allConstant(thenContents) && thenContents == elseContents ? thenContents : std::nullopt;
}

// --- Entry ---------------------------------------------------------------------------------------

namespace {

struct IntegerRange {
  int64_t min, max;
};

} // namespace

static std::optional<IntegerRange> valuesOf(DType type) {
  switch (type) {
  case DType::kBool:
    return IntegerRange{0, 1};
  case DType::kI32:
    return IntegerRange{INT32_MIN, INT32_MAX};
  case DType::kI64:
    return IntegerRange{INT64_MIN, INT64_MAX};
  default:
    return std::nullopt;
  }
}

// Elements that wrap in the tensor's type are not what the arithmetic above says.
static bool fitsType(const Contents &contents, IntegerRange range) {
  return llvm::all_of(contents, [&](const Dim &dim) {
    const std::optional<int64_t> value = dim.constant();
    return !value || (*value >= range.min && *value <= range.max);
  });
}

static bool isSmall(llvm::ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (dim == 0)
      return true;
    if (dim < 0 || dim > Fact::kMaxContents)
      return false;
    count *= dim;
    if (count > Fact::kMaxContents)
      return false;
  }
  return true;
}

static std::optional<Contents> resultContents(const Op &op, const InferContext &context,
                                              const Fact &result) {
  const std::optional<IntegerRange> range = valuesOf(result.dtype);
  const std::optional<Ints64> dims = constantDims(result);
  if (!range || !dims || !isSmall(*dims))
    return std::nullopt;
  const ResultInfo info{*dims, result.dtype};
  std::optional<Contents> contents = std::visit(
      [&](const auto &alternative) { return contentsFor(alternative, context, info); }, op);
  const bool usable = contents && fitsType(*contents, *range) &&
                      static_cast<int64_t>(contents->size()) == countOfDims(*dims);
  return usable ? contents : std::nullopt;
}

void inferContents(const Op &op, InferContext &context) {
  // Operators with several results make data, not shapes.
  if (context.numResults() == 0 || !context.result(0).known || context.result(0).contents)
    return;
  try {
    context.result(0).contents = resultContents(op, context, context.result(0));
  } catch (const Error &) {
    // Elements that no dim can express are not contents; the kernel computes them all the same.
    context.result(0).contents.reset();
  }
}

} // namespace engine::ir
