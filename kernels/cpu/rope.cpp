// ApplyRope: rows of all heads of a position share one angle row.
#include "kernels/cpu/row_walk.h"
#include "kernels/cpu/rows.h"
#include "kernels/reference/support.h"

#include <climits>

namespace engine::cpu {

namespace {

enum Operand { kX, kCos, kSin, kPositions, kStart, kLen };

// Channels that are worth another thread.
constexpr int64_t kGrain = 16384;

class RopeKernel final : public Kernel {
public:
  explicit RopeKernel(const KernelProblem &problem)
      : op_(problem.op<ir::ApplyRope>()), ops_(rowOps(problem.options.isa)) {}

  std::string whyNotNow(const KernelCall &call) const override {
    for (const View &view : {call.operand(kX), call.result(0)})
      if (view.dims[3] > 1 && view.strides[3] != 1)
        return "the channels of a head are not contiguous";
    if (call.operand(kX).count() == 0)
      return "nothing to rotate";
    return {};
  }

  // A worker's row of x, cosines and sines.
  int64_t scratchBytes(const KernelCall &call) const override {
    return call.threads * floatsPerWorker(call) * static_cast<int64_t>(sizeof(float));
  }

  void run(const KernelCall &call) const override {
    const View x = call.operand(kX);
    const Rows rows(op_, call);
    rows.check();
    const int64_t count = x.dims[0] * x.dims[2];
    const int64_t shares =
        std::clamp<int64_t>(x.count() / kGrain, 1, std::min<int64_t>(call.threads, count));
    parallelFor(shares, call.threads, [&](int64_t share) {
      float *temp = static_cast<float *>(call.scratch) + share * floatsPerWorker(call);
      for (int64_t i = share * count / shares; i < (share + 1) * count / shares; ++i)
        runRow(call, rows, i / x.dims[2], i % x.dims[2], temp);
    });
  }

private:
  // Which angle belongs to which row.
  class Rows {
  public:
    Rows(const ir::ApplyRope &op, const KernelCall &call)
        : cos_(call.operand(kCos)), sin_(call.operand(kSin)), batch_(call.operand(kX).dims[0]),
          rows_(call.operand(kX).dims[2]), perEntry_(cos_.rank == 3),
          positions_(call.operand(kPositions)), starts_(batch_, 0), lengths_(batch_, rows_) {
      if (call.operand(kLen).present())
        lengths_ = reference::loadAll<int64_t>(call.operand(kLen));
      if (perEntry_ || positions_.present())
        return;
      if (call.operand(kStart).present())
        starts_ = reference::loadAll<int64_t>(call.operand(kStart));
      else
        starts_.assign(batch_, op.offset.evaluate(call.symbols));
    }

    bool turns(int64_t b, int64_t s) const { return s < lengths_[b]; }

    // Throws on a position that the caches do not hold, of a row that turns.
    void check() const {
      if (perEntry_)
        return;
      for (int64_t b = 0; b < batch_; ++b)
        for (int64_t s = 0; s < std::min(lengths_[b], rows_); ++s)
          checkPosition(b, s);
    }

    const float *angles(const RowOps &ops, bool sine, int64_t b, int64_t s, float *temp) const {
      const View &cache = sine ? sin_ : cos_;
      const int last = cache.rank - 1;
      const int64_t offset = perEntry_ ? b * cache.strides[0] + s * cache.strides[1]
                                       : position(b, s) * cache.strides[0];
      const int64_t size = dtypeInfo(cache.dtype).bits / 8;
      return floatRow(ops, cache.dtype, cache.as<const char>() + offset * size, cache.strides[last],
                      cache.dims[last], temp);
    }

  private:
    int64_t position(int64_t b, int64_t s) const {
      if (positions_.present())
        return positions_
            .as<const int64_t>()[b * positions_.strides[0] + s * positions_.strides[1]];
      return starts_[b] > INT64_MAX - s ? INT64_MAX : starts_[b] + s;
    }

    void checkPosition(int64_t b, int64_t s) const {
      const int64_t value = position(b, s);
      if (value >= 0 && value < cos_.dims[0])
        return;
      throw Error("value " + std::to_string(value) + " of entry " + std::to_string(b) + ", row " +
                  std::to_string(s) + " is out of range [0, " + std::to_string(cos_.dims[0]) + ")")
          .at("input 'position_ids'");
    }

    View cos_, sin_;
    int64_t batch_, rows_;
    bool perEntry_; // caches [B, S, R]
    View positions_;
    llvm::SmallVector<int64_t, 0> starts_, lengths_;
  };

  static int64_t rounded(int64_t floats) { return (floats + 15) / 16 * 16; }
  static int64_t angleCount(const KernelCall &call) {
    const View cos = call.operand(kCos);
    return cos.dims[cos.rank - 1];
  }
  static int64_t floatsPerWorker(const KernelCall &call) {
    return rounded(call.operand(kX).dims[3]) + 2 * rounded(angleCount(call));
  }

  void runRow(const KernelCall &call, const Rows &rows, int64_t b, int64_t s, float *temp) const {
    const View x = call.operand(kX), y = call.result(0);
    const int64_t angles = angleCount(call);
    const bool turns = rows.turns(b, s);
    float *cosTemp = temp + rounded(x.dims[3]);
    const float *cos = turns ? rows.angles(ops_, false, b, s, cosTemp) : nullptr;
    const float *sin = turns ? rows.angles(ops_, true, b, s, cosTemp + rounded(angles)) : nullptr;
    for (int64_t head = 0; head < x.dims[1]; ++head) {
      const char *from = headRow(x, b, head, s);
      char *to = headRow(y, b, head, s);
      if (turns)
        rotate(x.dtype, from, cos, sin, angles, x.dims[3], temp, to);
      else
        std::memcpy(to, from, byteSize(x.dtype, x.dims[3]));
    }
  }

  void rotate(DType type, const char *from, const float *cos, const float *sin, int64_t angles,
              int64_t channels, float *temp, char *to) const {
    const float *in = floatRow(ops_, type, from, 1, channels, temp);
    float *out = type == DType::kF32 ? reinterpret_cast<float *>(to) : temp;
    if (op_.interleaved)
      ops_.rotatePairs(in, cos, sin, angles, out);
    else
      ops_.rotateHalves(in, in + angles, cos, sin, angles, out, out + angles);
    const int64_t turned = 2 * angles;
    if (type != DType::kF32)
      ops_.narrow(temp, turned, type, to);
    const int64_t size = dtypeInfo(type).bits / 8;
    std::memcpy(to + turned * size, from + turned * size, (channels - turned) * size);
  }

  static char *headRow(const View &view, int64_t b, int64_t head, int64_t s) {
    const int64_t offset = b * view.strides[0] + head * view.strides[1] + s * view.strides[2];
    return view.as<char>() + offset * (dtypeInfo(view.dtype).bits / 8);
  }

  const ir::ApplyRope op_;
  const RowOps &ops_;
};

std::string whyNot(const KernelProblem &problem) {
  for (size_t i : {kX, kCos, kSin})
    if (!isRowFloat(problem.operand(i).dtype))
      return std::string("it rotates f32, f16 and bf16, not ") +
             dtypeName(problem.operand(i).dtype);
  return {};
}

std::unique_ptr<Kernel> make(const KernelProblem &problem) {
  return std::make_unique<RopeKernel>(problem);
}

constexpr KernelRow kRows[] = {
    {ir::opIndex<ir::ApplyRope>(), "rows", /*acceptsStrides=*/true, whyNot, make,
     /*decidesLate=*/true},
};

} // namespace

llvm::ArrayRef<KernelRow> ropeRows() { return kRows; }

} // namespace engine::cpu
