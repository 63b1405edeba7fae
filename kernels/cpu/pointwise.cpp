// Unary, Binary, Where, Cast: operands of any strides, broadcast, in rows. Floats compute in f32.
#include "kernels/cpu/row_walk.h"
#include "kernels/cpu/rows.h"
#include "kernels/reference/support.h"

#include <functional>

namespace engine::cpu {

namespace {

using reference::broadcastTo;
using reference::dimsOf;

// Elements that are worth another thread.
constexpr int64_t kCheapGrain = 32768;
constexpr int64_t kCostlyGrain = 8192;

std::string typeObjection(DType type) {
  return std::string("it has no fast form in ") + dtypeName(type);
}

// Where the results of a piece are computed: in place, or in `temp` and then rounded.
class FloatResult {
public:
  FloatResult(const RowOps &ops, DType type, void *data, float *temp)
      : ops_(ops), type_(type), data_(data),
        floats_(type == DType::kF32 ? static_cast<float *>(data) : temp) {}
  float *floats() const { return floats_; }
  void finish(int64_t count) const {
    if (type_ != DType::kF32)
      ops_.narrow(floats_, count, type_, data_);
  }

private:
  const RowOps &ops_;
  DType type_;
  void *data_;
  float *floats_;
};

// --- Unary ---------------------------------------------------------------------------------------

class FloatUnary final : public Kernel {
public:
  explicit FloatUnary(const KernelProblem &problem)
      : ops_(rowOps(problem.options.isa)),
        function_(ops_.unary[static_cast<int>(problem.op<ir::Unary>().kind)]) {}

  void run(const KernelCall &call) const override {
    const View x = call.operand(0), y = call.result(0);
    const RowWalk walk({y, x});
    const int64_t stride = walk.stride(1);
    runParallel(
        walk, call.threads, kCostlyGrain, kPiece, [&](char *const *at, int64_t, int64_t count) {
          float in[kPiece], out[kPiece];
          const FloatResult result(ops_, y.dtype, at[0], out);
          function_(floatRow(ops_, x.dtype, at[1], stride, count, in), count, result.floats());
          result.finish(count);
        });
  }

private:
  const RowOps &ops_;
  RowOps::Unary function_;
};

std::string unaryWhyNot(const KernelProblem &problem) {
  const ir::UnaryKind kind = problem.op<ir::Unary>().kind;
  if (!isRowFloat(problem.operand(0).dtype))
    return typeObjection(problem.operand(0).dtype);
  if (!rowOps(problem.options.isa).unary[static_cast<int>(kind)])
    return "this function has no fast form";
  return {};
}

// --- Binary --------------------------------------------------------------------------------------

class FloatBinary final : public Kernel {
public:
  explicit FloatBinary(const KernelProblem &problem)
      : ops_(rowOps(problem.options.isa)),
        function_(ops_.binary[static_cast<int>(problem.op<ir::Binary>().kind)]),
        compare_(ops_.compare[static_cast<int>(problem.op<ir::Binary>().kind)]) {}

  void run(const KernelCall &call) const override {
    const View y = call.result(0);
    const View a = broadcastTo(call.operand(0), dimsOf(y));
    const View b = broadcastTo(call.operand(1), dimsOf(y));
    const RowWalk walk({y, a, b});
    runParallel(
        walk, call.threads, kCheapGrain, kPiece, [&](char *const *at, int64_t, int64_t count) {
          float left[kPiece], right[kPiece];
          const RowOperand l = floatOperand(ops_, a.dtype, at[1], walk.stride(1), count, left);
          const RowOperand r = floatOperand(ops_, b.dtype, at[2], walk.stride(2), count, right);
          if (compare_)
            return compare_(l, r, count, reinterpret_cast<uint8_t *>(at[0]));
          const FloatResult result(ops_, y.dtype, at[0], left);
          function_(l, r, count, result.floats());
          result.finish(count);
        });
  }

private:
  const RowOps &ops_;
  RowOps::Binary function_;
  RowOps::Compare compare_;
};

std::string floatBinaryWhyNot(const KernelProblem &problem) {
  const int kind = static_cast<int>(problem.op<ir::Binary>().kind);
  const RowOps &ops = rowOps(problem.options.isa);
  for (size_t i : {0, 1})
    if (!isRowFloat(problem.operand(i).dtype))
      return typeObjection(problem.operand(i).dtype);
  if (!ops.binary[kind] && !ops.compare[kind])
    return "this function has no fast form";
  return {};
}

// Elements of one type each, `strides` apart; the result is dense.
using ElementLoop = void (*)(char *const *at, const int64_t *strides, int64_t count);

// Result = function(A, B) on elements of T.
template <class Result, class T, class Function>
void binaryLoop(char *const *at, const int64_t *strides, int64_t count) {
  Result *y = reinterpret_cast<Result *>(at[0]);
  const T *a = reinterpret_cast<const T *>(at[1]);
  const T *b = reinterpret_cast<const T *>(at[2]);
  for (int64_t i = 0; i < count; ++i)
    y[i] = static_cast<Result>(Function()(a[i * strides[1]], b[i * strides[2]]));
}

struct Smaller {
  template <class T> T operator()(T a, T b) const { return std::min(a, b); }
};
struct Larger {
  template <class T> T operator()(T a, T b) const { return std::max(a, b); }
};

// Unsigned where results may wrap.
template <class Signed, class Unsigned> ElementLoop integerLoop(ir::BinaryKind kind) {
  using K = ir::BinaryKind;
  switch (kind) {
  case K::kAdd:
    return binaryLoop<Unsigned, Unsigned, std::plus<Unsigned>>;
  case K::kSub:
    return binaryLoop<Unsigned, Unsigned, std::minus<Unsigned>>;
  case K::kMul:
    return binaryLoop<Unsigned, Unsigned, std::multiplies<Unsigned>>;
  case K::kMin:
    return binaryLoop<Signed, Signed, Smaller>;
  case K::kMax:
    return binaryLoop<Signed, Signed, Larger>;
  case K::kEqual:
    return binaryLoop<uint8_t, Signed, std::equal_to<Signed>>;
  case K::kLess:
    return binaryLoop<uint8_t, Signed, std::less<Signed>>;
  case K::kLessOrEqual:
    return binaryLoop<uint8_t, Signed, std::less_equal<Signed>>;
  case K::kGreater:
    return binaryLoop<uint8_t, Signed, std::greater<Signed>>;
  case K::kGreaterOrEqual:
    return binaryLoop<uint8_t, Signed, std::greater_equal<Signed>>;
  default:
    return nullptr;
  }
}

ElementLoop boolLoop(ir::BinaryKind kind) {
  using K = ir::BinaryKind;
  switch (kind) {
  case K::kAnd:
    return binaryLoop<uint8_t, uint8_t, std::logical_and<uint8_t>>;
  case K::kOr:
    return binaryLoop<uint8_t, uint8_t, std::logical_or<uint8_t>>;
  default:
    return nullptr;
  }
}

ElementLoop elementLoop(ir::BinaryKind kind, DType type) {
  switch (type) {
  case DType::kI32:
    return integerLoop<int32_t, uint32_t>(kind);
  case DType::kI64:
    return integerLoop<int64_t, uint64_t>(kind);
  case DType::kBool:
    return boolLoop(kind);
  default:
    return nullptr;
  }
}

// Operands broadcast to the result, then a loop over elements.
class LoopKernel final : public Kernel {
public:
  explicit LoopKernel(ElementLoop loop) : loop_(loop) {}

  void run(const KernelCall &call) const override {
    llvm::SmallVector<View, RowWalk::kMaxViews> views = {call.result(0)};
    for (const View &operand : call.operands)
      views.push_back(broadcastTo(operand, dimsOf(views.front())));
    const RowWalk walk(views);
    int64_t strides[RowWalk::kMaxViews];
    for (size_t i = 0; i < views.size(); ++i)
      strides[i] = walk.stride(i);
    runParallel(walk, call.threads, kCheapGrain, walk.count(),
                [&](char *const *at, int64_t, int64_t count) { loop_(at, strides, count); });
  }

private:
  ElementLoop loop_;
};

std::string integerBinaryWhyNot(const KernelProblem &problem) {
  if (!elementLoop(problem.op<ir::Binary>().kind, problem.operand(0).dtype))
    return typeObjection(problem.operand(0).dtype);
  return {};
}

std::unique_ptr<Kernel> makeIntegerBinary(const KernelProblem &problem) {
  return std::make_unique<LoopKernel>(
      elementLoop(problem.op<ir::Binary>().kind, problem.operand(0).dtype));
}

// --- Where ---------------------------------------------------------------------------------------

template <class T> void whereLoop(char *const *at, const int64_t *strides, int64_t count) {
  T *y = reinterpret_cast<T *>(at[0]);
  const uint8_t *condition = reinterpret_cast<const uint8_t *>(at[1]);
  const T *a = reinterpret_cast<const T *>(at[2]);
  const T *b = reinterpret_cast<const T *>(at[3]);
  for (int64_t i = 0; i < count; ++i)
    y[i] = condition[i * strides[1]] ? a[i * strides[2]] : b[i * strides[3]];
}

std::unique_ptr<Kernel> makeWhere(const KernelProblem &problem) {
  switch (dtypeInfo(problem.operand(1).dtype).bits) {
  case 8:
    return std::make_unique<LoopKernel>(whereLoop<uint8_t>);
  case 16:
    return std::make_unique<LoopKernel>(whereLoop<uint16_t>);
  case 32:
    return std::make_unique<LoopKernel>(whereLoop<uint32_t>);
  default:
    return std::make_unique<LoopKernel>(whereLoop<uint64_t>);
  }
}

std::string whereWhyNot(const KernelProblem &problem) {
  const DType type = problem.operand(1).dtype;
  return isSubByte(type) ? typeObjection(type) : std::string();
}

// --- Cast ----------------------------------------------------------------------------------------

class FloatCast final : public Kernel {
public:
  explicit FloatCast(const KernelProblem &problem) : ops_(rowOps(problem.options.isa)) {}

  void run(const KernelCall &call) const override {
    const View x = call.operand(0), y = call.result(0);
    const RowWalk walk({y, x});
    const int64_t stride = walk.stride(1);
    runParallel(walk, call.threads, kCheapGrain, kPiece,
                [&](char *const *at, int64_t, int64_t count) {
                  float temp[kPiece];
                  const float *floats = floatRow(ops_, x.dtype, at[1], stride, count, temp);
                  ops_.narrow(floats, count, y.dtype, at[0]);
                });
  }

private:
  const RowOps &ops_;
};

std::string floatCastWhyNot(const KernelProblem &problem) {
  for (DType type : {problem.operand(0).dtype, problem.op<ir::Cast>().to})
    if (!isRowFloat(type))
      return typeObjection(type);
  return {};
}

template <class From, class To>
void castLoop(char *const *at, const int64_t *strides, int64_t count) {
  To *y = reinterpret_cast<To *>(at[0]);
  const From *x = reinterpret_cast<const From *>(at[1]);
  for (int64_t i = 0; i < count; ++i)
    y[i] = static_cast<To>(x[i * strides[1]]);
}

template <class From> ElementLoop castTo(DType to) {
  switch (to) {
  case DType::kF32:
    return castLoop<From, float>;
  case DType::kI32:
    return castLoop<From, int32_t>;
  case DType::kI64:
    return castLoop<From, int64_t>;
  default:
    return nullptr;
  }
}

// From integers only: those of floats saturate and round their own way.
ElementLoop castLoopFor(DType from, DType to) {
  switch (from) {
  case DType::kBool:
  case DType::kU8:
    return castTo<uint8_t>(to);
  case DType::kI32:
    return castTo<int32_t>(to);
  case DType::kI64:
    return castTo<int64_t>(to);
  default:
    return nullptr;
  }
}

std::string integerCastWhyNot(const KernelProblem &problem) {
  const DType from = problem.operand(0).dtype, to = problem.op<ir::Cast>().to;
  if (!castLoopFor(from, to))
    return typeObjection(castLoopFor(from, DType::kF32) ? to : from);
  return {};
}

std::unique_ptr<Kernel> makeIntegerCast(const KernelProblem &problem) {
  return std::make_unique<LoopKernel>(
      castLoopFor(problem.operand(0).dtype, problem.op<ir::Cast>().to));
}

template <class T> std::unique_ptr<Kernel> make(const KernelProblem &problem) {
  return std::make_unique<T>(problem);
}

constexpr KernelRow kRows[] = {
    {ir::opIndex<ir::Unary>(), "rows", /*acceptsStrides=*/true, unaryWhyNot, make<FloatUnary>},
    {ir::opIndex<ir::Binary>(), "rows", /*acceptsStrides=*/true, floatBinaryWhyNot,
     make<FloatBinary>},
    {ir::opIndex<ir::Binary>(), "elements", /*acceptsStrides=*/true, integerBinaryWhyNot,
     makeIntegerBinary},
    {ir::opIndex<ir::Where>(), "elements", /*acceptsStrides=*/true, whereWhyNot, makeWhere},
    {ir::opIndex<ir::Cast>(), "rows", /*acceptsStrides=*/true, floatCastWhyNot, make<FloatCast>},
    {ir::opIndex<ir::Cast>(), "elements", /*acceptsStrides=*/true, integerCastWhyNot,
     makeIntegerCast},
};

} // namespace

llvm::ArrayRef<KernelRow> pointwiseRows() { return kRows; }

} // namespace engine::cpu
