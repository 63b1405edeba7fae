// RmsNorm, LayerNorm, Softmax, Reduce and ArgReduce along the last axes: row by row, in f32.
#include "kernels/cpu/row_walk.h"
#include "kernels/cpu/rows.h"
#include "kernels/reference/support.h"

#include <cmath>

namespace engine::cpu {

namespace {

using reference::normalAxis;

// Elements that are worth another thread.
constexpr int64_t kGrain = 16384;

// --- Rows along the last axes --------------------------------------------------------------------

// The rows of x and y that one call goes through. A row's elements stand `stride` apart in x, and
// dense in y, which may have one element a row.
struct RowProblem {
  View x, y;
  int axis;

  int64_t width() const { return innerCount(x, axis); }
  int64_t rows() const { return innerCount(x, 0) / std::max<int64_t>(width(), 1); }
};

std::string rowsWhyNot(const RowProblem &p) {
  if (p.width() == 0)
    return "rows without elements are left to the reference kernel";
  if (!innerStride(p.x, p.axis))
    return "the elements of a row stand at no common distance";
  return {};
}

// A worker's copies of a row of x and of y in f32, where their types are others.
class RowBuffers {
public:
  static int64_t floats(int64_t width) { return 2 * rounded(width); }
  RowBuffers(float *base, int64_t width) : x(base), y(base + rounded(width)) {}

  float *x, *y;

private:
  static int64_t rounded(int64_t width) { return (width + 15) / 16 * 16; }
};

int64_t bufferBytes(const RowProblem &p, int threads) {
  return threads * RowBuffers::floats(p.width()) * static_cast<int64_t>(sizeof(float));
}

// Calls body(row, x, buffers) for each row: x as f32.
template <class Body>
void forEachRow(const RowProblem &p, const RowOps &ops, int threads, float *scratch,
                const Body &body) {
  const int64_t width = p.width();
  const int64_t stride = *innerStride(p.x, p.axis);
  const RowWalk walk(llvm::ArrayRef<View>(outerAxes(p.x, p.axis)));
  const int64_t rows = walk.count();
  if (rows == 0)
    return;
  const int64_t shares =
      std::clamp<int64_t>(rows * width / kGrain, 1, std::min<int64_t>(threads, rows));
  const int64_t share = (rows + shares - 1) / shares;
  const int64_t size = dtypeInfo(p.x.dtype).bits / 8;
  parallelFor(shares, threads, [&](int64_t i) {
    const RowBuffers buffers(scratch + i * RowBuffers::floats(width), width);
    walk.run(std::min(i * share, rows), std::min((i + 1) * share, rows), rows,
             [&](char *const *at, int64_t first, int64_t count) {
               for (int64_t r = 0; r < count; ++r) {
                 const char *x = at[0] + r * walk.stride(0) * size;
                 body(first + r, floatRow(ops, p.x.dtype, x, stride, width, buffers.x), buffers);
               }
             });
  });
}

// Row `row` of y to compute in, and its conversion.
class RowResult {
public:
  RowResult(const RowProblem &p, const RowOps &ops, int64_t row, const RowBuffers &buffers)
      : ops_(ops), type_(p.y.dtype), width_(p.width()) {
    data_ = p.y.as<char>() + row * width_ * (dtypeInfo(type_).bits / 8);
    floats_ = type_ == DType::kF32 ? reinterpret_cast<float *>(data_) : buffers.y;
  }
  float *floats() const { return floats_; }
  void finish() const {
    if (type_ != DType::kF32)
      ops_.narrow(floats_, width_, type_, data_);
  }

private:
  const RowOps &ops_;
  DType type_;
  int64_t width_;
  char *data_;
  float *floats_;
};

// --- Norms ---------------------------------------------------------------------------------------

// One factor for each element of a row, the same for all rows.
bool isOnePerElement(const View &factor, const RowProblem &p) {
  const int rank = p.x.rank - p.axis;
  if (!factor.isDense() || factor.count() != p.width())
    return false;
  // Broadcast, its last axes are those of a row.
  for (int i = 0; i < factor.rank; ++i) {
    const int fromEnd = factor.rank - i;
    const int64_t expected = fromEnd > rank ? 1 : p.x.dims[p.x.rank - fromEnd];
    if (factor.dims[i] != expected)
      return false;
  }
  return true;
}

// Scale and bias as f32: in place, or converted for the call.
class Factors {
public:
  static int64_t bytes(const RowProblem &p) {
    return (p.width() + 15) / 16 * 16 * static_cast<int64_t>(sizeof(float));
  }
  static const float *load(const RowOps &ops, const View &factor, float *temp) {
    return factor.present() ? floatRow(ops, factor.dtype, factor.data, 1, factor.count(), temp)
                            : nullptr;
  }
};

template <class Op> class NormKernel : public Kernel {
public:
  explicit NormKernel(const KernelProblem &problem)
      : op_(problem.op<Op>()), ops_(rowOps(problem.options.isa)) {}

  std::string whyNotNow(const KernelCall &call) const override {
    const RowProblem p = problemOf(call);
    for (size_t i : {1, 2})
      if (call.operand(i).present() && !isOnePerElement(call.operand(i), p))
        return "scale and bias must have one element for each of a row";
    return rowsWhyNot(p);
  }

  int64_t scratchBytes(const KernelCall &call) const override {
    const RowProblem p = problemOf(call);
    return 2 * Factors::bytes(p) + bufferBytes(p, call.threads);
  }

  void run(const KernelCall &call) const override {
    const RowProblem p = problemOf(call);
    char *scratch = static_cast<char *>(call.scratch);
    const auto piece = [&](int64_t bytes) {
      float *taken = reinterpret_cast<float *>(scratch);
      scratch += bytes;
      return taken;
    };
    const float *scale = Factors::load(ops_, call.operand(1), piece(Factors::bytes(p)));
    const float *bias = Factors::load(ops_, call.operand(2), piece(Factors::bytes(p)));
    forEachRow(p, ops_, call.threads, piece(0),
               [&](int64_t row, const float *x, const RowBuffers &buffers) {
                 const RowResult y(p, ops_, row, buffers);
                 runRow(call, row, x, p.width(), scale, bias, y.floats());
                 y.finish();
               });
  }

protected:
  virtual void runRow(const KernelCall &call, int64_t row, const float *x, int64_t width,
                      const float *scale, const float *bias, float *y) const = 0;

  float inverseDeviation(const float *x, float center, int64_t width) const {
    const float mean = ops_.sumSquares(x, center, width) / static_cast<float>(width);
    return 1 / std::sqrt(mean + op_.epsilon);
  }

  const Op op_;
  const RowOps &ops_;

private:
  RowProblem problemOf(const KernelCall &call) const {
    const View x = call.operand(0);
    return {x, call.result(0), normalAxis(op_.axis, x.rank)};
  }
};

class RmsNormKernel final : public NormKernel<ir::RmsNorm> {
public:
  using NormKernel::NormKernel;

private:
  void runRow(const KernelCall &, int64_t, const float *x, int64_t width, const float *scale,
              const float *bias, float *y) const override {
    ops_.normalize(x, 0, inverseDeviation(x, 0, width), scale, bias, width, y);
  }
};

class LayerNormKernel final : public NormKernel<ir::LayerNorm> {
public:
  using NormKernel::NormKernel;

private:
  void runRow(const KernelCall &call, int64_t row, const float *x, int64_t width,
              const float *scale, const float *bias, float *y) const override {
    const float mean = ops_.sum(x, width) / static_cast<float>(width);
    const float inverse = inverseDeviation(x, mean, width);
    ops_.normalize(x, mean, inverse, scale, bias, width, y);
    if (call.result(1).present())
      call.result(1).as<float>()[row] = mean;
    if (call.result(2).present())
      call.result(2).as<float>()[row] = inverse;
  }
};

std::string normWhyNot(const KernelProblem &problem) {
  for (size_t i = 0; i < problem.node.operands.size(); ++i)
    if (problem.has(i) && !isRowFloat(problem.operand(i).dtype))
      return std::string("it normalises f32, f16 and bf16, not ") +
             dtypeName(problem.operand(i).dtype);
  return {};
}

// A kernel that goes along the last axes of one operand, row by row.
class LastAxesKernel : public Kernel {
public:
  std::string whyNotNow(const KernelCall &call) const override {
    return rowsWhyNot(problemOf(call));
  }
  int64_t scratchBytes(const KernelCall &call) const override {
    return bufferBytes(problemOf(call), call.threads);
  }

private:
  virtual RowProblem problemOf(const KernelCall &call) const = 0;
};

// --- Softmax -------------------------------------------------------------------------------------

class SoftmaxKernel final : public LastAxesKernel {
public:
  explicit SoftmaxKernel(const KernelProblem &problem)
      : log_(problem.op<ir::Softmax>().log), ops_(rowOps(problem.options.isa)) {}

  void run(const KernelCall &call) const override {
    const RowProblem p = problemOf(call);
    forEachRow(p, ops_, call.threads, static_cast<float *>(call.scratch),
               [&](int64_t row, const float *x, const RowBuffers &buffers) {
                 const RowResult y(p, ops_, row, buffers);
                 runRow(x, p.width(), buffers.y, y.floats());
                 y.finish();
               });
  }

private:
  RowProblem problemOf(const KernelCall &call) const override {
    return {call.operand(0), call.result(0), call.operand(0).rank - 1};
  }

  void runRow(const float *x, int64_t width, float *temp, float *y) const {
    using K = ir::BinaryKind;
    const float top = ops_.maximum(x, width);
    if (!log_) {
      const float factor = 1 / ops_.expMinus(x, top, width, y);
      return ops_.binary[static_cast<int>(K::kMul)]({y, false}, {&factor, true}, width, y);
    }
    const float logSum = std::log(ops_.expMinus(x, top, width, temp));
    const auto minus = ops_.binary[static_cast<int>(K::kSub)];
    minus({x, false}, {&top, true}, width, y);
    minus({y, false}, {&logSum, true}, width, y);
  }

  bool log_;
  const RowOps &ops_;
};

std::string softmaxWhyNot(const KernelProblem &problem) {
  const ir::Fact &x = problem.operand(0);
  if (!isRowFloat(x.dtype))
    return std::string("it takes f32, f16 and bf16, not ") + dtypeName(x.dtype);
  if (x.rank() == 0 || normalAxis(problem.op<ir::Softmax>().axis, x.rank()) != x.rank() - 1)
    return "it goes along the last axis only";
  return {};
}

// --- Reduce --------------------------------------------------------------------------------------

class ReduceKernel final : public LastAxesKernel {
public:
  explicit ReduceKernel(const KernelProblem &problem)
      : op_(problem.op<ir::Reduce>()), ops_(rowOps(problem.options.isa)) {}

  void run(const KernelCall &call) const override {
    const RowProblem p = problemOf(call);
    const int64_t size = dtypeInfo(p.y.dtype).bits / 8;
    forEachRow(p, ops_, call.threads, static_cast<float *>(call.scratch),
               [&](int64_t row, const float *x, const RowBuffers &) {
                 const float result = reduce(x, p.width());
                 ops_.narrow(&result, 1, p.y.dtype, p.y.as<char>() + row * size);
               });
  }

  static bool has(ir::ReduceKind kind) {
    using K = ir::ReduceKind;
    return kind == K::kSum || kind == K::kMean || kind == K::kMax || kind == K::kMin ||
           kind == K::kSumSquare || kind == K::kL2;
  }

private:
  RowProblem problemOf(const KernelCall &call) const override {
    const View x = call.operand(0);
    return {x, call.result(0), x.rank - static_cast<int>(op_.axes.size())};
  }

  float reduce(const float *x, int64_t width) const {
    switch (op_.kind) {
    case ir::ReduceKind::kMax:
      return ops_.maximum(x, width);
    case ir::ReduceKind::kMin:
      return ops_.minimum(x, width);
    case ir::ReduceKind::kMean:
      return ops_.sum(x, width) / static_cast<float>(width);
    case ir::ReduceKind::kSumSquare:
      return ops_.sumSquares(x, 0, width);
    case ir::ReduceKind::kL2:
      return std::sqrt(ops_.sumSquares(x, 0, width));
    default:
      return ops_.sum(x, width);
    }
  }

  const ir::Reduce op_;
  const RowOps &ops_;
};

std::string reduceWhyNot(const KernelProblem &problem) {
  const auto &op = problem.op<ir::Reduce>();
  const ir::Fact &x = problem.operand(0);
  if (!isRowFloat(x.dtype))
    return std::string("it reduces f32, f16 and bf16, not ") + dtypeName(x.dtype);
  if (!ReduceKernel::has(op.kind))
    return "this reduction has no fast form";
  const int kept = x.rank() - static_cast<int>(op.axes.size());
  if (op.axes.empty() || op.axes.front() != kept)
    return "it reduces the last axes only";
  return {};
}

// --- ArgReduce -----------------------------------------------------------------------------------

class ArgReduceKernel final : public LastAxesKernel {
public:
  explicit ArgReduceKernel(const KernelProblem &problem)
      : op_(problem.op<ir::ArgReduce>()), ops_(rowOps(problem.options.isa)) {}

  void run(const KernelCall &call) const override {
    const RowProblem p = problemOf(call);
    forEachRow(p, ops_, call.threads, static_cast<float *>(call.scratch),
               [&](int64_t row, const float *x, const RowBuffers &) {
                 p.y.as<int64_t>()[row] = positionOfBest(x, p.width());
               });
  }

private:
  RowProblem problemOf(const KernelCall &call) const override {
    return {call.operand(0), call.result(0), call.operand(0).rank - 1};
  }

  int64_t positionOfBest(const float *x, int64_t width) const {
    const float best = op_.largest ? ops_.maximum(x, width) : ops_.minimum(x, width);
    if (std::isnan(best))
      return positionAmongNans(x, width);
    if (!op_.lastIndex)
      return std::find(x, x + width, best) - x;
    for (int64_t i = width; i-- > 0;)
      if (x[i] == best)
        return i;
    return 0;
  }

  // A NaN is never better, and nothing is better than a first one.
  int64_t positionAmongNans(const float *x, int64_t width) const {
    int64_t best = 0;
    for (int64_t i = 1; i < width; ++i) {
      const bool better = op_.largest ? x[i] > x[best] : x[i] < x[best];
      if (better || (op_.lastIndex && x[i] == x[best]))
        best = i;
    }
    return best;
  }

  const ir::ArgReduce op_;
  const RowOps &ops_;
};

std::string argReduceWhyNot(const KernelProblem &problem) {
  const ir::Fact &x = problem.operand(0);
  if (!isRowFloat(x.dtype))
    return std::string("it compares f32, f16 and bf16, not ") + dtypeName(x.dtype);
  if (x.rank() == 0 || normalAxis(problem.op<ir::ArgReduce>().axis, x.rank()) != x.rank() - 1)
    return "it goes along the last axis only";
  return {};
}

template <class T> std::unique_ptr<Kernel> make(const KernelProblem &problem) {
  return std::make_unique<T>(problem);
}

template <class Op, class T> constexpr KernelRow row(std::string (*whyNot)(const KernelProblem &)) {
  return {ir::opIndex<Op>(),   "rows", /*acceptsStrides=*/true, whyNot, make<T>,
          /*decidesLate=*/true};
}

constexpr KernelRow kRows[] = {
    row<ir::RmsNorm, RmsNormKernel>(normWhyNot),
    row<ir::LayerNorm, LayerNormKernel>(normWhyNot),
    row<ir::Softmax, SoftmaxKernel>(softmaxWhyNot),
    row<ir::Reduce, ReduceKernel>(reduceWhyNot),
    row<ir::ArgReduce, ArgReduceKernel>(argReduceWhyNot),
};

} // namespace

llvm::ArrayRef<KernelRow> normRows() { return kRows; }

} // namespace engine::cpu
