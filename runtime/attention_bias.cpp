#include "ir/band.h"
#include "ir/half.h"
#include "runtime/session_impl.h"

#include <limits>

namespace engine {

namespace {

// Which cache rows a query sees. Without blocks that is a band; a block widens its right end.
class VisibleRows {
public:
  explicit VisibleRows(const AttentionBiasSpec &spec) : spec_(spec) {
    if (spec.window > 0)
      window_.left = spec.window - 1;
    band_ = spec.causal ? window_.intersect(kCausalBand) : window_;
  }

  bool contains(int64_t entry, int64_t position, int64_t row) const {
    if (spec_.padding.defined() && spec_.padding.as<uint8_t>()[entry * spec_.maxRows + row])
      return false;
    if (range(band_, entry, position).contains(row))
      return true;
    const Band limit = spec_.blocksIgnoreWindow ? Band() : window_;
    return inOneBlock(entry, position, row) && range(limit, entry, position).contains(row);
  }

private:
  KeyRange range(Band band, int64_t entry, int64_t position) const {
    return BandFrame{band, position, 0, spec_.valid.as<int64_t>()[entry]}.rowRange(0);
  }

  bool inOneBlock(int64_t entry, int64_t position, int64_t row) const {
    if (!spec_.blocks.defined())
      return false;
    const int64_t *blocks = spec_.blocks.as<int64_t>() + entry * spec_.maxRows;
    return blocks[row] >= 0 && blocks[row] == blocks[position];
  }

  const AttentionBiasSpec &spec_;
  Band window_, band_;
};

void require(bool holds, const char *item, const std::string &what) {
  if (!holds)
    throw Error(what).at(item);
}

void check(const AttentionBiasSpec &spec) {
  require(spec.dtype == DType::kF32 || spec.dtype == DType::kF16 || spec.dtype == DType::kBF16,
          "dtype", "must be f32, f16 or bf16");
  require(spec.maxRows > 0, "maxRows", "must be positive");
  require(spec.window >= 0, "window", "must not be negative");
  require(spec.positions.dtype() == DType::kI64 && spec.positions.shape().size() == 2, "positions",
          "must be i64 [B, S]");
  const int64_t batch = spec.positions.shape()[0];
  require(spec.valid.dtype() == DType::kI64 && spec.valid.shape() == std::vector<int64_t>{batch},
          "valid", "must be i64 [" + std::to_string(batch) + "]");
  const std::vector<int64_t> rows{batch, spec.maxRows};
  const std::string rowsText =
      "[" + std::to_string(batch) + ", " + std::to_string(spec.maxRows) + "]";
  require(!spec.blocks.defined() ||
              (spec.blocks.dtype() == DType::kI64 && spec.blocks.shape() == rows),
          "blocks", "must be i64 " + rowsText);
  require(!spec.padding.defined() ||
              (spec.padding.dtype() == DType::kBool && spec.padding.shape() == rows),
          "padding", "must be bool " + rowsText);
  for (int64_t i = 0; i < batch; ++i) {
    const int64_t valid = spec.valid.as<int64_t>()[i];
    require(valid >= 0 && valid <= spec.maxRows, "valid",
            "value " + std::to_string(valid) + " of entry " + std::to_string(i) +
                " is out of range [0, " + std::to_string(spec.maxRows) + "]");
  }
  for (int64_t i = 0; i < spec.positions.count(); ++i) {
    const int64_t position = spec.positions.as<int64_t>()[i];
    require(position >= 0 && position < spec.maxRows, "positions",
            "value " + std::to_string(position) + " at index " + std::to_string(i) +
                " is out of range [0, " + std::to_string(spec.maxRows) + ")");
  }
}

template <class T> void fill(const AttentionBiasSpec &spec, T *out, T hidden) {
  const VisibleRows visible(spec);
  const int64_t batch = spec.positions.shape()[0], queries = spec.positions.shape()[1];
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < queries; ++i) {
      const int64_t position = spec.positions.as<int64_t>()[b * queries + i];
      for (int64_t j = 0; j < spec.maxRows; ++j)
        *out++ = visible.contains(b, position, j) ? T() : hidden;
    }
}

Tensor makeBias(const AttentionBiasSpec &spec) {
  check(spec);
  Tensor bias = Tensor::zeros(
      spec.dtype, {spec.positions.shape()[0], 1, spec.positions.shape()[1], spec.maxRows});
  if (!bias.defined())
    throw Error("out of memory: the bias is too large", Error::Kind::kOutOfMemory);
  const float hidden = -std::numeric_limits<float>::infinity();
  if (spec.dtype == DType::kF32)
    fill<float>(spec, bias.as<float>(), hidden);
  else
    fill<uint16_t>(spec, bias.as<uint16_t>(),
                   spec.dtype == DType::kF16 ? floatToHalf(hidden) : floatToBFloat16(hidden));
  return bias;
}

} // namespace

Result<Tensor> makeAttentionBias(const AttentionBiasSpec &spec) {
  Tensor bias;
  const Status status = detail::guarded("", [&] { bias = makeBias(spec); });
  if (!status)
    return status.error();
  return bias;
}

} // namespace engine
