// QuantMatMul and QuantGather from the packed codes, which stay as the file has them. Exact: rows
// of codes become f32 a few at a time and are multiplied. int8: activations are quantised per block
// and codes multiplied as bytes.
#include "kernels/cpu/gemv.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/quant.h"
#include "kernels/cpu/row_walk.h"
#include "kernels/cpu/rows.h"
#include "kernels/reference/support.h"

namespace engine::cpu {

namespace {

using reference::requireCount;

enum Operand { kX, kW, kScales, kZeros, kBias };

// Bytes of weights that are worth another thread.
constexpr int64_t kGrain = 65536;

std::string formatObjection(int64_t bits, int64_t blockSize) {
  if (bits != 2 && bits != 4 && bits != 8)
    return "it unpacks 2, 4 and 8 bits, not " + std::to_string(bits);
  if (blockSize < 16 || blockSize > 256 || (blockSize & (blockSize - 1)) != 0)
    return "it unpacks blocks of 16 to 256, not of " + std::to_string(blockSize);
  return {};
}

std::string typeObjection(const KernelProblem &problem, llvm::ArrayRef<size_t> floats,
                          size_t zeros) {
  for (size_t i : floats)
    if (problem.has(i) && !isRowFloat(problem.operand(i).dtype))
      return std::string("it has no form in ") + dtypeName(problem.operand(i).dtype);
  if (problem.has(zeros) && problem.operand(zeros).dtype != DType::kU8 &&
      !isRowFloat(problem.operand(zeros).dtype))
    return std::string("it takes no zero points of ") + dtypeName(problem.operand(zeros).dtype);
  return {};
}

// --- Rows of weights
// ---------------------------------------------------------------------------------------

// Where the codes, scales and zero points of a row lie.
class WeightRows {
public:
  WeightRows(const QuantFormat &format, int64_t rows, const View &codes, const View &scales,
             const View &zeros, const RowOps &ops)
      : format_(format), codes_(codes.as<const uint8_t>()), scales_(scales), zeros_(zeros),
        ops_(ops) {
    requireCount(codes, rows * format.rowBytes(), "w");
    requireCount(scales, rows * format.blocks(), "scales");
    if (zeros.present())
      requireCount(zeros, rows * (zeros.dtype == DType::kU8 ? zeroBytes() : format.blocks()),
                   "zeroPoints");
  }

  bool hasZeros() const { return zeros_.present(); }
  const uint8_t *codes(int64_t row) const { return codes_ + row * format_.rowBytes(); }
  const float *scales(int64_t row, float *temp) const { return floats(scales_, row, temp); }
  // Null where there are none.
  const float *zeros(int64_t row, float *temp) const {
    if (!zeros_.present())
      return nullptr;
    if (zeros_.dtype != DType::kU8)
      return floats(zeros_, row, temp);
    const uint8_t *bytes = zeros_.as<const uint8_t>() + row * zeroBytes();
    const int64_t mask = (int64_t{1} << format_.bits) - 1;
    for (int64_t b = 0; b < format_.blocks(); ++b) {
      const int64_t bit = b * format_.bits;
      temp[b] = static_cast<float>((bytes[bit / 8] >> (bit % 8)) & mask);
    }
    return temp;
  }

private:
  int64_t zeroBytes() const { return (format_.blocks() * format_.bits + 7) / 8; }
  const float *floats(const View &view, int64_t row, float *temp) const {
    const int64_t offset = row * format_.blocks() * (dtypeInfo(view.dtype).bits / 8);
    return floatRow(ops_, view.dtype, view.as<const char>() + offset, 1, format_.blocks(), temp);
  }

  QuantFormat format_;
  const uint8_t *codes_;
  View scales_, zeros_;
  const RowOps &ops_;
};

// --- What both ways share
// ----------------------------------------------------------------------------------

class QuantKernel : public Kernel {
public:
  explicit QuantKernel(const KernelProblem &problem)
      : op_(problem.op<ir::QuantMatMul>()), format_{op_.k, op_.bits, op_.blockSize},
        ops_(rowOps(problem.options.isa)) {}

protected:
  WeightRows weightsOf(const KernelCall &call) const {
    if (call.operand(kBias).present())
      requireCount(call.operand(kBias), op_.n, "bias");
    requireCount(call.operand(kX), rowsOf(call) * op_.k, "x");
    return WeightRows(format_, op_.n, call.operand(kW), call.operand(kScales), call.operand(kZeros),
                      ops_);
  }

  int64_t rowsOf(const KernelCall &call) const { return call.result(0).count() / op_.n; }

  // Row `row` of x as f32, zeros up to `width`.
  void loadRow(const View &x, int64_t row, int64_t width, float *to) const {
    const int64_t offset = row * op_.k * (dtypeInfo(x.dtype).bits / 8);
    copyFloatRow(ops_, x.dtype, x.as<const char>() + offset, 1, op_.k, to);
    std::fill(to + op_.k, to + width, 0.0f);
  }

  // Results of some rows: in place where y is f32, else in `temp`, and then rounded.
  GemvMatrix<float> resultRows(const View &y, int64_t first, float *temp) const {
    if (y.dtype == DType::kF32)
      return {y.as<float>() + first * op_.n, op_.n};
    return {temp, op_.n};
  }

  void finishRows(const KernelCall &call, int64_t first, int64_t rows,
                  const GemvMatrix<float> &results) const {
    const View y = call.result(0), bias = call.operand(kBias);
    if (!bias.present() && y.dtype == DType::kF32)
      return;
    const int64_t size = dtypeInfo(y.dtype).bits / 8;
    const auto add = ops_.binary[static_cast<int>(ir::BinaryKind::kAdd)];
    const int threads = rows * op_.n >= kGrain ? call.threads : 1;
    parallelFor(rows, threads, [&](int64_t row) {
      char *to = y.as<char>() + (first + row) * op_.n * size;
      float *from = results.data + row * results.stride;
      float piece[kPiece];
      for (int64_t i = 0; i < op_.n; i += kPiece) {
        const int64_t count = std::min(kPiece, op_.n - i);
        if (bias.present()) {
          const int64_t offset = i * (dtypeInfo(bias.dtype).bits / 8);
          const float *added =
              floatRow(ops_, bias.dtype, bias.as<const char>() + offset, 1, count, piece);
          add({from + i, false}, {added, false}, count, from + i);
        }
        if (y.dtype != DType::kF32)
          ops_.narrow(from + i, count, y.dtype, to + i * size);
      }
    });
  }

  int64_t resultFloats(const KernelCall &call, int64_t rows) const {
    return call.result(0).dtype == DType::kF32 ? 0 : rows * op_.n;
  }

  // Bytes of a worker's scales and zero points of a tile's columns.
  int64_t tileBytes() const { return 2 * kQuantColumns * Scratch::bytes<float>(format_.blocks()); }

  // Calls body(tile, first row) for all tiles; the weights of a tile are still at hand for its next
  // rows. `workers` are `workerBytes` apart, tileBytes() of which are used.
  template <class Body>
  void forEachTile(int threads, const WeightRows &weights, int64_t rows, const GemvMatrix<float> &y,
                   char *workers, int64_t workerBytes, const Body &body) const {
    const int64_t groups = (op_.n + kQuantColumns - 1) / kQuantColumns;
    const int64_t shares = std::clamp<int64_t>(op_.n * format_.rowBytes() / kGrain, 1,
                                               std::min<int64_t>(threads, groups));
    parallelFor(shares, threads, [&](int64_t share) {
      for (int64_t group = share * groups / shares; group < (share + 1) * groups / shares;
           ++group) {
        const int64_t column = group * kQuantColumns;
        QuantTile tile = tileOf(weights, column, workers + share * workerBytes);
        tile.yStride = y.stride;
        for (int64_t row = 0; row < rows; row += kQuantRows) {
          tile.rows = static_cast<int>(std::min<int64_t>(kQuantRows, rows - row));
          tile.y = y.data + row * y.stride + column;
          body(tile, row);
        }
      }
    });
  }

  QuantTile tileOf(const WeightRows &weights, int64_t column, char *temp) const {
    Scratch scratch(temp);
    QuantTile tile;
    tile.format = format_;
    tile.columns = static_cast<int>(std::min<int64_t>(kQuantColumns, op_.n - column));
    for (int j = 0; j < tile.columns; ++j) {
      tile.codes[j] = weights.codes(column + j);
      tile.scales[j] = weights.scales(column + j, scratch.take<float>(format_.blocks()));
      tile.zeros[j] = weights.zeros(column + j, scratch.take<float>(format_.blocks()));
    }
    return tile;
  }

  const ir::QuantMatMul op_;
  const QuantFormat format_;
  const RowOps &ops_;
};

// --- Exact
// -------------------------------------------------------------------------------------------------

class ExactQuantMatMul final : public QuantKernel {
public:
  explicit ExactQuantMatMul(const KernelProblem &problem)
      : QuantKernel(problem), quantOps_(quantOps(problem.options.isa)) {}

  int64_t scratchBytes(const KernelCall &call) const override {
    const int64_t rows = std::min(rowsOf(call), kRowBlock);
    int64_t bytes = Scratch::bytes<float>(rows * format_.paddedDepth()) +
                    Scratch::bytes<float>(resultFloats(call, rows)) + call.threads * workerBytes();
    if (!isFew(rowsOf(call)))
      bytes +=
          Scratch::bytes<float>(kPanelColumns * format_.paddedDepth()) + productBytes(call, rows);
    return bytes;
  }

  void run(const KernelCall &call) const override {
    const int64_t rows = rowsOf(call);
    const WeightRows weights = weightsOf(call);
    for (int64_t first = 0; first < rows; first += kRowBlock)
      runBlock(call, weights, first, std::min(kRowBlock, rows - first));
  }

private:
  // Rows of x that are multiplied with the weights dequantised once.
  static constexpr int64_t kRowBlock = 512;
  // Up to so many rows each group of columns is multiplied as it is dequantised.
  static constexpr int64_t kFewRows = 12;
  static constexpr int64_t kPanelColumns = 128;

  static bool isFew(int64_t rows) { return rows <= kFewRows; }

  // A row of x, or what a tile needs, or scales and zero points of one column.
  int64_t workerBytes() const {
    return std::max(Scratch::bytes<float>(format_.paddedDepth()), tileBytes());
  }

  void dequantize(const WeightRows &weights, int64_t column, char *temp, float *values) const {
    Scratch scratch(temp);
    float *scales = scratch.take<float>(format_.blocks());
    float *zeros = scratch.take<float>(format_.blocks());
    quantOps_.dequantize(format_, weights.codes(column), weights.scales(column, scales),
                         weights.zeros(column, zeros), values);
  }

  void runBlock(const KernelCall &call, const WeightRows &weights, int64_t first,
                int64_t rows) const {
    Scratch scratch(call.scratch);
    float *x = scratch.take<float>(rows * format_.paddedDepth());
    float *temp = scratch.take<float>(resultFloats(call, rows));
    char *workers = scratch.take<char>(call.threads * workerBytes());
    orderRows(call, first, rows, x, workers);
    const GemvMatrix<float> y = resultRows(call.result(0), first, temp);
    if (isFew(rowsOf(call)))
      multiplyGroups(call, weights, rows, x, workers, y);
    else
      multiplyPanels(call, weights, rows, x, workers, y, scratch);
    finishRows(call, first, rows, y);
  }

  void orderRows(const KernelCall &call, int64_t first, int64_t rows, float *x,
                 char *workers) const {
    const int threads = rows * op_.k >= kGrain ? call.threads : 1;
    const int64_t depth = format_.paddedDepth();
    parallelFor(rows, threads, [&](int64_t row, int index) {
      float *values = reinterpret_cast<float *>(workers + index * workerBytes());
      loadRow(call.operand(kX), first + row, depth, values);
      orderAsPlanes(format_, quantOps_.lanes, values, x + row * depth);
    });
  }

  void multiplyGroups(const KernelCall &call, const WeightRows &weights, int64_t rows,
                      const float *x, char *workers, const GemvMatrix<float> &y) const {
    const int64_t depth = format_.paddedDepth();
    forEachTile(call.threads, weights, rows, y, workers, workerBytes(),
                [&](const QuantTile &tile, int64_t row) {
                  quantOps_.multiply(tile, x + row * depth, depth);
                });
  }

  // The operands of one panel: x, values [columns, depth] seen transposed, results.
  struct Panel {
    View x, w, y;
  };
  Panel panel(int64_t rows, int64_t columns, const GemvMatrix<float> &y) const {
    const int64_t depth = format_.paddedDepth();
    Panel p = {makeView(nullptr, DType::kF32, {rows, depth}),
               makeView(nullptr, DType::kF32, {depth, columns}),
               makeView(y.data, DType::kF32, {rows, columns})};
    p.w.strides[0] = 1;
    p.w.strides[1] = depth;
    p.y.strides[0] = y.stride;
    return p;
  }

  int64_t productBytes(const KernelCall &call, int64_t rows) const {
    int64_t bytes = 0;
    const int64_t lastRows = rowsOf(call) % rows;
    for (int64_t height : {rows, lastRows})
      for (int64_t width : {std::min(kPanelColumns, op_.n), op_.n % kPanelColumns})
        if (height > 0 && width > 0) {
          const Panel p = panel(height, width, {nullptr, op_.n});
          bytes = std::max(bytes, product_.scratchBytes(p.x, p.w, p.y, call.threads));
        }
    return bytes;
  }

  void multiplyPanels(const KernelCall &call, const WeightRows &weights, int64_t rows, float *x,
                      char *workers, const GemvMatrix<float> &y, Scratch scratch) const {
    const int64_t depth = format_.paddedDepth();
    float *values = scratch.take<float>(kPanelColumns * depth);
    void *rest = scratch.take<char>(0);
    for (int64_t first = 0; first < op_.n; first += kPanelColumns) {
      const int64_t columns = std::min(kPanelColumns, op_.n - first);
      parallelFor(columns, call.threads, [&](int64_t column, int index) {
        dequantize(weights, first + column, workers + index * workerBytes(),
                   values + column * depth);
      });
      Panel p = panel(rows, columns, {y.data + first, y.stride});
      p.x.data = x;
      p.w.data = values;
      product_.run(p.x, p.w, p.y, call.threads, rest);
    }
  }

  const QuantOps &quantOps_;
  OneDnnProduct product_;
};

std::string quantWhyNot(const KernelProblem &problem) {
  const auto &op = problem.op<ir::QuantMatMul>();
  if (std::string why = formatObjection(op.bits, op.blockSize); !why.empty())
    return why;
  return typeObjection(problem, {kX, kScales, kBias}, kZeros);
}

// --- 8-bit activations
// -------------------------------------------------------------------------------------

class Int8QuantMatMul final : public QuantKernel {
public:
  explicit Int8QuantMatMul(const KernelProblem &problem)
      : QuantKernel(problem), int8Ops_(*int8Ops(problem.options.isa)) {}

  int64_t scratchBytes(const KernelCall &call) const override {
    const int64_t rows = std::min(rowsOf(call), kRowBlock);
    return rows * rowBytes() + Scratch::bytes<float>(resultFloats(call, rows)) +
           call.threads * workerBytes();
  }

  void run(const KernelCall &call) const override {
    const int64_t rows = rowsOf(call);
    const WeightRows weights = weightsOf(call);
    for (int64_t first = 0; first < rows; first += kRowBlock)
      runBlock(call, weights, first, std::min(kRowBlock, rows - first));
  }

private:
  // Rows of activations that stay in the second-level cache while all weights pass by.
  static constexpr int64_t kRowBlock = 64;

  int64_t chunks() const { return chunksOf(format_); }
  int64_t codes() const { return chunks() * kChunkBytes * format_.planes(); }
  int64_t rowBytes() const {
    return Scratch::bytes<int8_t>(codes()) + Scratch::bytes<float>(chunks() * kChunkLanes) +
           Scratch::bytes<int32_t>(chunks() * kChunkLanes);
  }
  // What a tile needs, or a row of x.
  int64_t workerBytes() const { return std::max(tileBytes(), Scratch::bytes<float>(codes())); }

  void runBlock(const KernelCall &call, const WeightRows &weights, int64_t first,
                int64_t rows) const {
    Scratch scratch(call.scratch);
    Int8Row x[kRowBlock];
    for (int64_t row = 0; row < rows; ++row) {
      x[row].codes = scratch.take<int8_t>(codes());
      x[row].scales = scratch.take<float>(chunks() * kChunkLanes);
      x[row].sums = scratch.take<int32_t>(chunks() * kChunkLanes);
    }
    float *temp = scratch.take<float>(resultFloats(call, rows));
    char *workers = scratch.take<char>(call.threads * workerBytes());
    const int threads = rows * op_.k >= kGrain ? call.threads : 1;
    parallelFor(rows, threads, [&](int64_t row, int index) {
      float *values = reinterpret_cast<float *>(workers + index * workerBytes());
      loadRow(call.operand(kX), first + row, codes(), values);
      int8Ops_.quantize(format_, weights.hasZeros(), values, x[row]);
    });
    const GemvMatrix<float> y = resultRows(call.result(0), first, temp);
    forEachTile(call.threads, weights, rows, y, workers, workerBytes(),
                [&](const QuantTile &tile, int64_t row) { int8Ops_.multiply(tile, x + row); });
    finishRows(call, first, rows, y);
  }

  const Int8Ops &int8Ops_;
};

std::string int8WhyNot(const KernelProblem &problem) {
  if (problem.options.exact)
    return "quantised weights are to be multiplied exactly";
  if (problem.op<ir::QuantMatMul>().accuracyLevel != 4)
    return "8-bit activations need accuracy_level 4";
  if (!int8Ops(problem.options.isa))
    return "this instruction set has no product of bytes";
  return quantWhyNot(problem);
}

// --- Gather
// ------------------------------------------------------------------------------------------------

class GatherKernel final : public Kernel {
public:
  explicit GatherKernel(const KernelProblem &problem)
      : op_(problem.op<ir::QuantGather>()), ops_(rowOps(problem.options.isa)),
        quantOps_(quantOps(problem.options.isa)) {}

  std::string whyNotNow(const KernelCall &call) const override {
    if (call.operand(0).rank != 2)
      return "it takes rows of a matrix";
    if (formatOf(call).depth % op_.blockSize != 0)
      return "the last block of a row is not whole";
    return {};
  }

  int64_t scratchBytes(const KernelCall &call) const override {
    return call.threads * workerBytes(formatOf(call));
  }

  void run(const KernelCall &call) const override {
    const QuantFormat f = formatOf(call);
    const View data = call.operand(0), y = call.result(0);
    const WeightRows rows(f, data.dims[0], data, call.operand(2), call.operand(3), ops_);
    auto indices = reference::loadAll<int64_t>(call.operand(1));
    for (int64_t &index : indices)
      index = reference::checkedIndex(index, data.dims[0], "indices");
    const int64_t count = static_cast<int64_t>(indices.size());
    const int threads = count * f.depth >= kGrain ? call.threads : 1;
    const int64_t size = dtypeInfo(y.dtype).bits / 8;
    parallelFor(count, threads, [&](int64_t i, int worker) {
      Scratch scratch(static_cast<char *>(call.scratch) + worker * workerBytes(f));
      float *ordered = scratch.take<float>(f.depth), *values = scratch.take<float>(f.depth);
      float *scales = scratch.take<float>(f.blocks()), *zeros = scratch.take<float>(f.blocks());
      quantOps_.dequantize(f, rows.codes(indices[i]), rows.scales(indices[i], scales),
                           rows.zeros(indices[i], zeros), ordered);
      orderAsCodes(f, quantOps_.lanes, ordered, values);
      ops_.narrow(values, f.depth, y.dtype, y.as<char>() + i * f.depth * size);
    });
  }

private:
  QuantFormat formatOf(const KernelCall &call) const {
    return {call.operand(0).dims[call.operand(0).rank - 1] * 8 / op_.bits, op_.bits, op_.blockSize};
  }
  static int64_t workerBytes(const QuantFormat &f) {
    return 2 * Scratch::bytes<float>(f.depth) + 2 * Scratch::bytes<float>(f.blocks());
  }

  const ir::QuantGather op_;
  const RowOps &ops_;
  const QuantOps &quantOps_;
};

std::string gatherWhyNot(const KernelProblem &problem) {
  const auto &op = problem.op<ir::QuantGather>();
  if (std::string why = formatObjection(op.bits, op.blockSize); !why.empty())
    return why;
  if (problem.operand(0).dtype != DType::kU8)
    return std::string("it unpacks u8, not ") + dtypeName(problem.operand(0).dtype);
  return typeObjection(problem, {2}, 3);
}

template <class T> std::unique_ptr<Kernel> make(const KernelProblem &problem) {
  return std::make_unique<T>(problem);
}

constexpr KernelRow kRows[] = {
    {ir::opIndex<ir::QuantMatMul>(), "int8", /*acceptsStrides=*/false, int8WhyNot,
     make<Int8QuantMatMul>},
    {ir::opIndex<ir::QuantMatMul>(), "exact", /*acceptsStrides=*/false, quantWhyNot,
     make<ExactQuantMatMul>},
    {ir::opIndex<ir::QuantGather>(), "rows", /*acceptsStrides=*/false, gatherWhyNot,
     make<GatherKernel>, /*decidesLate=*/true},
};

} // namespace

llvm::ArrayRef<KernelRow> quantRows() { return kRows; }

} // namespace engine::cpu
