// MatMul on oneDNN: f32 and, where the machine has the dot product, bf16 as they are; f16 and other
// bf16 widened to f32 in panels of the right operand, so that a whole weight is never copied.
#include "kernels/cpu/matmul_operands.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/row_walk.h"
#include "kernels/cpu/rows.h"

namespace engine::cpu {

namespace {

// [rows, depth] x [depth, columns] in panels of `width` columns, all of f32.
struct Panels {
  static constexpr int64_t kPanelColumns = 256;

  explicit Panels(const MatMulOperands &m)
      : rows(m.a.dims[0]), depth(m.a.dims[1]), columns(m.b.dims[1]),
        width(std::min<int64_t>(columns, kPanelColumns)) {}

  int64_t rows, depth, columns, width;

  View matrix(float *data, int64_t height, int64_t breadth) const {
    return makeView(data, DType::kF32, {height, breadth});
  }
};

class OneDnnMatMul final : public Kernel {
public:
  explicit OneDnnMatMul(const KernelProblem &problem)
      : native_(
            problem.operand(0).dtype == DType::kF32 ||
            (problem.operand(0).dtype == DType::kBF16 && problem.options.isa == Isa::kAvx512Bf16)),
        ops_(rowOps(problem.options.isa)) {}

  std::string whyNotNow(const KernelCall &call) const override {
    const MatMulOperands m = matMulOperands(call);
    if (!native_ && m.a.rank > 2)
      return "batches of f16 matrices on both sides are left to the reference kernel";
    if (!isOneDnnMatrix(m.a) || !isOneDnnMatrix(m.b) || !isOneDnnMatrix(m.y))
      return "neither inner axis of an operand is dense";
    return {};
  }

  int64_t scratchBytes(const KernelCall &call) const override {
    const MatMulOperands m = matMulOperands(call);
    if (m.empty())
      return 0;
    if (native_)
      return product_.scratchBytes(m.a, m.b, m.y, call.threads);
    const Panels p(m);
    const View a = p.matrix(nullptr, p.rows, p.depth);
    int64_t product = 0;
    for (int64_t width : {p.width, p.columns % p.width})
      if (width > 0)
        product = std::max(product,
                           product_.scratchBytes(a, p.matrix(nullptr, p.depth, width),
                                                 p.matrix(nullptr, p.rows, width), call.threads));
    return Scratch::bytes<float>(p.rows * p.depth) + Scratch::bytes<float>(p.depth * p.width) +
           Scratch::bytes<float>(p.rows * p.width) + product;
  }

  void run(const KernelCall &call) const override {
    const MatMulOperands m = matMulOperands(call);
    if (m.empty())
      return clearResult(m);
    if (native_)
      product_.run(m.a, m.b, m.y, call.threads, call.scratch);
    else
      runPanels(m, call);
  }

private:
  void runPanels(const MatMulOperands &m, const KernelCall &call) const {
    const Panels p(m);
    Scratch scratch(call.scratch);
    float *a = scratch.take<float>(p.rows * p.depth);
    float *b = scratch.take<float>(p.depth * p.width);
    float *y = scratch.take<float>(p.rows * p.width);
    void *rest = scratch.take<char>(0);
    widen(m.a, 0, p.depth, a, call.threads);
    for (int64_t first = 0; first < p.columns; first += p.width) {
      const int64_t width = std::min(p.width, p.columns - first);
      widen(m.b, first, width, b, call.threads);
      product_.run(p.matrix(a, p.rows, p.depth), p.matrix(b, p.depth, width),
                   p.matrix(y, p.rows, width), call.threads, rest);
      narrow(y, width, m.y, first, call.threads);
    }
  }

  // Columns [first, first + width) of a matrix as f32, dense.
  void widen(const View &from, int64_t first, int64_t width, float *to, int threads) const {
    parallelFor(from.dims[0], threads, [&](int64_t row) {
      copyFloatRow(ops_, from.dtype, elementAt(from, row, first), from.strides[1], width,
                   to + row * width);
    });
  }

  void narrow(const float *from, int64_t width, const View &to, int64_t first, int threads) const {
    parallelFor(to.dims[0], threads, [&](int64_t row) {
      storeFloatRow(ops_, from + row * width, width, to.dtype, elementAt(to, row, first),
                    to.strides[1]);
    });
  }

  static char *elementAt(const View &view, int64_t row, int64_t column) {
    const int64_t offset = row * view.strides[0] + column * view.strides[1];
    return view.as<char>() + offset * (dtypeInfo(view.dtype).bits / 8);
  }

  bool native_;
  const RowOps &ops_;
  OneDnnProduct product_;
};

std::string whyNot(const KernelProblem &problem) {
  const DType dtype = problem.operand(0).dtype;
  if (!isRowFloat(dtype))
    return std::string("it multiplies f32, f16 and bf16, not ") + dtypeName(dtype);
  return {};
}

std::unique_ptr<Kernel> make(const KernelProblem &problem) {
  return std::make_unique<OneDnnMatMul>(problem);
}

constexpr KernelRow kRows[] = {
    {ir::opIndex<ir::MatMul>(), "onednn", /*acceptsStrides=*/true, whyNot, make,
     /*decidesLate=*/true},
};

} // namespace

llvm::ArrayRef<KernelRow> matmulRows() { return kRows; }

} // namespace engine::cpu
