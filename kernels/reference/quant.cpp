// Operators on quantised weights: value = (code - zero point) * scale.
#include "kernels/reference/support.h"

#include <array>

namespace engine {
namespace reference {
namespace {

using Doubles = Elements<double>;

// A view's elements without gaps, copied if they lie with some.
class Dense {
public:
  explicit Dense(const View &view) : view_(view) {
    if (!view.present() || view.isDense())
      return;
    copy_.resize(view.bytes());
    view_ = makeView(copy_.data(), view.dtype, dimsOf(view));
    copyView(view, view_);
  }
  Dense(const Dense &) = delete;
  const View &view() const { return view_; }

private:
  View view_;
  std::vector<char> copy_;
};

// A matrix of codes, scales or zero points. u8 holds codes packed low bits first, each row from a
// whole byte on; other types hold one element a column, row after row.
class Matrix {
public:
  Matrix(const View &data, int64_t rows, int64_t columns, int64_t bits)
      : data_(data), rows_(rows), columns_(columns), bits_(bits) {}

  Doubles row(int64_t index) const {
    Doubles values(columns_);
    if (data_.view().dtype == DType::kU8)
      unpack(index, values);
    else
      load(Row{data_.view().data, data_.view().dtype, index * columns_, 1, columns_},
           values.data());
    return values;
  }

private:
  void unpack(int64_t index, llvm::MutableArrayRef<double> values) const {
    const int64_t rowBytes = data_.view().count() / rows_;
    const uint8_t *bytes = data_.view().as<uint8_t>() + index * rowBytes;
    for (int64_t i = 0; i < columns_; ++i) {
      const int64_t bit = i * bits_;
      values[i] = (bytes[bit / 8] >> (bit % 8)) & ((1 << bits_) - 1);
    }
  }

  Dense data_;
  int64_t rows_, columns_, bits_;
};

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Rows of weights whose columns share a scale and a zero point in blocks.
class BlockedRows {
public:
  struct Format {
    int64_t rows, columns, bits, blockSize;
    double defaultZero;
  };

  BlockedRows(const Format &f, const View &codes, const View &scales, const View &zeroPoints)
      : format_(f), blocks_(ceilDiv(f.columns, f.blockSize)),
        codes_(codes, f.rows, f.columns, f.bits), scales_(scales, f.rows, blocks_, f.bits),
        zeros_(zeroPoints, f.rows, blocks_, f.bits), hasZeros_(zeroPoints.present()) {
    requireCount(scales, f.rows * blocks_, "scales");
    const bool packed = zeroPoints.dtype == DType::kU8;
    if (hasZeros_)
      requireCount(zeroPoints, f.rows * (packed ? ceilDiv(blocks_ * f.bits, 8) : blocks_),
                   "zeroPoints");
  }

  Doubles row(int64_t index) const {
    Doubles values = codes_.row(index);
    const Doubles scales = scales_.row(index);
    const Doubles zeros = hasZeros_ ? zeros_.row(index) : Doubles(blocks_, format_.defaultZero);
    for (int64_t i = 0; i < format_.columns; ++i) {
      const int64_t block = i / format_.blockSize;
      values[i] = (values[i] - zeros[block]) * scales[block];
    }
    return values;
  }

private:
  Format format_;
  int64_t blocks_;
  Matrix codes_, scales_, zeros_;
  bool hasZeros_;
};

double middleOf(int64_t bits) { return static_cast<double>(int64_t{1} << (bits - 1)); }

// --- QuantMatMul ---------------------------------------------------------------------------------

void runQuantMatMul(const ir::QuantMatMul &op, const KernelCall &call) {
  const View y = call.result(0);
  const View biasView = call.operand(4);
  const int64_t m = y.count() / op.n;
  requireCount(call.operand(0), m * op.k, "x");
  requireCount(call.operand(1), op.n * ceilDiv(op.k, op.blockSize) * op.blockSize * op.bits / 8,
               "w");
  if (biasView.present())
    requireCount(biasView, op.n, "bias");
  const BlockedRows weights({op.n, op.k, op.bits, op.blockSize, middleOf(op.bits)}, call.operand(1),
                            call.operand(2), call.operand(3));
  const Doubles x = loadAll<double>(call.operand(0));
  const Doubles bias = biasView.present() ? loadAll<double>(biasView) : Doubles(op.n, 0.0);
  Doubles products(m * op.n);
  for (int64_t column = 0; column < op.n; ++column) {
    const Doubles weight = weights.row(column);
    for (int64_t r = 0; r < m; ++r) {
      double sum = 0;
      for (int64_t i = 0; i < op.k; ++i)
        sum += x[r * op.k + i] * weight[i];
      products[r * op.n + column] = sum + bias[column];
    }
  }
  storeAll<double>(y, products);
}

// --- QuantGather ---------------------------------------------------------------------------------

// An index picks data[index], which has all axes but the first: these are rows of the last axis
// again.
void runQuantGather(const ir::QuantGather &op, const KernelCall &call) {
  const View data = call.operand(0);
  const auto indices = loadAll<int64_t>(call.operand(1));
  const bool packed = data.dtype == DType::kU8;
  const int64_t columns = data.dims[data.rank - 1] * (packed ? 8 / op.bits : 1);
  int64_t rowsPerIndex = 1;
  for (int axis = 1; axis + 1 < data.rank; ++axis)
    rowsPerIndex *= data.dims[axis];
  const BlockedRows table({data.dims[0] * rowsPerIndex, columns, op.bits, op.blockSize,
                           packed ? middleOf(op.bits) : 0.0},
                          data, call.operand(2), call.operand(3));
  const View y =
      reshaped(call.result(0), {static_cast<int64_t>(indices.size()) * rowsPerIndex, columns});
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t index = checkedIndex(indices[i], data.dims[0], "indices");
    for (int64_t r = 0; r < rowsPerIndex; ++r)
      storeAll<double>(select(y, 0, static_cast<int64_t>(i) * rowsPerIndex + r),
                       table.row(index * rowsPerIndex + r));
  }
}

// --- Dequantize ----------------------------------------------------------------------------------

// Where the scale of element i of x stands among the scales, both row-major.
class ScaleIndex {
public:
  ScaleIndex(const ir::Dequantize &op, const View &x, const View &scale) {
    if (op.blockSize == 0 && scale.count() == 1)
      return;
    const int axis = normalAxis(op.axis, x.rank);
    length_ = x.dims[axis];
    for (int i = axis + 1; i < x.rank; ++i)
      inner_ *= x.dims[i];
    if (op.blockSize == 0) {
      perAxis_ = true;
      requireCount(scale, length_, "scale");
      return;
    }
    blockSize_ = op.blockSize;
    blocks_ = ceilDiv(length_, blockSize_);
    requireCount(scale, length_ == 0 ? 0 : x.count() / length_ * blocks_, "scale");
  }

  int64_t operator()(int64_t i) const {
    if (length_ < 0)
      return 0;
    const int64_t along = i / inner_ % length_;
    if (perAxis_)
      return along;
    return (i / inner_ / length_ * blocks_ + along / blockSize_) * inner_ + i % inner_;
  }

private:
  int64_t length_ = -1; // of the axis; none: one scale for all
  int64_t inner_ = 1, blocks_ = 1, blockSize_ = 1;
  bool perAxis_ = false;
};

void runDequantize(const ir::Dequantize &op, const KernelCall &call) {
  const View x = call.operand(0), scale = call.operand(1), zeroPoint = call.operand(2);
  const ScaleIndex scaleOf(op, x, scale);
  const Doubles scales = loadAll<double>(scale);
  const Doubles zeros =
      zeroPoint.present() ? loadAll<double>(zeroPoint) : Doubles(scales.size(), 0.0);
  requireCount(scale, static_cast<int64_t>(zeros.size()), "zeroPoint");
  std::array<double, kMaxRow> values;
  int64_t i = 0;
  forEachRow({call.result(0), x}, [&](llvm::ArrayRef<Row> rows) {
    load(rows[1], values.data());
    for (int64_t k = 0; k < rows[1].count; ++k, ++i)
      values[k] = (values[k] - zeros[scaleOf(i)]) * scales[scaleOf(i)];
    store(rows[0], values.data());
  });
}

} // namespace
} // namespace reference

llvm::ArrayRef<KernelRow> referenceQuantRows() {
  using namespace reference;
  static const KernelRow kRows[] = {
      referenceRow<ir::QuantMatMul, runQuantMatMul>(),
      referenceRow<ir::QuantGather, runQuantGather>(),
      referenceRow<ir::Dequantize, runDequantize>(),
  };
  return kRows;
}

} // namespace engine
