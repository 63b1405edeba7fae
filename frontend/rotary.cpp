// RotaryEmbedding of both domains: the same rotation, with inputs in another order and rules of
// their own.
#include "frontend/qkv.h"

namespace engine::frontend {

using ir::Dim;
using ir::ValueId;

namespace {

// Where an operator has its inputs.
struct RotaryInputs {
  Input x, positions, cos, sin;
};
constexpr RotaryInputs kOnnxInputs{
    {0, "X"}, {3, "position_ids"}, {1, "cos_cache"}, {2, "sin_cache"}};
constexpr RotaryInputs kMicrosoftInputs{
    {0, "input"}, {1, "position_ids"}, {2, "cos_cache"}, {3, "sin_cache"}};

struct Rotary {
  ImportContext &ctx;
  const RotaryInputs &in;
  Dim batch, rows, heads, headSize;
  bool threeAxes;
};

// num_heads, where the attribute is given: at least 1.
std::optional<int64_t> headsAttribute(const ImportContext &ctx) {
  const int64_t heads = ctx.attrs.integer("num_heads", 0);
  if (heads < 0)
    refuseValue("num_heads", heads, "at least 0");
  return heads == 0 ? std::optional<int64_t>() : heads;
}

Rotary readFourAxes(ImportContext &ctx, const RotaryInputs &in) {
  const ir::Shape shape = ctx.fact(in.x.index).shape;
  const std::optional<int64_t> heads = headsAttribute(ctx);
  if (heads && shape[1].isConstant() && !shape[1].is(*heads))
    refuseValue("num_heads", *heads, shape[1].str() + " as input '" + in.x.name + "' has");
  return {ctx, in, shape[0], shape[2], shape[1], shape[3], false};
}

Rotary readThreeAxes(ImportContext &ctx, const RotaryInputs &in, std::optional<int64_t> heads) {
  if (!heads)
    refuseAttribute("num_heads", "missing, expected for an input of rank 3");
  const ir::Fact &x = ctx.fact(in.x.index);
  return {ctx, in, x.shape[0], x.shape[1], *heads, partWidth(x, *heads, in.x.name), true};
}

// com.microsoft: without num_heads, heads as wide as the caches say.
std::optional<int64_t> headsFromCaches(const ImportContext &ctx, const RotaryInputs &in) {
  if (const auto heads = headsAttribute(ctx))
    return heads;
  if (ctx.attrs.integer("rotary_embedding_dim", 0) != 0)
    refuseAttribute("num_heads", "missing, expected with rotary_embedding_dim");
  const ir::Fact &cos = ctx.fact(in.cos.index);
  const Dim &hidden = ctx.fact(in.x.index).shape[2];
  if (cos.rank() != 2)
    return std::nullopt;
  const std::optional<Dim> heads = hidden.dividedBy(cos.shape[1] * 2);
  return heads ? heads->constant() : std::nullopt;
}

int64_t rotatedChannels(const Rotary &r) {
  const int64_t asked = r.ctx.attrs.integer("rotary_embedding_dim", 0);
  const std::optional<int64_t> headSize = r.headSize.constant();
  if (asked == 0 && !headSize)
    refuseInput(r.in.x.name, "head size " + r.headSize.str() + ", expected a number");
  const int64_t channels = asked != 0 ? asked : *headSize;
  if (channels < 0 || (headSize && channels > *headSize))
    refuseValue("rotary_embedding_dim", channels, "at most the head size " + r.headSize.str());
  if (channels % 2 == 0)
    return channels;
  if (asked != 0)
    refuseValue("rotary_embedding_dim", channels, "an even number");
  refuseInput(r.in.x.name, "head size " + std::to_string(channels) + ", expected an even number");
}

void checkRotaryTypes(const Rotary &r) {
  const DType type = r.ctx.fact(r.in.x.index).dtype;
  expectType(r.ctx, r.in.cos, type);
  expectType(r.ctx, r.in.sin, type);
  if (r.ctx.has(r.in.positions.index))
    expectType(r.ctx, r.in.positions, DType::kI64);
}

// cos and sin, positions and start as ApplyRope takes them.
struct RopeOperands {
  ValueId cos, sin, positions, start;
};

RopeOperands readCaches(const Rotary &r) {
  const Dim half = rotatedChannels(r) / 2;
  RopeOperands rope;
  if (!r.ctx.has(r.in.positions.index)) {
    rope.cos = checkedInput(r.ctx, r.in.cos, {r.batch, r.rows, half});
    rope.sin = checkedInput(r.ctx, r.in.sin, {r.batch, r.rows, half});
    return rope;
  }
  expectRank(r.ctx, r.in.cos, 2);
  const Dim rows = r.ctx.fact(r.in.cos.index).shape[0];
  rope.cos = checkedInput(r.ctx, r.in.cos, {rows, half});
  rope.sin = checkedInput(r.ctx, r.in.sin, {rows, half});
  return rope;
}

// (B, S), or for com.microsoft (1): the position of the first row of every entry.
void readPositions(const Rotary &r, bool offsetAllowed, RopeOperands &rope) {
  if (!r.ctx.has(r.in.positions.index))
    return;
  if (!offsetAllowed || r.ctx.fact(r.in.positions.index).rank() != 1) {
    rope.positions = checkedInput(r.ctx, r.in.positions, {r.batch, r.rows});
    return;
  }
  const ValueId offset = checkedInput(r.ctx, r.in.positions, {Dim(1)});
  rope.start = r.batch.is(1) ? offset : r.ctx.add(ir::Expand{{r.batch}}, {offset}, "start");
}

void emitRotation(const Rotary &r, const RopeOperands &rope) {
  ir::ApplyRope op;
  op.interleaved = r.ctx.attrs.flag("interleaved", false);
  const ValueId x = r.ctx.input(r.in.x.index);
  if (!r.threeAxes)
    return r.ctx.emit(op, {x, rope.cos, rope.sin, rope.positions, rope.start});
  const ValueId split = splitHeads(r.ctx, x, *r.heads.constant(), r.headSize, "heads");
  const ValueId heads = exchangeHeadsAndRows(r.ctx, split, "heads_first");
  const ValueId turned =
      r.ctx.add(op, {heads, rope.cos, rope.sin, rope.positions, rope.start}, "rope");
  r.ctx.set(0, mergeHeads(r.ctx, turned, "merged", r.ctx.outputName(0)));
}

void importRotary(ImportContext &ctx, const RotaryInputs &in, bool microsoft) {
  ctx.required(in.x.index, in.x.name);
  ctx.required(in.cos.index, in.cos.name);
  ctx.required(in.sin.index, in.sin.name);
  const ir::Fact &x = ctx.fact(in.x.index);
  if (x.rank() != 3 && x.rank() != 4)
    refuseInput(in.x.name, "shape " + ir::str(x.shape) + ", expected rank 3 or 4");
  const Rotary r = x.rank() == 4 ? readFourAxes(ctx, in)
                   : microsoft   ? readThreeAxes(ctx, in, headsFromCaches(ctx, in))
                                 : readThreeAxes(ctx, in, headsAttribute(ctx));
  checkRotaryTypes(r);
  RopeOperands rope = readCaches(r);
  readPositions(r, microsoft, rope);
  emitRotation(r, rope);
}

void importOnnxRotary(ImportContext &ctx) { importRotary(ctx, kOnnxInputs, false); }

void importMicrosoftRotary(ImportContext &ctx) {
  ctx.required(kMicrosoftInputs.positions.index, kMicrosoftInputs.positions.name);
  if (const int64_t packed = ctx.attrs.integer("is_packed_batching", 0); packed != 0)
    refuseValue("is_packed_batching", packed, "0");
  if (const float scale = ctx.attrs.real("scale", 1.0f); scale != 1.0f)
    refuseAttribute("scale", "value " + std::to_string(scale) + ", expected 1");
  importRotary(ctx, kMicrosoftInputs, true);
}

} // namespace

llvm::ArrayRef<ImporterRow> rotaryImporters() {
  static const ImporterRow kRows[] = {
      {"", "RotaryEmbedding", 23, kLatest, 3, 4, 1,
       "interleaved:int num_heads:int rotary_embedding_dim:int", "f32 f16 bf16", importOnnxRotary,
       ""},
      {"com.microsoft", "RotaryEmbedding", 1, kLatest, 4, 4, 1,
       "interleaved:int num_heads:int rotary_embedding_dim:int is_packed_batching:int scale:float",
       "f32 f16 bf16", importMicrosoftRotary, "is_packed_batching = 1; scale other than 1"}};
  return kRows;
}

} // namespace engine::frontend
