// com.microsoft.MultiHeadAttention: separate, packed and projected inputs, padding masks, past and
// present.
#include "frontend/attention.h"
#include "frontend/qkv.h"
#include "ir/build_sdpa.h"

namespace engine::frontend {

using ir::Dim;
using ir::ValueId;

namespace {

constexpr Input kQuery{0, "query"};
constexpr Input kKey{1, "key"};
constexpr Input kValue{2, "value"};
constexpr Input kBias{3, "bias"};
constexpr Input kPadding{4, "key_padding_mask"};
constexpr Input kAttentionBias{5, "attention_bias"};
constexpr Input kPastKey{6, "past_key"};
constexpr Input kPastValue{7, "past_value"};
constexpr Input kPastLength{8, "past_sequence_length"};
constexpr Input kIndirection{9, "cache_indirection"};

constexpr float kDefaultFilter = -10000.0f;

std::string shapeText(const ImportContext &ctx, Input input) {
  return "shape " + ir::str(ctx.fact(input.index).shape);
}

class MultiHeadImporter {
public:
  explicit MultiHeadImporter(ImportContext &ctx)
      : ctx_(ctx), heads_(ctx.attrs.requiredInteger("num_heads")), past_(ctx.has(kPastKey.index)) {}

  void run() {
    checkAttributes();
    checkPresence();
    readProjections();
    addProjectionBias();
    turnHeadsFirst();
    readPast();
    readPadding();
    readAttentionBias();
    updateCache(ctx_, kPastKey, kPastValue, k_, v_); // once everything is checked
    attend();
  }

private:
  bool has(Input input) const { return ctx_.has(input.index); }

  void checkAttributes() const {
    if (heads_ < 1)
      refuseValue("num_heads", heads_, "at least 1");
    const float filter = ctx_.attrs.real("mask_filter_value", kDefaultFilter);
    if (filter != kDefaultFilter)
      refuseAttribute("mask_filter_value", "value " + std::to_string(filter) +
                                               ", expected the default -10000: what a mask hides "
                                               "is left out, not filled in");
  }

  void checkPresence() const {
    ctx_.required(kQuery.index, kQuery.name);
    for (Input input : {kPastLength, kIndirection})
      if (has(input))
        refuseInput(input.name, "given, expected none: caches are not shared between beams");
    expectTogether(ctx_, kPastKey, kPastValue);
  }

  // q_, k_, v_ [B, rows, heads, H], save for keys and values that come with heads first.
  void readProjections() {
    type_ = ctx_.fact(kQuery.index).dtype;
    for (Input input : {kKey, kValue})
      if (has(input))
        expectType(ctx_, input, type_);
    if (ctx_.fact(kQuery.index).rank() == 5)
      return readPackedQuery();
    expectRank(ctx_, kQuery, 3);
    ctx_.required(kKey.index, kKey.name);
    headSize_ = partWidth(ctx_.fact(kQuery.index), heads_, kQuery.name);
    q_ = splitHeads(ctx_, ctx_.input(kQuery.index), heads_, headSize_, "q_heads");
    batch_ = ctx_.b.fact(q_).shape[0];
    queries_ = ctx_.b.fact(q_).shape[1];
    switch (ctx_.fact(kKey.index).rank()) {
    case 3:
      return readSeparate();
    case 4:
      return readHeadsFirst();
    case 5:
      return readPackedKey();
    default:
      refuseInput(kKey.name, shapeText(ctx_, kKey) + ", expected rank 3, 4 or 5");
    }
  }

  ValueId packedPart(ValueId all, int64_t part, const char *suffix) {
    const ir::Shape shape = ctx_.b.fact(all).shape;
    const ValueId slice = sliceAxis(ctx_, all, 3, part, 1, std::string(suffix) + "_part");
    return ctx_.add(ir::Reshape{{shape[0], shape[1], shape[2], shape[4]}}, {slice},
                    std::string(suffix) + "_heads");
  }

  void readPackedQuery() {
    for (Input input : {kKey, kValue})
      if (has(input))
        refuseInput(input.name, "given, expected none as the query is packed");
    const ir::Shape shape = ctx_.fact(kQuery.index).shape;
    batch_ = shape[0];
    queries_ = newRows_ = shape[1];
    headSize_ = valueSize_ = shape[4];
    const ValueId all =
        checkedInput(ctx_, kQuery, {batch_, queries_, Dim(heads_), Dim(3), headSize_});
    q_ = packedPart(all, 0, "q");
    k_ = packedPart(all, 1, "k");
    v_ = packedPart(all, 2, "v");
  }

  void readPackedKey() {
    if (has(kValue))
      refuseInput(kValue.name, "given, expected none as the key is packed");
    newRows_ = ctx_.fact(kKey.index).shape[1];
    valueSize_ = headSize_;
    const ValueId all =
        checkedInput(ctx_, kKey, {batch_, newRows_, Dim(heads_), Dim(2), headSize_});
    k_ = packedPart(all, 0, "k");
    v_ = packedPart(all, 1, "v");
  }

  void readSeparate() {
    ctx_.required(kValue.index, kValue.name);
    expectRank(ctx_, kValue, 3);
    newRows_ = ctx_.fact(kKey.index).shape[1];
    valueSize_ = partWidth(ctx_.fact(kValue.index), heads_, kValue.name);
    const ValueId key = checkedInput(ctx_, kKey, {batch_, newRows_, headSize_ * heads_});
    const ValueId value = checkedInput(ctx_, kValue, {batch_, newRows_, valueSize_ * heads_});
    k_ = splitHeads(ctx_, key, heads_, headSize_, "k_heads");
    v_ = splitHeads(ctx_, value, heads_, valueSize_, "v_heads");
  }

  void readHeadsFirst() {
    ctx_.required(kValue.index, kValue.name);
    expectRank(ctx_, kValue, 4);
    newRows_ = ctx_.fact(kKey.index).shape[2];
    valueSize_ = ctx_.fact(kValue.index).shape[3];
    k_ = checkedInput(ctx_, kKey, {batch_, Dim(heads_), newRows_, headSize_});
    v_ = checkedInput(ctx_, kValue, {batch_, Dim(heads_), newRows_, valueSize_});
    projected_ = true;
  }

  // The bias of the projections that were left out of the graph: q's, k's and v's channels one
  // after the other. Keys and values with heads first are projected already.
  void addProjectionBias() {
    if (!has(kBias))
      return;
    expectType(ctx_, kBias, type_);
    const Dim width = headSize_ * heads_;
    const Dim valueWidth = valueSize_ * heads_;
    const ValueId bias = checkedInput(ctx_, kBias, {width + width + valueWidth});
    q_ = biased(q_, bias, 0, headSize_, "q");
    if (projected_)
      return;
    k_ = biased(k_, bias, width, headSize_, "k");
    v_ = biased(v_, bias, width + width, valueSize_, "v");
  }

  ValueId biased(ValueId x, ValueId bias, const Dim &start, const Dim &size, const char *suffix) {
    const std::string name = std::string(suffix) + "_bias";
    const ValueId part = sliceAxis(ctx_, bias, 0, start, size * heads_, name + "_part");
    const ValueId perHead = ctx_.add(ir::Reshape{{heads_, size}}, {part}, name);
    return ctx_.add(ir::Binary{ir::BinaryKind::kAdd}, {x, perHead}, name + "ed");
  }

  void turnHeadsFirst() {
    q_ = exchangeHeadsAndRows(ctx_, q_, "q");
    if (projected_)
      return;
    k_ = exchangeHeadsAndRows(ctx_, k_, "k");
    v_ = exchangeHeadsAndRows(ctx_, v_, "v");
  }

  // The checks hang on the new rows: one on the cache would hide that past and present are one
  // buffer.
  void readPast() {
    rows_ = newRows_;
    if (!past_)
      return;
    for (Input input : {kPastKey, kPastValue})
      expectType(ctx_, input, type_);
    expectRank(ctx_, kPastKey, 4);
    pastRows_ = ctx_.fact(kPastKey.index).shape[2];
    rows_ = pastRows_ + newRows_;
    k_ = checkDims(ctx_, k_, ctx_.fact(kPastKey.index).shape,
                   {batch_, Dim(heads_), pastRows_, headSize_}, kPastKey.name);
    v_ = checkDims(ctx_, v_, ctx_.fact(kPastValue.index).shape,
                   {batch_, Dim(heads_), pastRows_, valueSize_}, kPastValue.name);
  }

  // (B): valid keys. (B, T): 0 hides. (B, L): the same for the new keys, behind a past that is all
  // visible.
  void readPadding() {
    if (!has(kPadding))
      return;
    expectType(ctx_, kPadding, DType::kI32);
    const ir::Shape shape = ctx_.fact(kPadding.index).shape;
    if (shape.size() == 1) {
      keyLen_ = keyCounts(ctx_, kPadding, batch_, rows_);
      return;
    }
    if (shape.size() != 2)
      refuseInput(kPadding.name, shapeText(ctx_, kPadding) + ", expected [" + batch_.str() +
                                     "] or [" + batch_.str() + ", " + rows_.str() + "]");
    const Dim columns = shape[1];
    const ValueId checked = checkedInput(ctx_, kPadding, {batch_, paddingColumns(columns)});
    ValueId visible = ctx_.add(ir::Cast{DType::kBool}, {checked}, "key_visible");
    if (past_ && columns != rows_)
      visible = behindVisiblePast(visible, rows_ - columns);
    mask_ = ctx_.add(ir::Reshape{{batch_, 1, 1, rows_}}, {visible}, "key_mask");
  }

  // A padding mask is as long as the new keys, or as all. Where symbols leave open which, the
  // lengths decide when they are known.
  Dim paddingColumns(const Dim &columns) const {
    if (!past_)
      return rows_;
    if (columns == rows_ || columns == newRows_)
      return columns;
    const Dim missing = Dim::min(Dim::max(rows_ - columns, 0), 1);
    return rows_ - pastRows_ * missing;
  }

  ValueId behindVisiblePast(ValueId visible, const Dim &pastColumns) {
    const uint8_t yes = 1;
    const ValueId one = ctx_.b.constant(ir::makeConst(DType::kBool, {}, &yes, 1), "visible");
    const ValueId past = ctx_.add(ir::Fill{{batch_, pastColumns}}, {one}, "past_visible");
    return ctx_.add(ir::Concat{1}, {past, visible}, "all_visible");
  }

  void readAttentionBias() {
    if (!has(kAttentionBias))
      return;
    expectType(ctx_, kAttentionBias, type_);
    attentionBias_ =
        checkedInput(ctx_, kAttentionBias,
                     {DimRule::broadcast(batch_), DimRule::broadcast(heads_), queries_, rows_});
  }

  void attend() {
    ir::SdpaParts parts;
    parts.q = q_;
    parts.k = k_;
    parts.v = v_;
    parts.bias = attentionBias_;
    parts.mask = mask_;
    parts.keyLen = keyLen_;
    if (const float scale = ctx_.attrs.real("scale", 0.0f); scale != 0)
      parts.scale = scale;
    if (ctx_.attrs.flag("unidirectional", false))
      parts.band = kCausalBand;
    parts.offset = pastRows_;
    if (ctx_.wants(kScores)) {
      parts.scores = ir::Scores::kBiased;
      parts.scoreColumns = rows_;
      parts.scoresName = ctx_.outputName(kScores);
    }
    const ir::SdpaResults results = ir::buildSdpa(ctx_.b, parts);
    ctx_.set(kOut, mergeHeads(ctx_, results.y, "output", ctx_.outputName(kOut)));
    if (ctx_.wants(kScores))
      ctx_.set(kScores, results.scores);
  }

  ImportContext &ctx_;
  const int64_t heads_;
  const bool past_;
  bool projected_ = false; // keys and values come [B, heads, rows, H]
  DType type_ = DType::kUndefined;
  Dim batch_, queries_, headSize_, valueSize_;
  Dim newRows_, pastRows_, rows_; // rows_: of all keys
  ValueId q_, k_, v_, mask_, keyLen_, attentionBias_;
};

} // namespace

void importMultiHeadAttention(ImportContext &ctx) { MultiHeadImporter(ctx).run(); }

} // namespace engine::frontend
