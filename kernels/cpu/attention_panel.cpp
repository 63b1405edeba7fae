// Tile operations on packed panels, for every element type widened to f32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_panel.cpp"
#include "hwy/foreach_target.h"

#include "kernels/cpu/attention_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace engine::cpu::attn {
namespace HWY_NAMESPACE {

// --- Packing -------------------------------------------------------------------------------------

void toFloat(DType type, const void *from, int64_t count, float *to) {
  widen(type, from, count, to);
}

// The scale of a quantised cache belongs to channels, so it moves to the query.
void packQuery(DType type, const void *query, int64_t headSize, const float *keyScale,
               int64_t keyScaleStride, void *packed) {
  float *to = static_cast<float *>(packed);
  widen(type, query, headSize, to);
  for (int64_t c = headSize; c < queryStride(headSize); ++c)
    to[c] = 0;
  if (!keyScale)
    return;
  for (int64_t c = 0; c < headSize; ++c)
    to[c] *= keyScale[c * keyScaleStride];
}

// Row as f32: in place, or widened into temp.
HWY_INLINE const float *floatRow(DType type, const void *row, int64_t headSize, float *temp) {
  if (type == DType::kF32 && row)
    return static_cast<const float *>(row);
  if (row)
    widen(type, row, headSize, temp);
  else
    std::memset(temp, 0, headSize * sizeof(float));
  return temp;
}

// Four rows of keys become four columns.
HWY_INLINE void transposeRows4(const float *const (&rows)[4], int64_t headSize, float *to) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> d2;
  int64_t c = 0;
  for (; c + 4 <= headSize; c += 4) {
    const auto a = hn::LoadU(d, rows[0] + c);
    const auto b = hn::LoadU(d, rows[1] + c);
    const auto e = hn::LoadU(d, rows[2] + c);
    const auto f = hn::LoadU(d, rows[3] + c);
    const auto abLow = hn::BitCast(d2, hn::InterleaveLower(d, a, b));
    const auto abHigh = hn::BitCast(d2, hn::InterleaveUpper(d, a, b));
    const auto efLow = hn::BitCast(d2, hn::InterleaveLower(d, e, f));
    const auto efHigh = hn::BitCast(d2, hn::InterleaveUpper(d, e, f));
    float *column = to + c * kStrip;
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, abLow, efLow)), d, column);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, abLow, efLow)), d, column + kStrip);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, abHigh, efHigh)), d, column + 2 * kStrip);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, abHigh, efHigh)), d, column + 3 * kStrip);
  }
  for (; c < headSize; ++c) {
    for (int i = 0; i < 4; ++i)
      to[c * kStrip + i] = rows[i][c];
  }
}

void packKeys(DType type, const void *const *rows, int64_t headSize, void *panel, float *temp) {
  float *to = static_cast<float *>(panel);
  const int64_t tempStride = roundUp(headSize, kStrip);
  for (int key = 0; key < kTileKeys; key += 4) {
    const float *four[4];
    for (int i = 0; i < 4; ++i)
      four[i] = floatRow(type, rows[key + i], headSize, temp + i * tempStride);
    transposeRows4(four, headSize, to + key / kStrip * headSize * kStrip + key % kStrip);
  }
}

// Copies one strip of a row and pads it with zeros. Returns the values times zero: zero, or NaN
// where one is not finite.
HWY_INLINE VF copyStrip(const float *from, int64_t count, float *to) {
  const F d;
  if (count < kStrip) {
    std::memcpy(to, from, count * sizeof(float));
    std::memset(to + count, 0, (kStrip - count) * sizeof(float));
    from = to;
  }
  VF check = hn::Zero(d);
  for (int c = 0; c < kStrip; c += kLanes) {
    const VF x = hn::LoadU(d, from + c);
    check = hn::MulAdd(x, hn::Zero(d), check);
    hn::StoreU(x, d, to + c);
  }
  return check;
}

bool packValues(DType type, const void *const *rows, int64_t headSize, void *panel, float *temp) {
  const F d;
  float *to = static_cast<float *>(panel);
  VF check = hn::Zero(d);
  for (int key = 0; key < kTileKeys; ++key) {
    const float *row = floatRow(type, rows[key], headSize, temp);
    for (int64_t c = 0; c < headSize; c += kStrip) {
      const int64_t count = headSize - c < kStrip ? headSize - c : kStrip;
      check = hn::Add(check, copyStrip(row + c, count, to + (c * kTileKeys + key * kStrip)));
    }
  }
  return hn::AllTrue(d, hn::Eq(check, hn::Zero(d)));
}

// --- Products ------------------------------------------------------------------------------------

constexpr int kRowBlock = kManyRegisters ? 8 : 6;
constexpr int kColumnBlock = 2 * kLanes;

// c[kRowBlock][kColumnBlock] (+)= a[kRowBlock][depth] * b[depth][kColumnBlock of kStrip].
template <bool kAccumulate>
HWY_INLINE void blockProduct(const float *HWY_RESTRICT a, int64_t aStride,
                             const float *HWY_RESTRICT b, int64_t depth, float *HWY_RESTRICT c,
                             int64_t cStride) {
  const F d;
  VF sums[kRowBlock][2];
  HWY_UNROLL(8)
  for (int i = 0; i < kRowBlock; ++i) {
    sums[i][0] = kAccumulate ? hn::LoadU(d, c + i * cStride) : hn::Zero(d);
    sums[i][1] = kAccumulate ? hn::LoadU(d, c + i * cStride + kLanes) : hn::Zero(d);
  }
  for (int64_t k = 0; k < depth; ++k) {
    const VF b0 = hn::LoadU(d, b + k * kStrip);
    const VF b1 = hn::LoadU(d, b + k * kStrip + kLanes);
    HWY_UNROLL(8)
    for (int i = 0; i < kRowBlock; ++i) {
      const VF x = hn::Set(d, a[i * aStride + k]);
      sums[i][0] = hn::MulAdd(x, b0, sums[i][0]);
      sums[i][1] = hn::MulAdd(x, b1, sums[i][1]);
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < kRowBlock; ++i) {
    hn::StoreU(sums[i][0], d, c + i * cStride);
    hn::StoreU(sums[i][1], d, c + i * cStride + kLanes);
  }
}

void scores(const void *queries, int rows, const void *keyPanel, int64_t headSize,
            const BlockSpans &columns, float *scores) {
  const float *query = static_cast<const float *>(queries);
  const float *panel = static_cast<const float *>(keyPanel);
  const int64_t stride = queryStride(headSize);
  for (int column = 0; column < kTileKeys; column += kColumnBlock) {
    const float *strip = panel + column / kStrip * headSize * kStrip + column % kStrip;
    for (int row = 0; row < rows; row += kRowBlock) {
      const Span needed = columns.of[row / kRowBlock];
      if (column < needed.end && needed.begin < column + kColumnBlock)
        blockProduct<false>(query + row * stride, stride, strip, headSize,
                            scores + row * kTileKeys + column, kTileKeys);
    }
  }
}

void accumulate(const float *weights, int rows, const void *valuePanel, int64_t headSize,
                const BlockSpans &columns, float *out, int64_t outStride, void *) {
  const float *panel = static_cast<const float *>(valuePanel);
  for (int64_t channel = 0; channel < headSize; channel += kColumnBlock) {
    const float *strip = panel + channel / kStrip * kStrip * kTileKeys + channel % kStrip;
    for (int row = 0; row < rows; row += kRowBlock) {
      const Span keys = columns.of[row / kRowBlock];
      blockProduct<true>(weights + row * kTileKeys + keys.begin, kTileKeys,
                         strip + keys.begin * kStrip, keys.end - keys.begin,
                         out + row * outStride + channel, outStride);
    }
  }
}

// --- Softmax -------------------------------------------------------------------------------------

// Bias of the columns in `span`; values elsewhere have no meaning. Only visible elements are read.
HWY_INLINE const float *biasOf(const SoftmaxStep &step, int row, Span span, Span columns,
                               float *temp) {
  const RowTile &rows = *step.rows;
  const int64_t size = dtypeInfo(rows.biasType).bits / 8;
  const int64_t first = (step.keys.firstKey + span.begin) * rows.biasStride * size;
  const char *from = static_cast<const char *>(rows.bias[row]) + first;
  const int count = span.end - span.begin;
  const bool whole = count == columns.end - columns.begin;
  if (whole && rows.biasStride == 1 && rows.biasType == DType::kF32)
    return reinterpret_cast<const float *>(from) - columns.begin;
  if (!whole)
    std::memset(temp, 0, kTileKeys * sizeof(float));
  if (rows.biasStride == 1) {
    widen(rows.biasType, from, count, temp + span.begin);
    return temp;
  }
  for (int c = 0; c < count; ++c)
    widen(rows.biasType, from + c * rows.biasStride * size, 1, temp + span.begin + c);
  return temp;
}

// Likewise for the mask.
HWY_INLINE void maskOf(const SoftmaxStep &step, int row, Span span, uint8_t *temp) {
  const RowTile &rows = *step.rows;
  const int64_t first = (step.keys.firstKey + span.begin) * rows.maskStride;
  const uint8_t *from = static_cast<const uint8_t *>(rows.mask[row]) + first;
  if (rows.maskStride == 1) {
    std::memcpy(temp + span.begin, from, span.end - span.begin);
    return;
  }
  for (int c = span.begin; c < span.end; ++c)
    temp[c] = from[(c - span.begin) * rows.maskStride];
}

// What turns a row of dot products into logits. Null and 0 are off.
struct LogitTerms {
  float scale;
  float softcap;
  const float *bias;   // of column 0
  const uint8_t *mask; // likewise
  Span span;           // what the band leaves
  bool clip;           // whether that is less than all columns
};

HWY_INLINE VF capped(VF x, float softcap) {
  const VF cap = hn::Set(F(), softcap);
  return hn::Mul(cap, tanhAll(hn::Div(x, cap)));
}

HWY_INLINE hn::Mask<F> maskHides(const uint8_t *mask) {
  const hn::Rebind<uint8_t, F> narrow;
  const auto byte = hn::PromoteTo(I(), hn::LoadU(narrow, mask));
  return hn::RebindMask(F(), hn::Eq(byte, hn::Zero(I())));
}

HWY_INLINE hn::Mask<F> spanHides(Span span, int column) {
  const I d;
  const auto index = hn::Iota(d, column);
  const auto below = hn::Lt(index, hn::Set(d, span.begin));
  const auto above = hn::Gt(index, hn::Set(d, span.end - 1));
  return hn::RebindMask(F(), hn::Or(below, above));
}

struct RowSummary {
  float max;
  bool hides; // bias or mask hid something
};

// Dot products become logits; what is hidden becomes -inf, whatever it was.
HWY_INLINE RowSummary makeLogits(const LogitTerms &terms, Span columns, float *row) {
  const F d;
  const VF lowest = hn::Set(d, -kInfinity);
  VF max = lowest;
  auto hidden = hn::Ne(lowest, lowest);
  for (int c = columns.begin; c < columns.end; c += kLanes) {
    VF x = hn::Mul(hn::LoadU(d, row + c), hn::Set(d, terms.scale));
    if (terms.softcap > 0)
      x = capped(x, terms.softcap);
    if (terms.bias) {
      const VF bias = hn::LoadU(d, terms.bias + c);
      const auto hides = hn::Eq(bias, lowest);
      hidden = hn::Or(hidden, hides);
      x = hn::IfThenElse(hides, lowest, hn::Add(x, bias));
    }
    if (terms.mask) {
      const auto hides = maskHides(terms.mask + c);
      hidden = hn::Or(hidden, hides);
      x = hn::IfThenElse(hides, lowest, x);
    }
    if (terms.clip)
      x = hn::IfThenElse(spanHides(terms.span, c), lowest, x);
    max = hn::Max(max, x);
    hn::StoreU(x, d, row + c);
  }
  return {hn::GetLane(hn::MaxOfLanes(d, max)), !hn::AllFalse(d, hidden)};
}

HWY_INLINE float maxOf(const float *row, Span columns) {
  const F d;
  VF max = hn::Set(d, -kInfinity);
  for (int c = columns.begin; c < columns.end; c += kLanes)
    max = hn::Max(max, hn::LoadU(d, row + c));
  return hn::GetLane(hn::MaxOfLanes(d, max));
}

// Elements become exp(scale * element - base); returns their sum.
HWY_INLINE float expRow(float *row, Span columns, float scale, float base) {
  const F d;
  const VF factor = hn::Set(d, scale);
  const VF shift = hn::Set(d, base);
  VF sum = hn::Zero(d);
  for (int c = columns.begin; c < columns.end; c += kLanes) {
    const VF weight = expNonPositive(hn::MulSub(hn::LoadU(d, row + c), factor, shift));
    sum = hn::Add(sum, weight);
    hn::StoreU(weight, d, row + c);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

HWY_INLINE void scaleOut(float *out, int64_t count, float factor) {
  const F d;
  const VF x = hn::Set(d, factor);
  for (int64_t c = 0; c < count; c += kLanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, out + c), x), d, out + c);
}

HWY_INLINE float expOne(float x) { return hn::GetLane(expNonPositive(hn::Set(F(), x))); }

// Brings one row, whose logits are scale * element, to the maximum of old and new logits. The
// maximum is subtracted before anything is scaled further: a row of lowest floats is an ordinary
// row.
HWY_INLINE void updateRow(float *row, Span columns, float scale, float rowMax,
                          const RowState &state, int i) {
  const float oldMax = state.max[i];
  const float newMax = rowMax > oldMax ? rowMax : oldMax;
  const float base = newMax == -kInfinity ? 0 : newMax;
  const float sum = expRow(row, columns, scale, base);
  if (newMax == oldMax && oldMax != kInfinity) {
    state.sum[i] += sum;
    return;
  }
  const float correction = expOne(oldMax - base);
  state.max[i] = newMax;
  state.sum[i] = state.sum[i] * correction + sum;
  scaleOut(state.out + i * state.outStride, state.outStride, correction);
}

// Bias rows lie far apart, which hides them from the hardware's prefetcher.
HWY_INLINE void prefetchBias(const SoftmaxStep &step, int row) {
  const RowTile &rows = *step.rows;
  if (row >= rows.rows || !rows.bias[row])
    return;
  const int64_t size = dtypeInfo(rows.biasType).bits / 8 * rows.biasStride;
  const char *from = static_cast<const char *>(rows.bias[row]) + step.keys.firstKey * size;
  for (int64_t byte = step.keys.columns.begin * size; byte < step.keys.columns.end * size;
       byte += 64)
    __builtin_prefetch(from + byte);
}

// The general row. Returns whether bias or mask hide anything.
HWY_INLINE bool softmaxRow(const SoftmaxStep &step, int i, Span span, Span columns, float *row,
                           const RowState &state) {
  HWY_ALIGN float bias[kTileKeys];
  uint8_t mask[kTileKeys];
  LogitTerms terms = {step.scale, step.softcap, nullptr, nullptr, span, false};
  terms.clip = span.begin != columns.begin || span.end != columns.end;
  if (step.rows->bias[i])
    terms.bias = biasOf(step, i, span, columns, bias);
  if (step.rows->mask[i]) {
    std::memset(mask, 1, sizeof mask);
    maskOf(step, i, span, mask);
    terms.mask = mask;
  }
  const RowSummary summary = makeLogits(terms, columns, row);
  updateRow(row, columns, 1, summary.max, state, i);
  return summary.hides;
}

bool softmax(const SoftmaxStep &step, float *scores, const RowState &state) {
  const RowTile &rows = *step.rows;
  const Span columns = wholeStrips(step.keys.columns);
  const bool allVisible = allSee(rows, step.keys, columns);
  // Then a positive scale goes with the exponent.
  const bool plain = allVisible && !rows.hasElementTests() && step.scale > 0 && step.softcap <= 0;
  bool hides = !allSee(rows, step.keys, step.keys.columns);
  for (int i = 0; i < rows.rows; ++i) {
    float *row = scores + i * kTileKeys;
    if (plain) {
      updateRow(row, columns, step.scale, maxOf(row, columns) * step.scale, state, i);
      continue;
    }
    prefetchBias(step, i + 2);
    const Span span = allVisible ? columns : spanOf(rows, step.keys, i);
    if (span.empty())
      std::memset(row + columns.begin, 0, (columns.end - columns.begin) * sizeof(float));
    else
      hides |= softmaxRow(step, i, span, columns, row, state);
  }
  return hides;
}

// Infinities and NaN times zero are NaN, and a sum keeps it.
bool allFinite(const float *values, int64_t count) {
  const F d;
  VF sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    sum = hn::MulAdd(hn::LoadU(d, values + i), hn::Zero(d), sum);
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < count; ++i)
    total += values[i] * 0.0f;
  return total == 0;
}

// --- Output --------------------------------------------------------------------------------------

// to = from * factor * channelScale, in f32; in place allowed.
HWY_INLINE void scaleChannels(const float *from, float factor, const float *channelScale,
                              int64_t channelScaleStride, int64_t count, float *to) {
  const F d;
  const VF x = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, from + i), x), d, to + i);
  for (; i < count; ++i)
    to[i] = from[i] * factor;
  for (i = 0; channelScale && i < count; ++i)
    to[i] *= channelScale[i * channelScaleStride];
}

void store(float *from, float factor, const float *channelScale, int64_t channelScaleStride,
           int64_t count, DType type, void *to) {
  float *scaled = type == DType::kF32 ? static_cast<float *>(to) : from;
  scaleChannels(from, factor, channelScale, channelScaleStride, count, scaled);
  if (type == DType::kF16)
    narrowToHalf(scaled, count, static_cast<uint16_t *>(to));
  else if (type == DType::kBF16)
    narrowToBFloat16(scaled, count, static_cast<uint16_t *>(to));
}

void setPanelOps(TileOps &ops) {
  ops.packQuery = packQuery;
  ops.packKeys = packKeys;
  ops.packValues = packValues;
  ops.rowBlock = kRowBlock;
  ops.scores = scores;
  ops.softmax = softmax;
  ops.accumulate = accumulate;
  ops.allFinite = allFinite;
  ops.toFloat = toFloat;
  ops.store = store;
}

} // namespace HWY_NAMESPACE
} // namespace engine::cpu::attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::cpu::attn {

void setPanelOps(Isa isa, TileOps &ops) {
#if HWY_TARGETS & HWY_AVX3
  if (isa >= Isa::kAvx512)
    return N_AVX3::setPanelOps(ops);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (isa >= Isa::kAvx2)
    return N_AVX2::setPanelOps(ops);
#endif
  static_cast<void>(isa);
  HWY_STATIC_DISPATCH(setPanelOps)(ops);
}

} // namespace engine::cpu::attn
#endif
