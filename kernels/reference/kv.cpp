// The caches: KvWrite, KvEvict, KvQuantize.
#include "kernels/reference/attention_rows.h"
#include "kernels/windowed_cache.h"

#include <cmath>
#include <cstring>

namespace engine::reference {

namespace {

// `length` rows from `start` on of one batch entry.
View rowsOf(const View &cache, int64_t b, int64_t axis, int64_t start, int64_t length) {
  return sliced(select(cache, 0, b), static_cast<int>(axis) - 1, start, length);
}

void copyRows(const View &from, int64_t fromRow, const View &to, int64_t toRow, int64_t count,
              int64_t b, int64_t axis) {
  if (count > 0)
    copyView(rowsOf(from, b, axis, fromRow, count), rowsOf(to, b, axis, toRow, count));
}

void zeroRows(const View &cache, int64_t start, int64_t end, int64_t b, int64_t axis) {
  if (start >= end)
    return;
  const int64_t size = dtypeInfo(cache.dtype).bits / 8;
  forEachRow(rowsOf(cache, b, axis, start, end - start), [&](llvm::ArrayRef<Row> rows) {
    char *data = static_cast<char *>(rows[0].data) + rows[0].offset * size;
    if (rows[0].stride == 1) {
      std::memset(data, 0, rows[0].count * size);
      return;
    }
    for (int64_t i = 0; i < rows[0].count; ++i)
      std::memset(data + i * rows[0].stride * size, 0, size);
  });
}

bool inPlace(const View &cache, const View &result) {
  return cache.present() && cache.count() > 0 && cache.data == result.data;
}

class CacheWrite {
public:
  CacheWrite(const ir::KvWrite &op, const KernelCall &call)
      : op_(op), cache_(call.operand(0)), update_(call.operand(1)), y_(call.result(0)),
        axis_(op.axis < 0 ? op.axis + y_.rank : op.axis), batch_(y_.dims[0]),
        capacity_(y_.dims[axis_]), starts_(batch_, op.offset.evaluate(call.symbols)),
        lengths_(batch_, update_.dims[axis_]) {
    if (call.operand(2).present())
      starts_ = loadAll<int64_t>(call.operand(2));
    if (call.operand(3).present())
      lengths_ = loadAll<int64_t>(call.operand(3));
  }

  void run() {
    for (int64_t b = 0; b < batch_; ++b)
      check(b);
    const bool keepsBuffer = inPlace(cache_, y_);
    for (int64_t b = 0; b < batch_; ++b) {
      if (!keepsBuffer)
        fillOldRows(b);
      write(b);
    }
  }

private:
  std::string valueText(int64_t b) const {
    return "value " + std::to_string(starts_[b]) + " of entry " + std::to_string(b);
  }

  void check(int64_t b) const {
    const int64_t start = starts_[b], length = lengths_[b];
    if (length < 0 || length > update_.dims[axis_])
      throw Error("value " + std::to_string(length) + " of entry " + std::to_string(b) +
                  " is out of range [0, " + std::to_string(update_.dims[axis_]) + "]")
          .at("operand 'len'");
    if (start < 0)
      throw Error(valueText(b) + " is negative").at("input 'write_indices'");
    if (length == 0)
      return;
    if (op_.circular ? capacity_ == 0 : start > capacity_ - length)
      throw Error(valueText(b) + " with " + std::to_string(length) + " rows is out of range [0, " +
                  std::to_string(capacity_) + ")")
          .at("input 'write_indices'");
  }

  void fillOldRows(int64_t b) const {
    const int64_t oldRows = cache_.present() ? std::min(cache_.dims[axis_], capacity_) : 0;
    const bool keeps = op_.tail == ir::KvTail::kKeep;
    const int64_t kept = keeps ? oldRows : std::min(oldRows, starts_[b]);
    copyRows(cache_, 0, y_, 0, kept, b, axis_);
    zeroRows(y_, kept, capacity_, b, axis_);
  }

  void write(int64_t b) const {
    if (!op_.circular)
      return copyRows(update_, 0, y_, starts_[b], lengths_[b], b, axis_);
    for (int64_t i = 0; i < lengths_[b]; ++i)
      copyRows(update_, i, y_, (starts_[b] % capacity_ + i) % capacity_, 1, b, axis_);
  }

  const ir::KvWrite &op_;
  const View cache_, update_, y_;
  const int64_t axis_, batch_, capacity_;
  Elements<int64_t> starts_, lengths_;
};

void evict(const ir::KvEvict &op, const View &cache, const View &update, const View &y, int64_t b,
           int64_t split, int64_t keyStart, int64_t length) {
  constexpr int64_t kAxis = 2;
  const int64_t tokens = keyStart + split + length;
  const int64_t stay = residentRows(tokens, y.dims[kAxis], op.window);
  const int64_t first = split + length - stay; // of resident rows followed by new ones
  // Upwards: in place, a row moves down onto one that is done with.
  for (int64_t i = 0; i < stay; ++i) {
    const int64_t row = first + i;
    const bool old = row < split;
    if (old && row == i && inPlace(cache, y))
      continue;
    copyRows(old ? cache : update, old ? row : row - split, y, i, 1, b, kAxis);
  }
  if (!inPlace(cache, y))
    zeroRows(y, stay, y.dims[kAxis], b, kAxis);
}

// Codes of one row of channels.
void quantiseRow(const double *x, const double *scales, bool perChannel, int64_t count, double low,
                 double high, double *codes) {
  for (int64_t i = 0; i < count; ++i) {
    const double code = std::nearbyint(x[i] / scales[perChannel ? i : 0]);
    codes[i] = std::isnan(code) ? high : std::min(std::max(code, low), high);
  }
}

void packNibbles(const double *codes, int64_t count, double *bytes) {
  for (int64_t i = 0; i < count / 2; ++i)
    bytes[i] = (codes[2 * i] + 8) + 16 * (codes[2 * i + 1] + 8);
}

Row headRow(const View &view, int64_t b, int64_t head, int64_t s) {
  const int64_t offset = b * view.strides[0] + head * view.strides[1] + s * view.strides[2];
  return {view.data, view.dtype, offset, view.strides[3], view.dims[3]};
}

} // namespace

void runKvWrite(const ir::KvWrite &op, const KernelCall &call) { CacheWrite(op, call).run(); }

void runKvEvict(const ir::KvEvict &op, const KernelCall &call) {
  const auto split = loadAll<int64_t>(call.operand(2));
  const auto keyStart = loadAll<int64_t>(call.operand(3));
  const auto length = loadAll<int64_t>(call.operand(4));
  for (size_t b = 0; b < split.size(); ++b)
    evict(op, call.operand(0), call.operand(1), call.result(0), static_cast<int64_t>(b), split[b],
          keyStart[b], length[b]);
}

void runKvQuantize(const ir::KvQuantize &op, const KernelCall &call) {
  const View x = call.operand(0), y = call.result(0);
  const auto scales = loadAll<double>(call.operand(1));
  const bool perChannel = scales.size() != 1;
  const int64_t channels = x.dims[3];
  const double low = op.bits == 8 ? -128 : -8, high = op.bits == 8 ? 127 : 7;
  Elements<double> row(channels), codes(channels), bytes(channels);
  for (int64_t b = 0; b < x.dims[0]; ++b)
    for (int64_t head = 0; head < x.dims[1]; ++head)
      for (int64_t s = 0; s < x.dims[2]; ++s) {
        load(headRow(x, b, head, s), row.data());
        const double *own = scales.data() + (perChannel ? head * channels : 0);
        quantiseRow(row.data(), own, perChannel, channels, low, high, codes.data());
        if (op.bits == 4)
          packNibbles(codes.data(), channels, bytes.data());
        store(headRow(y, b, head, s), op.bits == 4 ? bytes.data() : codes.data());
      }
}

} // namespace engine::reference
