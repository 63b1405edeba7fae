// MatMul of few rows with one matrix.
#include "kernels/cpu/gemv.h"

#include "kernels/cpu/matmul_operands.h"
#include "kernels/cpu/row_walk.h"
#include "kernels/cpu/rows.h"

namespace engine::cpu {

namespace {

// Bytes of the matrix that are worth another thread.
constexpr int64_t kGrain = 65536;
// Columns of a thread's share are a multiple of this.
constexpr int64_t kShareColumns = 64;

bool isRowMajor(const View &b) { return b.strides[1] == 1 && b.strides[0] >= b.dims[1]; }
bool isTransposed(const View &b) { return b.strides[0] == 1 && b.strides[1] >= b.dims[0]; }

class GemvKernel final : public Kernel {
public:
  explicit GemvKernel(const KernelProblem &problem)
      : rowOps_(rowOps(problem.options.isa)), gemvOps_(gemvOps(problem.options.isa)) {}

  std::string whyNotNow(const KernelCall &call) const override {
    const MatMulOperands m = matMulOperands(call);
    if (!m.isSingle())
      return "it multiplies with one matrix, not with a batch of them";
    if (m.y.dims[0] > kGemvRows)
      return "more than a few rows are better multiplied in tiles";
    if (!isRowMajor(m.b) && !isTransposed(m.b))
      return "neither axis of the matrix is dense";
    return {};
  }

  int64_t scratchBytes(const KernelCall &call) const override {
    const MatMulOperands m = matMulOperands(call);
    return (inputFloats(m) + outputFloats(m)) * static_cast<int64_t>(sizeof(float));
  }

  void run(const KernelCall &call) const override {
    const MatMulOperands m = matMulOperands(call);
    if (m.empty())
      return clearResult(m);
    float *scratch = static_cast<float *>(call.scratch);
    GemvProblem p;
    p.rows = static_cast<int>(m.y.dims[0]);
    p.depth = m.b.dims[0];
    p.x = inputRows(m, scratch);
    p.type = m.b.dtype;
    const bool rowMajor = isRowMajor(m.b);
    p.wStride = m.b.strides[rowMajor ? 0 : 1];
    const bool inPlace = m.y.dtype == DType::kF32 && m.y.strides[1] == 1;
    p.y = inPlace ? GemvMatrix<float>{m.y.as<float>(), m.y.strides[0]}
                  : GemvMatrix<float>{scratch + inputFloats(m), rounded(m.y.dims[1])};
    multiply(p, m, rowMajor, call.threads);
    for (int row = 0; !inPlace && row < p.rows; ++row)
      storeRow(p.y.data + row * p.y.stride, m.y, row);
  }

private:
  static int64_t rounded(int64_t floats) { return (floats + 15) / 16 * 16; }
  static int64_t inputFloats(const MatMulOperands &m) { return m.a.dims[0] * rounded(m.a.dims[1]); }
  static int64_t outputFloats(const MatMulOperands &m) {
    return m.y.dims[0] * rounded(m.y.dims[1]);
  }

  GemvMatrix<const float> inputRows(const MatMulOperands &m, float *temp) const {
    if (m.a.dtype == DType::kF32 && (m.a.strides[1] == 1 || m.a.dims[1] == 1))
      return {m.a.as<const float>(), m.a.strides[0]};
    const int64_t size = dtypeInfo(m.a.dtype).bits / 8;
    const int64_t stride = rounded(m.a.dims[1]);
    for (int64_t row = 0; row < m.a.dims[0]; ++row)
      copyFloatRow(rowOps_, m.a.dtype, m.a.as<const char>() + row * m.a.strides[0] * size,
                   m.a.strides[1], m.a.dims[1], temp + row * stride);
    return {temp, stride};
  }

  void multiply(const GemvProblem &whole, const MatMulOperands &m, bool rowMajor,
                int threads) const {
    const int64_t columns = m.b.dims[1];
    const int64_t size = dtypeInfo(m.b.dtype).bits / 8;
    const int64_t shares = std::clamp<int64_t>(m.b.bytes() / kGrain, 1, threads);
    const int64_t share =
        ((columns + shares - 1) / shares + kShareColumns - 1) / kShareColumns * kShareColumns;
    parallelFor(shares, threads, [&](int64_t i) {
      const int64_t first = std::min(i * share, columns);
      GemvProblem p = whole;
      p.columns = std::min(first + share, columns) - first;
      p.w = m.b.as<const char>() + first * m.b.strides[1] * size;
      p.y.data += first;
      if (p.columns > 0)
        (rowMajor ? gemvOps_.rowMajor : gemvOps_.transposed)(p);
    });
  }

  void storeRow(const float *from, const View &y, int64_t row) const {
    const int64_t size = dtypeInfo(y.dtype).bits / 8;
    storeFloatRow(rowOps_, from, y.dims[1], y.dtype, y.as<char>() + row * y.strides[0] * size,
                  y.strides[1]);
  }

  const RowOps &rowOps_;
  const GemvOps &gemvOps_;
};

std::string whyNot(const KernelProblem &problem) {
  for (size_t i : {0, 1})
    if (!isRowFloat(problem.operand(i).dtype))
      return std::string("it multiplies f32, f16 and bf16, not ") +
             dtypeName(problem.operand(i).dtype);
  return {};
}

std::unique_ptr<Kernel> make(const KernelProblem &problem) {
  return std::make_unique<GemvKernel>(problem);
}

constexpr KernelRow kRows[] = {
    {ir::opIndex<ir::MatMul>(), "few_rows", /*acceptsStrides=*/true, whyNot, make,
     /*decidesLate=*/true},
};

} // namespace

llvm::ArrayRef<KernelRow> gemvRows() { return kRows; }

} // namespace engine::cpu
