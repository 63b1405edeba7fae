// ai.onnx Attention 23, 24 and 25.
#include "frontend/attention.h"

#include "frontend/operands.h"
#include "frontend/qkv.h"
#include "ir/build_sdpa.h"

namespace engine::frontend {

using ir::Dim;
using ir::ValueId;

namespace {

constexpr Input kQuery{0, "Q"};
constexpr Input kKey{1, "K"};
constexpr Input kValue{2, "V"};
constexpr Input kMask{3, "attn_mask"};
constexpr Input kPastKey{4, "past_key"};
constexpr Input kPastValue{5, "past_value"};
constexpr Input kNonpad{6, "nonpad_kv_seqlen"};

constexpr ir::Scores kScoreModes[] = {ir::Scores::kRaw, ir::Scores::kCapped, ir::Scores::kBiased,
                                      ir::Scores::kProbabilities};

// -1 leaves a side open.
int64_t windowSide(const ImportContext &ctx, const char *name) {
  if (ctx.opset < 25)
    return Band::kOpen;
  const int64_t size = ctx.attrs.integer(name, -1);
  if (size < -1)
    refuseValue(name, size, "at least -1");
  return size < 0 ? Band::kOpen : size;
}

Band bandOf(const ImportContext &ctx) {
  const Band window{windowSide(ctx, "left_window_size"), windowSide(ctx, "right_window_size")};
  return ctx.attrs.flag("is_causal", false) ? window.intersect(kCausalBand) : window;
}

// The softmax is computed in f32 at least, whichever of the types is asked for.
void checkPrecision(const ImportContext &ctx) {
  const std::optional<int64_t> type = ctx.attrs.integer("softmax_precision");
  if (type && *type != 1 && *type != 10 && *type != 11 && *type != 16)
    refuseValue("softmax_precision", *type, "1, 10, 11 or 16");
}

ir::Scores scoresOf(const ImportContext &ctx) {
  const int64_t mode = ctx.attrs.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    refuseValue("qk_matmul_output_mode", mode, "0 to 3");
  return ctx.wants(kScores) ? kScoreModes[mode] : ir::Scores::kNone;
}

// The type that two float types are computed in.
DType widerType(DType a, DType b) {
  if (a == b)
    return a;
  return a == DType::kF64 || b == DType::kF64 ? DType::kF64 : DType::kF32;
}

class AttentionImporter {
public:
  explicit AttentionImporter(ImportContext &ctx)
      : ctx_(ctx), past_(ctx.has(kPastKey.index)), external_(ctx.has(kNonpad.index)) {}

  void run() {
    checkPresence();
    readQuery();
    readKeysAndValues();
    readPast();
    readMask();
    readLengths();
    updateCache(ctx_, kPastKey, kPastValue, k_, v_); // once everything is checked
    attend();
  }

private:
  bool has(Input input) const { return ctx_.has(input.index); }

  void checkPresence() const {
    for (Input input : {kQuery, kKey, kValue})
      ctx_.required(input.index, input.name);
    expectTogether(ctx_, kPastKey, kPastValue);
    if (past_ && external_)
      refuseInput(kNonpad.name,
                  "given together with input 'past_key', expected only one of the two");
  }

  // Heads by the attribute where rows come first, else by the shape, which the attribute must not
  // contradict.
  Dim headsOf(Input input, const char *attribute) const {
    const ir::Fact &fact = ctx_.fact(input.index);
    const int64_t asked = ctx_.attrs.integer(attribute, 0);
    if (asked < 0)
      refuseValue(attribute, asked, "at least 1");
    if (rowsFirst_) {
      if (asked == 0)
        refuseAttribute(attribute, "missing, expected with inputs of rank 3");
      return asked;
    }
    if (asked != 0 && fact.shape[1].isConstant() && !fact.shape[1].is(asked))
      refuseValue(attribute, asked, fact.shape[1].str() + " as input '" + input.name + "' has");
    return fact.shape[1];
  }

  // [B, heads, rows, H] of an input in either layout.
  ValueId headsFirst(Input input, const Dim &heads, const char *suffix) {
    const ValueId x = ctx_.input(input.index);
    if (!rowsFirst_)
      return x;
    const Dim width = partWidth(ctx_.fact(input.index), *heads.constant(), input.name);
    const ValueId split =
        splitHeads(ctx_, x, *heads.constant(), width, std::string(suffix) + "_heads");
    return exchangeHeadsAndRows(ctx_, split, suffix);
  }

  void readQuery() {
    const ir::Fact &fact = ctx_.fact(kQuery.index);
    if (fact.rank() != 3 && fact.rank() != 4)
      refuseInput(kQuery.name, "shape " + ir::str(fact.shape) + ", expected rank 3 or 4");
    rowsFirst_ = fact.rank() == 3;
    type_ = fact.dtype;
    for (Input input : {kKey, kValue})
      expectRank(ctx_, input, fact.rank());
    heads_ = headsOf(kQuery, "q_num_heads");
    kvHeads_ = headsOf(kKey, "kv_num_heads");
    const bool known = heads_.isConstant() && kvHeads_.isConstant();
    if (known && (kvHeads_.is(0) || *heads_.constant() % *kvHeads_.constant() != 0))
      refuseInput(kKey.name,
                  kvHeads_.str() + " heads, expected a divisor of the query's " + heads_.str());
    q_ = headsFirst(kQuery, heads_, "q");
    const ir::Shape shape = ctx_.b.fact(q_).shape;
    batch_ = shape[0];
    queries_ = shape[2];
    headSize_ = shape[3];
  }

  void readKeysAndValues() {
    expectType(ctx_, kKey, type_);
    valueType_ = ctx_.fact(kValue.index).dtype;
    if (!isFloat(valueType_))
      refuseInput(kValue.name,
                  std::string("type ") + dtypeLongName(valueType_) + ", expected a float type");
    k_ = headsFirst(kKey, kvHeads_, "k");
    v_ = headsFirst(kValue, kvHeads_, "v");
    const ir::Shape keyShape = ctx_.b.fact(k_).shape;
    const ir::Shape valueShape = ctx_.b.fact(v_).shape;
    newRows_ = keyShape[2];
    k_ = checkDims(ctx_, k_, keyShape, {batch_, kvHeads_, newRows_, headSize_}, kKey.name);
    v_ = checkDims(ctx_, v_, valueShape, {batch_, kvHeads_, newRows_, valueShape[3]}, kValue.name);
  }

  // The checks hang on the new rows: one on the cache would hide that past and present are one
  // buffer.
  void readPast() {
    rows_ = newRows_;
    if (!past_)
      return;
    expectType(ctx_, kPastKey, type_);
    expectType(ctx_, kPastValue, valueType_);
    expectRank(ctx_, kPastKey, 4);
    pastRows_ = ctx_.fact(kPastKey.index).shape[2];
    rows_ = pastRows_ + newRows_;
    const Dim valueWidth = ctx_.b.fact(v_).shape[3];
    k_ = checkDims(ctx_, k_, ctx_.fact(kPastKey.index).shape,
                   {batch_, kvHeads_, pastRows_, headSize_}, kPastKey.name);
    v_ = checkDims(ctx_, v_, ctx_.fact(kPastValue.index).shape,
                   {batch_, kvHeads_, pastRows_, valueWidth}, kPastValue.name);
  }

  // A bool mask hides, a float mask is added. Ranks 1 to 4, aligned at the end; columns may be
  // missing: those are hidden.
  void readMask() {
    if (!has(kMask))
      return;
    const ir::Fact &fact = ctx_.fact(kMask.index);
    const int rank = fact.rank();
    if (rank < 1 || rank > 4)
      refuseInput(kMask.name, "shape " + ir::str(fact.shape) + ", expected rank 1 to 4");
    const DimRule all[] = {DimRule::broadcast(batch_), DimRule::broadcast(heads_),
                           DimRule::broadcast(queries_), DimRule::atMost(rows_)};
    const DType type = fact.dtype;
    if (type != DType::kBool && !isFloat(type))
      refuseInput(kMask.name,
                  std::string("type ") + dtypeLongName(type) + ", expected bool or a float type");
    const ValueId mask = checkedInput(ctx_, kMask, llvm::ArrayRef<DimRule>(all).take_back(rank));
    (type == DType::kBool ? mask_ : bias_) = mask;
  }

  void readLengths() {
    if (!external_)
      return;
    expectType(ctx_, kNonpad, DType::kI64);
    keyLen_ = keyCounts(ctx_, kNonpad, batch_, rows_);
  }

  void attend() {
    checkPrecision(ctx_);
    const DType wide = widerType(type_, valueType_);
    const bool casts = wide != type_;
    ir::SdpaParts parts;
    parts.q = asType(ctx_, q_, wide, "q_cast");
    parts.k = asType(ctx_, k_, wide, "k_cast");
    parts.v = asType(ctx_, v_, wide, "v_cast");
    parts.bias = bias_;
    parts.mask = mask_;
    parts.keyLen = keyLen_;
    parts.scale = ctx_.attrs.real("scale");
    parts.softcap = ctx_.attrs.real("softcap", 0.0f);
    parts.band = bandOf(ctx_);
    parts.anchor = external_ ? ir::Anchor::kKeyEnd : ir::Anchor::kOffset;
    parts.offset = pastRows_;
    parts.scores = scoresOf(ctx_);
    parts.scoreColumns = parts.scores == ir::Scores::kNone ? Dim(0) : rows_;
    parts.name = rowsFirst_ || casts ? "" : ctx_.outputName(kOut);
    parts.scoresName = casts ? "" : ctx_.outputName(kScores);
    const ir::SdpaResults results = ir::buildSdpa(ctx_.b, parts);
    setOutputs(results, casts);
  }

  void setOutputs(const ir::SdpaResults &results, bool casts) {
    ValueId y = results.y;
    if (casts)
      y = ctx_.b.add1(ir::Cast{type_}, {y}, "y_cast", rowsFirst_ ? "" : ctx_.outputName(kOut));
    if (rowsFirst_)
      y = mergeHeads(ctx_, y, "merged", ctx_.outputName(kOut));
    ctx_.set(kOut, y);
    if (!ctx_.wants(kScores))
      return;
    ctx_.set(kScores, casts ? ctx_.b.add1(ir::Cast{type_}, {results.scores}, "scores_cast",
                                          ctx_.outputName(kScores))
                            : results.scores);
  }

  ImportContext &ctx_;
  const bool past_, external_; // past_key is there, nonpad_kv_seqlen is there
  bool rowsFirst_ = false;     // inputs [B, rows, heads * H]
  DType type_ = DType::kUndefined, valueType_ = DType::kUndefined;
  Dim batch_, heads_, kvHeads_, queries_, headSize_;
  Dim newRows_, pastRows_, rows_; // rows_: of all keys
  ValueId q_, k_, v_, bias_, mask_, keyLen_;
};

constexpr const char *kAttributes23 =
    "is_causal:int kv_num_heads:int q_num_heads:int qk_matmul_output_mode:int scale:float "
    "softcap:float softmax_precision:int";
constexpr const char *kAttributes25 =
    "is_causal:int kv_num_heads:int q_num_heads:int qk_matmul_output_mode:int scale:float "
    "softcap:float softmax_precision:int left_window_size:int right_window_size:int";
constexpr const char *kTypes = "f32 f16 bf16 f64";
constexpr const char *kRefusals =
    "nonpad_kv_seqlen with past_key; masks of rank 0 or above 4; masks of integers";

} // namespace

void importAttention(ImportContext &ctx) { AttentionImporter(ctx).run(); }

llvm::ArrayRef<ImporterRow> attentionImporters() {
  static const ImporterRow kRows[] = {
      {"", "Attention", 23, 23, 3, 6, 4, kAttributes23, kTypes, importAttention, kRefusals},
      {"", "Attention", 24, 24, 3, 7, 4, kAttributes23, kTypes, importAttention, kRefusals},
      {"", "Attention", 25, kLatest, 3, 7, 4, kAttributes25, kTypes, importAttention, kRefusals},
      {"com.microsoft", "MultiHeadAttention", 1, kLatest, 1, 10, 4,
       "num_heads:int scale:float unidirectional:int mask_filter_value:float", "f32 f16 bf16",
       importMultiHeadAttention,
       "key_padding_mask of shape (3 * batch + 2) or of rank 3; cache_indirection; "
       "past_sequence_length; a mask_filter_value other than -10000"}};
  return kRows;
}

} // namespace engine::frontend
