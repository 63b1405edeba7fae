// Attention as kernels/sdpa_problem.h states it, in f64.
#include "kernels/reference/attention_rows.h"
#include "kernels/sdpa_bind.h"

#include <cmath>
#include <limits>

namespace engine::reference {

namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

using Doubles = std::vector<double>;

// The last axis of a 4-D view at [i, j, k].
Row rowAt(const View &view, int64_t i, int64_t j, int64_t k) {
  const int64_t offset = i * view.strides[0] + j * view.strides[1] + k * view.strides[2];
  return {view.data, view.dtype, offset, view.strides[3], view.dims[3]};
}

// Two 4-bit codes a byte, stored + 8, even channel in the low nibble.
void loadCodes4(const Row &row, double *out) {
  const uint8_t *bytes = static_cast<const uint8_t *>(row.data) + row.offset;
  for (int64_t i = 0; i < row.count; ++i) {
    const uint8_t byte = bytes[i * row.stride];
    out[2 * i] = (byte & 15) - 8;
    out[2 * i + 1] = (byte >> 4) - 8;
  }
}

// The rows of one entry's KV head as numbers, both segments: `width` numbers a row.
class HeadRows {
public:
  HeadRows(const SdpaProblem &p, const View &resident, const View &fresh, const View &scale,
           int64_t b, int64_t kvHead, int64_t count)
      : bits_(p.cacheBits()), width_(resident.dims[3] * (bits_ == 4 ? 2 : 1)) {
    const int64_t split = p.entry(b).split;
    values_.resize(count * width_);
    for (int64_t row = 0; row < count; ++row) {
      const bool old = row < split;
      decode(rowAt(old ? resident : fresh, b, kvHead, old ? row : row - split),
             values_.data() + row * width_);
    }
    if (scale.present())
      applyScale(scale, kvHead, count);
  }

  const double *row(int64_t i) const { return values_.data() + i * width_; }
  int64_t width() const { return width_; }

private:
  void decode(const Row &row, double *out) const {
    if (bits_ == 4)
      return loadCodes4(row, out);
    load(row, out);
  }

  void applyScale(const View &scale, int64_t kvHead, int64_t count) {
    const auto scales = loadAll<double>(scale);
    for (int64_t row = 0; row < count; ++row)
      for (int64_t i = 0; i < width_; ++i)
        values_[row * width_ + i] *= scales.size() == 1 ? scales[0] : scales[kvHead * width_ + i];
  }

  int bits_;
  int64_t width_;
  Doubles values_;
};

double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

double capped(double x, double cap) { return cap > 0 ? cap * std::tanh(x / cap) : x; }

// One query row of one head: what it sees, its logits and weights.
class QueryRow {
public:
  QueryRow(const SdpaProblem &p, int64_t b, int64_t head, int64_t s, const HeadRows &keys,
           const HeadRows &values, int64_t rows)
      : p_(p), b_(b), head_(head), s_(s), entry_(p.entry(b)), keys_(keys), values_(values),
        rows_(rows), query_(p.headSize()), seen_(rows, false), logits_(rows, kMinusInfinity),
        weights_(rows, 0.0) {
    load(rowAt(p.q, b, head, s), query_.data());
  }

  void run() {
    if (s_ < entry_.queryLen) {
      computeLogits();
      computeWeights();
    }
    storeOutput();
    if (p_.scoreMode != ScoreMode::kNone)
      storeScores();
  }

private:
  double maskedBias(int64_t row) const {
    const int64_t column = entry_.frame.keyStart + row;
    double bias = 0;
    if (p_.bias.present())
      load(element(p_.bias, column), &bias);
    uint64_t visible = 1;
    if (p_.mask.present())
      load(element(p_.mask, column), &visible);
    return visible != 0 ? bias : kMinusInfinity;
  }

  Row element(const View &view, int64_t column) const {
    Row row = rowAt(view, b_, head_, s_);
    row.offset += column * row.stride;
    row.count = 1;
    return row;
  }

  double scaled(int64_t row) const {
    return p_.scale * dot(query_.data(), keys_.row(row), p_.headSize());
  }

  void computeLogits() {
    const KeyRange range = entry_.frame.rowRange(s_);
    for (int64_t row = range.lo; row < range.hi; ++row) {
      const double bias = maskedBias(row);
      if (bias == kMinusInfinity)
        continue;
      seen_[row] = true;
      logits_[row] = capped(scaled(row), p_.softcap) + bias;
    }
  }

  void computeWeights() {
    double sink = kMinusInfinity;
    if (p_.sink.present())
      load(Row{p_.sink.data, p_.sink.dtype, head_ * p_.sink.strides[0], 1, 1}, &sink);
    double top = sink;
    for (int64_t row = 0; row < rows_; ++row)
      if (seen_[row])
        top = std::max(top, logits_[row]);
    double sum = sink == kMinusInfinity ? 0 : std::exp(sink - top);
    for (int64_t row = 0; row < rows_; ++row) {
      if (!seen_[row] || logits_[row] == kMinusInfinity)
        continue;
      weights_[row] = std::exp(logits_[row] - top);
      sum += weights_[row];
    }
    for (double &weight : weights_)
      weight = weight == 0 ? 0 : weight / sum;
  }

  void storeOutput() const {
    Doubles out(values_.width(), 0.0);
    for (int64_t row = 0; row < rows_; ++row) {
      if (!seen_[row] || weights_[row] == 0)
        continue;
      for (int64_t i = 0; i < values_.width(); ++i)
        out[i] += weights_[row] * values_.row(row)[i];
    }
    store(rowAt(p_.out, b_, head_, s_), out.data());
  }

  double score(int64_t row) const {
    switch (p_.scoreMode) {
    case ScoreMode::kRaw:
      return scaled(row);
    case ScoreMode::kCapped:
      return capped(scaled(row), p_.softcap);
    case ScoreMode::kBiased:
      return logits_[row];
    case ScoreMode::kProbabilities:
      return weights_[row];
    case ScoreMode::kGqaLogits:
      return entry_.frame.rowRange(s_).contains(row) ? logits_[row] : 0;
    case ScoreMode::kNone:
      break;
    }
    return 0;
  }

  void storeScores() const {
    const Row to = rowAt(p_.scores, b_, head_, s_);
    const double otherwise = p_.scoreMode == ScoreMode::kBiased ? kMinusInfinity : 0;
    Doubles scores(to.count, otherwise);
    for (int64_t column = 0; column < to.count; ++column) {
      const int64_t row = column - entry_.frame.keyStart;
      if (row >= 0 && row < rows_ && s_ < entry_.queryLen)
        scores[column] = score(row);
    }
    store(to, scores.data());
  }

  const SdpaProblem &p_;
  const int64_t b_, head_, s_;
  const SdpaEntry entry_;
  const HeadRows &keys_, &values_;
  const int64_t rows_; // of keys that exist, visible or not
  Doubles query_;
  std::vector<bool> seen_;
  Doubles logits_, weights_;
};

// Key rows of an entry that hold anything.
int64_t rowsOf(const SdpaProblem &p, int64_t b) {
  if (!p.kNew.present())
    return p.k.dims[2];
  return p.keyLen ? p.keyLen[b] : p.entry(b).split + p.kNew.dims[2];
}

} // namespace

void runSdpa(const ir::Sdpa &op, const KernelCall &call) {
  const SdpaProblem p = makeSdpaProblem(op, call);
  for (int64_t b = 0; b < p.batch(); ++b)
    for (int64_t kvHead = 0; kvHead < p.kvHeads(); ++kvHead) {
      const int64_t rows = rowsOf(p, b);
      const HeadRows keys(p, p.k, p.kNew, p.kScale, b, kvHead, rows);
      const HeadRows values(p, p.v, p.vNew, p.vScale, b, kvHead, rows);
      for (int64_t member = 0; member < p.group(); ++member)
        for (int64_t s = 0; s < p.queries(); ++s)
          QueryRow(p, b, kvHead * p.group() + member, s, keys, values, rows).run();
    }
}

} // namespace engine::reference
