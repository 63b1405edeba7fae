// ApplyRope: the rotation of positions into queries and keys.
#include "kernels/reference/attention_rows.h"

namespace engine::reference {

namespace {

enum Operand { kX, kCos, kSin, kPositions, kStart, kLen };

using Doubles = Elements<double>;

// Where the angle of row s of entry b stands in the caches.
class Angles {
public:
  Angles(const ir::ApplyRope &op, const KernelCall &call)
      : cos_(call.operand(kCos)), sin_(call.operand(kSin)), rows_(call.operand(kX).dims[2]),
        perEntry_(cos_.rank == 3) {
    if (perEntry_)
      return;
    const int64_t batch = call.operand(kX).dims[0];
    if (call.operand(kPositions).present())
      readPositions(call.operand(kPositions), batch);
    else
      countFrom(op, call, batch);
  }

  // Throws on a position that the caches do not hold, of a row s < lengths[b].
  void check(llvm::ArrayRef<int64_t> lengths) const {
    if (perEntry_)
      return;
    for (size_t b = 0; b < lengths.size(); ++b)
      for (int64_t s = 0; s < lengths[b]; ++s)
        checkPosition(static_cast<int64_t>(b), s);
  }

  void loadRow(int64_t b, int64_t s, double *cos, double *sin) const {
    load(row(cos_, b, s), cos);
    load(row(sin_, b, s), sin);
  }
  int64_t width() const { return cos_.dims[cos_.rank - 1]; }

private:
  // May have more columns than there are rows.
  void readPositions(const View &positions, int64_t batch) {
    const auto all = loadAll<int64_t>(positions);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t s = 0; s < rows_; ++s)
        positions_.push_back(all[b * positions.dims[1] + s]);
  }

  void countFrom(const ir::ApplyRope &op, const KernelCall &call, int64_t batch) {
    Elements<int64_t> starts(batch, op.offset.evaluate(call.symbols));
    if (call.operand(kStart).present())
      starts = loadAll<int64_t>(call.operand(kStart));
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t s = 0; s < rows_; ++s)
        positions_.push_back(starts[b] > INT64_MAX - s ? INT64_MAX : starts[b] + s);
  }

  void checkPosition(int64_t b, int64_t s) const {
    const int64_t position = positions_[b * rows_ + s];
    if (position >= 0 && position < cos_.dims[0])
      return;
    throw Error("value " + std::to_string(position) + " of entry " + std::to_string(b) + ", row " +
                std::to_string(s) + " is out of range [0, " + std::to_string(cos_.dims[0]) + ")")
        .at("input 'position_ids'");
  }

  Row row(const View &cache, int64_t b, int64_t s) const {
    const int last = cache.rank - 1;
    const int64_t offset = perEntry_ ? b * cache.strides[0] + s * cache.strides[1]
                                     : positions_[b * rows_ + s] * cache.strides[0];
    return {cache.data, cache.dtype, offset, cache.strides[last], cache.dims[last]};
  }

  View cos_, sin_;
  int64_t rows_;
  bool perEntry_; // caches [B, S, R]
  Elements<int64_t> positions_;
};

void rotate(Doubles &x, const Doubles &cos, const Doubles &sin, bool interleaved) {
  const size_t half = cos.size();
  for (size_t i = 0; i < half; ++i) {
    double &a = x[interleaved ? 2 * i : i];
    double &b = x[interleaved ? 2 * i + 1 : i + half];
    const double real = a * cos[i] - b * sin[i];
    b = a * sin[i] + b * cos[i];
    a = real;
  }
}

Row headRow(const View &view, int64_t b, int64_t head, int64_t s) {
  const int64_t offset = b * view.strides[0] + head * view.strides[1] + s * view.strides[2];
  return {view.data, view.dtype, offset, view.strides[3], view.dims[3]};
}

} // namespace

void runApplyRope(const ir::ApplyRope &op, const KernelCall &call) {
  const View x = call.operand(kX), y = call.result(0);
  const Angles angles(op, call);
  Elements<int64_t> lengths(x.dims[0], x.dims[2]);
  if (call.operand(kLen).present())
    lengths = loadAll<int64_t>(call.operand(kLen));
  angles.check(lengths);

  Doubles row(x.dims[3]), cos(angles.width()), sin(angles.width());
  for (int64_t b = 0; b < x.dims[0]; ++b)
    for (int64_t s = 0; s < x.dims[2]; ++s) {
      const bool turns = s < lengths[b];
      if (turns)
        angles.loadRow(b, s, cos.data(), sin.data());
      for (int64_t head = 0; head < x.dims[1]; ++head) {
        load(headRow(x, b, head, s), row.data());
        if (turns)
          rotate(row, cos, sin, op.interleaved);
        store(headRow(y, b, head, s), row.data());
      }
    }
}

} // namespace engine::reference
