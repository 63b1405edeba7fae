// com.microsoft.GroupQueryAttention. What its lengths mean stands with ir::CacheLengths; its kernel
// checks their values before anything else runs. Here: shapes, types and attributes, and the
// wiring.
#include "frontend/qkv.h"
#include "ir/build_sdpa.h"

namespace engine::frontend {

using ir::Dim;
using ir::ValueId;

namespace {

constexpr Input kQuery{0, "query"};
constexpr Input kKey{1, "key"};
constexpr Input kValue{2, "value"};
constexpr Input kPastKey{3, "past_key"};
constexpr Input kPastValue{4, "past_value"};
constexpr Input kSeqlens{5, "seqlens_k"};
constexpr Input kTotal{6, "total_sequence_length"};
constexpr Input kCos{7, "cos_cache"};
constexpr Input kSin{8, "sin_cache"};
constexpr Input kPositions{9, "position_ids"};
constexpr Input kBias{10, "attention_bias"};
constexpr Input kSink{11, "head_sink"};
constexpr Input kKeyScale{12, "k_scale"};
constexpr Input kValueScale{13, "v_scale"};
constexpr Input kQueryNorm{14, "q_norm_weight"};
constexpr Input kKeyNorm{15, "k_norm_weight"};
constexpr Input kQuerySeqlens{16, "query_seqlens"};

struct GqaAttributes {
  int64_t heads, kvHeads;
  float scale, softcap;
  bool rotary, interleaved, causal, windowedCache, smoothSoftmax;
  int64_t window, scoreMode, cacheBits;
  std::string quantType; // of keys and values alike
  float queryEpsilon, keyEpsilon;

  bool quantised() const { return quantType != "NONE"; }
};

bool zeroOrOne(const Attributes &attrs, const char *name, int64_t otherwise) {
  const int64_t value = attrs.integer(name, otherwise);
  if (value != 0 && value != 1)
    refuseValue(name, value, "0 or 1");
  return value == 1;
}

int64_t positive(const Attributes &attrs, const char *name) {
  const int64_t value = attrs.requiredInteger(name);
  if (value < 1)
    refuseValue(name, value, "at least 1");
  return value;
}

float epsilonOf(const Attributes &attrs, const char *own, float shared) {
  const float value = attrs.real(own, shared);
  if (!(value > 0))
    refuseAttribute(attrs.has(own) ? own : "qk_norm_epsilon",
                    "value " + std::to_string(value) + ", expected a positive number");
  return value;
}

GqaAttributes readAttributes(const Attributes &attrs) {
  GqaAttributes a;
  a.heads = positive(attrs, "num_heads");
  a.kvHeads = positive(attrs, "kv_num_heads");
  a.scale = attrs.real("scale", 0.0f);
  a.softcap = attrs.real("softcap", 0.0f);
  a.rotary = zeroOrOne(attrs, "do_rotary", 0);
  a.interleaved = zeroOrOne(attrs, "rotary_interleaved", 0);
  a.causal = zeroOrOne(attrs, "causal", 1);
  a.windowedCache = zeroOrOne(attrs, "sliding_window_cache", 0);
  a.smoothSoftmax = attrs.integer("smooth_softmax", -1) == 1;
  a.window = attrs.integer("local_window_size", -1);
  a.scoreMode = attrs.integer("qk_output", 0);
  a.cacheBits = attrs.integer("kv_cache_bit_width", 0);
  a.quantType = attrs.text("k_quant_type", "NONE");
  const float epsilon = attrs.real("qk_norm_epsilon", 1e-6f);
  a.queryEpsilon = epsilonOf(attrs, "q_norm_epsilon", epsilon);
  a.keyEpsilon = epsilonOf(attrs, "k_norm_epsilon", epsilon);
  return a;
}

void checkQuantAttributes(const Attributes &attrs, const GqaAttributes &a) {
  if (a.quantType != "NONE" && a.quantType != "PER_TENSOR" && a.quantType != "PER_CHANNEL")
    refuseAttribute("k_quant_type",
                    "value '" + a.quantType + "', expected NONE, PER_TENSOR or PER_CHANNEL");
  const std::string valueType = attrs.text("v_quant_type", "NONE");
  if (valueType != a.quantType)
    refuseAttribute("v_quant_type",
                    "value '" + valueType + "', expected k_quant_type's '" + a.quantType + "'");
  if (a.quantised() && a.cacheBits != 4 && a.cacheBits != 8)
    refuseValue("kv_cache_bit_width", a.cacheBits, "4 or 8");
}

void checkAttributes(const ImportContext &ctx, const GqaAttributes &a) {
  if (a.heads % a.kvHeads != 0)
    refuseValue("kv_num_heads", a.kvHeads, "a divisor of num_heads " + std::to_string(a.heads));
  if (!a.causal && a.window != -1)
    refuseValue("local_window_size", a.window, "-1 where causal is 0");
  if (a.scoreMode < 0 || a.scoreMode > 2)
    refuseValue("qk_output", a.scoreMode, "0, 1 or 2");
  if (a.scoreMode != 0 && !ctx.wants(kScores))
    refuseValue("qk_output", a.scoreMode, "0 where output 'output_qk' is not connected");
  if (a.windowedCache && a.window <= 0)
    refuseValue("sliding_window_cache", 1,
                "0 where local_window_size is " + std::to_string(a.window));
  if (a.windowedCache && a.scoreMode != 0)
    refuseValue("qk_output", a.scoreMode, "0 where sliding_window_cache is 1");
  checkQuantAttributes(ctx.attrs, a);
}

class GqaImporter {
public:
  explicit GqaImporter(ImportContext &ctx)
      : ctx_(ctx), a_(readAttributes(ctx.attrs)), past_(ctx.has(kPastKey.index)),
        ragged_(ctx.has(kQuerySeqlens.index)) {}

  void run() {
    checkAttributes(ctx_, a_);
    checkPresence();
    readProjections();
    readLengths();
    readPast();
    readRotary();
    readMaskInputs();
    readScales();
    emitLengths();
    rotate();
    quantise();
    chooseKeys();
    attend();
    updatePresent();
  }

private:
  bool has(Input input) const { return ctx_.has(input.index); }
  bool borrowed() const { return newRows_.is(0); } // another layer's cache, nothing to write

  // `why` asks for an input or output that is not there.
  void need(bool there, Input input, const std::string &why) const {
    if (!there)
      refuseInput(input.name, "missing, expected with " + why);
  }
  void needPresent(const std::string &why) const {
    for (Output output : {kPresentKey, kPresentValue})
      if (!ctx_.wants(output))
        throw Error("missing, expected with " + why)
            .at(output == kPresentKey ? "output 'present_key'" : "output 'present_value'");
  }

  void checkPresence() const {
    ctx_.required(kQuery.index, kQuery.name);
    ctx_.required(kSeqlens.index, kSeqlens.name);
    ctx_.required(kTotal.index, kTotal.name);
    expectTogether(ctx_, kKey, kValue);
    expectTogether(ctx_, kPastKey, kPastValue);
    expectTogether(ctx_, kCos, kSin);
    expectTogether(ctx_, kQueryNorm, kKeyNorm);
    if (ctx_.wants(kPresentKey) != ctx_.wants(kPresentValue))
      needPresent("the other one");
    need(!a_.rotary || has(kCos), kCos, "do_rotary = 1");
    if (a_.windowedCache) {
      need(past_, kPastKey, "sliding_window_cache = 1");
      needPresent("sliding_window_cache = 1");
    }
    if (a_.quantised()) {
      need(past_, kPastKey, "k_quant_type = " + a_.quantType);
      need(has(kKeyScale), kKeyScale, "k_quant_type = " + a_.quantType);
      need(has(kValueScale), kValueScale, "v_quant_type = " + a_.quantType);
      needPresent("k_quant_type = " + a_.quantType);
    }
    if (ragged_) {
      need(past_, kPastKey, "input 'query_seqlens'");
      needPresent("input 'query_seqlens'");
      if (!a_.causal)
        refuseValue("causal", 0, "1 with input 'query_seqlens'");
    }
  }

  // q_, k_, v_ [B, heads, rows, H].
  void readProjections() {
    expectRank(ctx_, kQuery, 3);
    type_ = ctx_.fact(kQuery.index).dtype;
    const ir::Shape shape = ctx_.fact(kQuery.index).shape;
    batch_ = shape[0];
    queries_ = shape[1];
    if (has(kKey))
      readSeparate();
    else
      readPacked();
    normalise();
    q_ = exchangeHeadsAndRows(ctx_, q_, "q");
    k_ = exchangeHeadsAndRows(ctx_, k_, "k");
    v_ = exchangeHeadsAndRows(ctx_, v_, "v");
  }

  void readSeparate() {
    headSize_ = partWidth(ctx_.fact(kQuery.index), a_.heads, kQuery.name);
    expectType(ctx_, kKey, type_);
    expectType(ctx_, kValue, type_);
    expectRank(ctx_, kKey, 3);
    newRows_ = ctx_.fact(kKey.index).shape[1];
    checkNewRows();
    const Dim width = headSize_ * a_.kvHeads;
    const ValueId key = checkedInput(ctx_, kKey, {batch_, newRows_, width});
    const ValueId value = checkedInput(ctx_, kValue, {batch_, newRows_, width});
    q_ = splitHeads(ctx_, ctx_.input(kQuery.index), a_.heads, headSize_, "q_heads");
    k_ = splitHeads(ctx_, key, a_.kvHeads, headSize_, "k_heads");
    v_ = splitHeads(ctx_, value, a_.kvHeads, headSize_, "v_heads");
  }

  // As many new rows as query rows, or none: a value, so where it is a symbol CacheLengths compares
  // again.
  void checkNewRows() const {
    const bool known = newRows_.isConstant() && queries_.isConstant();
    if (known && newRows_ != queries_ && !borrowed())
      refuseInput(kKey.name, "shape " + ir::str(ctx_.fact(kKey.index).shape) + ", expected " +
                                 queries_.str() + " rows as the query has, or 0");
    if (!borrowed())
      return;
    need(past_, kPastKey, "a key of length 0");
    if (a_.windowedCache || ragged_)
      refuseInput(kKey.name, std::string("length 0, expected the query's with ") +
                                 (ragged_ ? "input 'query_seqlens'" : "sliding_window_cache = 1"));
  }

  void readPacked() {
    const int64_t parts = a_.heads + 2 * a_.kvHeads;
    headSize_ = partWidth(ctx_.fact(kQuery.index), parts, kQuery.name);
    newRows_ = queries_;
    const ValueId all = splitHeads(ctx_, ctx_.input(kQuery.index), parts, headSize_, "qkv_heads");
    q_ = sliceAxis(ctx_, all, 2, 0, a_.heads, "q_heads");
    k_ = sliceAxis(ctx_, all, 2, a_.heads, a_.kvHeads, "k_heads");
    v_ = sliceAxis(ctx_, all, 2, a_.heads + a_.kvHeads, a_.kvHeads, "v_heads");
  }

  // RMS norm of every head, before rotary; rows still come before heads.
  void normalise() {
    if (!has(kQueryNorm))
      return;
    for (Input input : {kQueryNorm, kKeyNorm})
      expectType(ctx_, input, type_);
    const ValueId queryWeight = normWeight(kQueryNorm);
    const ValueId keyWeight = normWeight(kKeyNorm);
    q_ = ctx_.add(ir::RmsNorm{-1, a_.queryEpsilon}, {q_, queryWeight}, "q_norm");
    if (!borrowed())
      k_ = ctx_.add(ir::RmsNorm{-1, a_.keyEpsilon}, {k_, keyWeight}, "k_norm");
  }

  // Norm and rotation round once, at the end: in between stands f32, the type of the norm's weight.
  bool roundsOnce() const { return has(kQueryNorm) && a_.rotary && type_ != DType::kF32; }

  ValueId normWeight(Input input) {
    const ValueId weight = checkedInput(ctx_, input, {headSize_});
    return roundsOnce() ? ctx_.add(ir::Cast{DType::kF32}, {weight}, input.name) : weight;
  }

  void readLengths() {
    expectType(ctx_, kSeqlens, DType::kI32);
    expectType(ctx_, kTotal, DType::kI32);
    const ir::Fact &seqlens = ctx_.fact(kSeqlens.index);
    const Dim count = ir::product(seqlens.shape);
    const bool differs = count.isConstant() && batch_.isConstant() && count != batch_;
    if (seqlens.rank() < 1 || seqlens.rank() > 2 || differs)
      refuseInput(kSeqlens.name, "shape " + ir::str(seqlens.shape) + ", expected [" + batch_.str() +
                                     "]: one element per batch entry");
    const ir::Fact &total = ctx_.fact(kTotal.index);
    if (total.rank() > 1 ||
        (total.rank() == 1 && total.shape[0].isConstant() && !total.shape[0].is(1)))
      refuseInput(kTotal.name, "shape " + ir::str(total.shape) + ", expected [] or [1]");
    seqlens_ = ctx_.input(kSeqlens.index);
    total_ = totalAsDim();
    if (!ragged_)
      return;
    expectType(ctx_, kQuerySeqlens, DType::kI32);
    querySeqlens_ = checkedInput(ctx_, kQuerySeqlens, {batch_});
  }

  // Where only the data knows the total, the dim of a tensor with that many elements stands for it.
  Dim totalAsDim() {
    if (const auto contents = ctx_.contents(kTotal.index))
      return (*contents)[0];
    const ValueId wide = ctx_.add(ir::Cast{DType::kI64}, {ctx_.input(kTotal.index)}, "total_i64");
    const ValueId zero = ctx_.b.constant(ir::makeIntConst(DType::kI64, {}, {0}), "zero");
    const ValueId clamped = ctx_.add(ir::Binary{ir::BinaryKind::kMax}, {wide, zero}, "total_rows");
    const ValueId shape = ctx_.add(ir::Reshape{{1}}, {clamped}, "total_shape");
    const ValueId fill = ctx_.b.constant(ir::makeIntConst(DType::kU8, {}, {0}), "fill");
    bound_ = ctx_.add(ir::FillTo{1}, {fill, shape}, "bound");
    return ctx_.b.fact(bound_).shape[0];
  }

  // The dims of the caches hang on seqlens_: a check in between would hide that past and present
  // are one buffer.
  void readPast() {
    if (!past_)
      return;
    for (Input input : {kPastKey, kPastValue})
      checkCacheType(input);
    expectRank(ctx_, kPastKey, 4);
    pastRows_ = ctx_.fact(kPastKey.index).shape[2];
    const DimRule rules[] = {batch_, Dim(a_.kvHeads), pastRows_, cacheWidth()};
    for (Input input : {kPastKey, kPastValue})
      seqlens_ = checkDims(ctx_, seqlens_, ctx_.fact(input.index).shape, rules, input.name);
    if (a_.windowedCache && pastRows_.isConstant() && *pastRows_.constant() < a_.window)
      refuseInput(kPastKey.name, "shape " + ir::str(ctx_.fact(kPastKey.index).shape) +
                                     ", expected at least the " + std::to_string(a_.window) +
                                     " rows of the window");
    pastKey_ = ctx_.input(kPastKey.index);
    pastValue_ = ctx_.input(kPastValue.index);
    cacheType_ = ctx_.fact(kPastKey.index).dtype;
    if (castsCache()) {
      pastKey_ = ctx_.add(ir::Cast{type_}, {pastKey_}, "past_key_cast");
      pastValue_ = ctx_.add(ir::Cast{type_}, {pastValue_}, "past_value_cast");
    }
  }

  // A float cache of another type than the query's is read and written through casts.
  bool castsCache() const { return past_ && !a_.quantised() && cacheType_ != type_; }

  void checkCacheType(Input input) const {
    if (a_.quantised())
      return expectType(ctx_, input, a_.cacheBits == 8 ? DType::kI8 : DType::kU8);
    const DType type = ctx_.fact(input.index).dtype;
    if (type != DType::kF32 && type != DType::kF16 && type != DType::kBF16)
      refuseInput(input.name,
                  std::string("type ") + dtypeLongName(type) +
                      ", expected float, float16 or bfloat16 where k_quant_type is NONE");
    if (input.index == kPastValue.index)
      expectType(ctx_, input, ctx_.fact(kPastKey.index).dtype);
  }

  Dim cacheWidth() const {
    if (!a_.quantised() || a_.cacheBits == 8)
      return headSize_;
    if (const auto half = headSize_.dividedBy(2))
      return *half;
    refuseAttribute("kv_cache_bit_width",
                    "value 4, expected 8 for the odd head size " + headSize_.str());
  }

  void readRotary() {
    if (has(kPositions)) {
      expectType(ctx_, kPositions, DType::kI64);
      positions_ = checkedInput(ctx_, kPositions, {batch_, queries_});
    }
    if (!has(kCos))
      return;
    for (Input input : {kCos, kSin})
      expectType(ctx_, input, type_);
    expectRank(ctx_, kCos, 2);
    const ir::Shape shape = ctx_.fact(kCos.index).shape;
    const Dim rotated = shape[1] * 2;
    if (rotated.isConstant() && headSize_.isConstant() &&
        *rotated.constant() > *headSize_.constant())
      refuseInput(kCos.name, "shape " + ir::str(shape) + ", expected at most half the head size " +
                                 headSize_.str() + " as last dimension");
    // In no schema, but exporters write it for what the caches say anyway.
    const int64_t width = ctx_.attrs.integer("rotary_embedding_dim", 0);
    if (width != 0 && rotated.isConstant() && !rotated.is(width))
      refuseValue("rotary_embedding_dim", width, "twice the width of cos_cache, " + rotated.str());
    cos_ = ctx_.input(kCos.index);
    sin_ = checkedInput(ctx_, kSin, {shape[0], shape[1]});
    cosRows_ = shape[0];
  }

  void readMaskInputs() {
    if (has(kBias)) {
      expectType(ctx_, kBias, type_);
      bias_ = checkedInput(
          ctx_, kBias,
          {DimRule::broadcast(batch_), DimRule::broadcast(a_.heads), queries_, total_});
    }
    if (has(kSink)) {
      expectType(ctx_, kSink, type_);
      sink_ = checkedInput(ctx_, kSink, {Dim(a_.heads)});
    } else if (a_.smoothSoftmax) {
      const std::vector<double> zeros(a_.heads, 0.0);
      sink_ = ctx_.b.constant(ir::makeFloatConst(type_, {a_.heads}, zeros), "sink");
    }
  }

  void readScales() {
    for (Input input : {kKeyScale, kValueScale})
      if (has(input) && !a_.quantised())
        refuseInput(input.name, "given, expected none where k_quant_type is NONE");
    if (!a_.quantised())
      return;
    keyScale_ = readScale(kKeyScale);
    valueScale_ = readScale(kValueScale);
  }

  ValueId readScale(Input input) {
    expectType(ctx_, input, DType::kF32);
    const ir::Fact &fact = ctx_.fact(input.index);
    const Dim count = ir::product(fact.shape);
    const Dim expected = a_.quantType == "PER_TENSOR" ? Dim(1) : headSize_ * a_.kvHeads;
    const ValueId checked =
        checkDims(ctx_, ctx_.input(input.index), {count}, {expected}, input.name);
    return ctx_.add(ir::Reshape{{expected}}, {checked}, input.name);
  }

  void emitLengths() {
    ir::CacheLengths op;
    op.batch = batch_;
    op.queries = queries_;
    op.newRows = newRows_;
    op.pastCapacity = pastRows_;
    op.ropeRows = a_.rotary ? cosRows_ : Dim(-1);
    op.windowed = a_.windowedCache;
    op.window = a_.windowedCache ? a_.window : -1;
    op.hasPast = past_;
    const bool writes = past_ && !a_.windowedCache;
    const bool wanted[] = {
        true, ragged_ || a_.windowedCache, true, writes, a_.windowedCache, a_.windowedCache};
    const ir::Values results = ctx_.b.add(
        op, {seqlens_, ctx_.input(kTotal.index), querySeqlens_, bound_}, "lengths", {}, wanted);
    queryStart_ = results[0];
    queryLen_ = results[1];
    keyLen_ = results[2];
    writeStart_ = results[3];
    keyStart_ = results[4];
    split_ = results[5];
  }

  void rotate() {
    if (!a_.rotary)
      return;
    if (positions_.valid())
      positions_ = ctx_.add(ir::RopePositions{!ragged_}, {positions_, ctx_.input(kTotal.index)},
                            "positions");
    q_ = rotated(q_, "rope_q");
    if (!borrowed())
      k_ = rotated(k_, "rope_k");
  }

  ValueId rotated(ValueId x, llvm::StringRef suffix) {
    ir::ApplyRope op;
    op.interleaved = a_.interleaved;
    const ValueId start = positions_.valid() ? ir::kNoValue : queryStart_;
    const ValueId len = ragged_ ? queryLen_ : ir::kNoValue;
    const ValueId turned = ctx_.add(op, {x, cos_, sin_, positions_, start, len}, suffix);
    return roundsOnce() ? ctx_.add(ir::Cast{type_}, {turned}, suffix.str() + "_rounded") : turned;
  }

  void quantise() {
    if (!a_.quantised())
      return;
    k_ = ctx_.add(ir::KvQuantize{a_.cacheBits}, {k_, keyScale_}, "k_codes");
    v_ = ctx_.add(ir::KvQuantize{a_.cacheBits}, {v_, valueScale_}, "v_codes");
  }

  // Keys and values as the attention reads them: from the cache that the new rows were written to,
  // or from past and new rows as they are.
  void chooseKeys() {
    readsPast_ = past_ && (a_.windowedCache || borrowed());
    keys_ = past_ ? pastKey_ : k_;
    values_ = past_ ? pastValue_ : v_;
    // Without a past it is a first prompt, always: the new rows are the cache.
    if (!past_ || readsPast_)
      return;
    keys_ = written(pastKey_, k_, kPresentKey);
    values_ = written(pastValue_, v_, kPresentValue);
  }

  // What is made of the past comes after its last reader, so that it may take its place.
  void updatePresent() {
    if (!ctx_.wants(kPresentKey))
      return;
    if (!readsPast_)
      return setPresent(keys_, values_);
    const ValueId key = renewed(pastKey_, k_, kPresentKey);
    const ValueId value = renewed(pastValue_, v_, kPresentValue);
    setPresent(key, value);
  }

  ValueId renewed(ValueId past, ValueId update, Output output) {
    return a_.windowedCache ? evicted(past, update, output) : written(past, update, output);
  }

  std::string presentName(Output output) const {
    return castsCache() ? std::string() : ctx_.outputName(output);
  }

  // Nobody sees the capacity of a cache that does not leave: then it needs not follow a value of
  // the feed.
  Dim cacheRows() const {
    return ctx_.wants(kPresentKey) ? Dim::max(total_, pastRows_) : pastRows_ + newRows_;
  }

  ValueId written(ValueId past, ValueId update, Output output) {
    ir::KvWrite op;
    op.axis = 2;
    op.capacity = cacheRows();
    op.tail = ir::KvTail::kZero;
    const ValueId len = ragged_ ? queryLen_ : ir::kNoValue;
    return ctx_.b.add1(op, {past, update, writeStart_, len},
                       output == kPresentKey ? "k_cache" : "v_cache", presentName(output));
  }

  ValueId evicted(ValueId past, ValueId update, Output output) {
    return ctx_.b.add1(ir::KvEvict{a_.window}, {past, update, split_, keyStart_, queryLen_},
                       output == kPresentKey ? "k_evict" : "v_evict", presentName(output));
  }

  void setPresent(ValueId key, ValueId value) {
    if (castsCache()) {
      key = ctx_.b.add1(ir::Cast{cacheType_}, {key}, "present_key_cast",
                        ctx_.outputName(kPresentKey));
      value = ctx_.b.add1(ir::Cast{cacheType_}, {value}, "present_value_cast",
                          ctx_.outputName(kPresentValue));
    }
    ctx_.set(kPresentKey, key);
    ctx_.set(kPresentValue, value);
  }

  Band band() const {
    if (!a_.causal)
      return {};
    return {a_.window < 0 ? Band::kOpen : a_.window - 1, 0};
  }

  void attend() {
    ir::SdpaParts parts;
    parts.q = q_;
    parts.k = keys_;
    parts.v = values_;
    if (a_.windowedCache) {
      parts.kNew = k_;
      parts.vNew = v_;
      parts.keyStart = keyStart_;
      parts.split = split_;
    }
    parts.bias = bias_;
    parts.sink = sink_;
    parts.kScale = keyScale_;
    parts.vScale = valueScale_;
    parts.queryStart = queryStart_;
    parts.queryLen = ragged_ ? queryLen_ : ir::kNoValue;
    parts.keyLen = keyLen_;
    if (a_.scale != 0)
      parts.scale = a_.scale;
    parts.softcap = a_.softcap;
    parts.band = band();
    if (a_.scoreMode != 0) {
      parts.scores = a_.scoreMode == 1 ? ir::Scores::kGqaLogits : ir::Scores::kProbabilities;
      parts.scoreColumns = total_;
      parts.scoresName = ctx_.outputName(kScores);
    }
    const ir::SdpaResults results = ir::buildSdpa(ctx_.b, parts);
    ctx_.set(kOut, mergeHeads(ctx_, results.y, "output", ctx_.outputName(kOut)));
    if (ctx_.wants(kScores))
      ctx_.set(kScores, a_.scoreMode != 0 ? results.scores : noScores());
  }

  // Connected while qk_output is 0.
  ValueId noScores() {
    const ValueId zero = ctx_.b.constant(ir::makeFloatConst(type_, {}, {0.0}), "no_score");
    return ctx_.b.add1(ir::Fill{{batch_, a_.heads, queries_, total_}}, {zero}, "no_scores",
                       ctx_.outputName(kScores));
  }

  ImportContext &ctx_;
  const GqaAttributes a_;
  const bool past_;   // there are past_key and past_value
  const bool ragged_; // there is query_seqlens

  DType type_ = DType::kUndefined;      // of query, key, value
  DType cacheType_ = DType::kUndefined; // of past and present
  Dim batch_, queries_, newRows_, headSize_, total_, pastRows_, cosRows_ = -1;

  ValueId q_, k_, v_;
  ValueId seqlens_, querySeqlens_, bound_;
  ValueId pastKey_, pastValue_, keys_, values_;
  bool readsPast_ = false; // the attention does, not present
  ValueId cos_, sin_, positions_, bias_, sink_, keyScale_, valueScale_;
  ValueId queryStart_, queryLen_, keyLen_, writeStart_, keyStart_, split_;
};

void importGqa(ImportContext &ctx) { GqaImporter(ctx).run(); }

} // namespace

llvm::ArrayRef<ImporterRow> gqaImporters() {
  static const ImporterRow kRows[] = {
      {"com.microsoft", "GroupQueryAttention", 1, kLatest, 7, 17, 4,
       "num_heads:int kv_num_heads:int scale:float softcap:float do_rotary:int "
       "rotary_interleaved:int local_window_size:int smooth_softmax:int causal:int qk_output:int "
       "sliding_window_cache:int k_quant_type:string v_quant_type:string kv_cache_bit_width:int "
       "qk_norm_epsilon:float q_norm_epsilon:float k_norm_epsilon:float rotary_embedding_dim:int",
       "f32 f16 bf16", importGqa,
       "float8 caches; qk_output with sliding_window_cache; query_seqlens without a past"}};
  return kRows;
}

} // namespace engine::frontend
