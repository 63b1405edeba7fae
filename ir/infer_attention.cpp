// Shapes and types of the operators around attention. Lengths and positions are checked by the
// kernels: they are data.
#include "ir/infer_impl.h"

#include "ir/error.h"

namespace engine::ir {

// An optional i64 [B] operand.
static void requireLengths(const InferContext &c, size_t i, const Dim &batch) {
  if (!c.has(i))
    return;
  requireType(c, i, DType::kI64);
  requireShape(c, i, {batch});
}

static bool contains(llvm::ArrayRef<int64_t> axes, size_t axis) {
  return llvm::is_contained(axes, static_cast<int64_t>(axis));
}

// What is known to fail; symbols are left to the run.
static bool cannotFit(const CheckDims &op, size_t i) {
  const Dim &actual = op.actual[i];
  const Dim &expected = op.expected[i];
  if (!actual.isConstant() || !expected.isConstant())
    return false;
  if (contains(op.orOne, i) && actual.is(1))
    return false;
  return contains(op.orLess, i) ? *actual.constant() > *expected.constant() : actual != expected;
}

void inferOp(const CheckDims &op, InferContext &c) {
  if (op.actual.size() != op.expected.size())
    refuseField("expected", str(op.expected), std::to_string(op.actual.size()) + " dims");
  const Fact &x = c.operand(0);
  const bool ofOperand = op.actual == x.shape;
  Shape shape = x.shape;
  for (size_t i = 0; i < op.actual.size(); ++i) {
    if (cannotFit(op, i))
      throw Error("shape " + str(op.actual) + ", expected " + str(op.expected)).at(op.item);
    if (ofOperand && !contains(op.orOne, i) && !contains(op.orLess, i))
      shape[i] = op.expected[i];
  }
  c.result(0) = x;
  c.result(0).shape = shape;
}

void inferOp(const CheckLengths &, InferContext &c) {
  requireIndex(c, 0);
  requireRank(c, 0, 1);
  c.set(0, DType::kI64, c.operand(0).shape);
}

void inferOp(const ApplyRope &, InferContext &c) {
  enum Operand { kX, kCos, kSin, kPositions, kStart, kLen };
  requireFloat(c, kX);
  requireRank(c, kX, 4);
  const Fact &x = c.operand(kX);
  const Dim &batch = x.shape[0];
  const Dim &rows = x.shape[2];
  const Dim &headSize = x.shape[3];

  const Fact &cos = c.operand(kCos);
  requireFloat(c, kCos);
  requireSameType(c, kSin, kCos);
  requireShape(c, kSin, cos.shape);
  if (cos.rank() == 3) {
    requireDim(c, kCos, 0, batch);
    requireDim(c, kCos, 1, rows);
    if (c.has(kPositions))
      refuseOperand(c, kPositions, c.operand(kPositions).str(),
                    "none where cos and sin have a row per batch entry and position");
  } else if (cos.rank() != 2) {
    refuseOperand(c, kCos, cos.str(), "[M, R] or [B, S, R]");
  }
  const Dim twice = cos.shape.back() * 2;
  if (twice.isConstant() && headSize.isConstant() && *twice.constant() > *headSize.constant())
    refuseOperand(c, kCos, cos.str(),
                  "at most half the head size " + headSize.str() + " as its last dim");
  if (c.has(kPositions)) {
    requireType(c, kPositions, DType::kI64);
    requireShape(c, kPositions, {batch, rows});
  }
  requireLengths(c, kStart, batch);
  requireLengths(c, kLen, batch);
  c.set(0, x.dtype, x.shape);
}

void inferOp(const CacheLengths &op, InferContext &c) {
  enum Operand { kSeqlens, kTotal, kQuerySeqlens, kBound };
  constexpr size_t kResults = 6;
  requireType(c, kSeqlens, DType::kI32);
  requireCount(c, kSeqlens, op.batch);
  requireType(c, kTotal, DType::kI32);
  requireScalar(c, kTotal);
  if (c.has(kQuerySeqlens)) {
    requireType(c, kQuerySeqlens, DType::kI32);
    requireShape(c, kQuerySeqlens, {op.batch});
  }
  for (size_t i = 0; i < kResults; ++i)
    c.set(i, DType::kI64, {op.batch});
}

void inferOp(const RopePositions &, InferContext &c) {
  requireType(c, 0, DType::kI64);
  requireRank(c, 0, 2);
  requireType(c, 1, DType::kI32);
  requireScalar(c, 1);
  c.set(0, DType::kI64, c.operand(0).shape);
}

void inferOp(const KvWrite &op, InferContext &c) {
  enum Operand { kCache, kUpdate, kStart, kLen };
  const Fact &update = c.operand(kUpdate);
  requireMinRank(c, kUpdate, 2);
  const int axis = normalAxis(op.axis, update.rank());
  if (axis == 0)
    refuseField("axis", "0", "another axis than the batch's");
  if (op.capacity.isConstant() && *op.capacity.constant() < 0)
    refuseField("capacity", op.capacity.str(), "a count of rows");

  Shape shape = update.shape;
  if (c.has(kCache)) {
    requireSameType(c, kCache, kUpdate);
    requireRank(c, kCache, update.rank());
    for (int i = 0; i < update.rank(); ++i) {
      if (i != axis)
        shape[i] = requireDim(c, kCache, i, update.shape[i]);
    }
  }
  shape[axis] = op.capacity;
  requireLengths(c, kStart, shape[0]);
  requireLengths(c, kLen, shape[0]);
  c.set(0, update.dtype, shape);
}

void inferOp(const KvEvict &, InferContext &c) {
  enum Operand { kCache, kUpdate, kSplit, kKeyStart, kLen };
  requireRank(c, kCache, 4);
  requireRank(c, kUpdate, 4);
  requireSameType(c, kUpdate, kCache);
  const Fact &cache = c.operand(kCache);
  for (int axis : {0, 1, 3})
    requireDim(c, kUpdate, axis, cache.shape[axis]);
  for (size_t i : {kSplit, kKeyStart, kLen})
    requireLengths(c, i, cache.shape[0]);
  c.set(0, cache.dtype, cache.shape);
}

// f32 of one element or one per channel of every KV head.
static void requireCacheScale(const InferContext &c, size_t i, const Dim &kvHeads,
                              const Dim &width) {
  requireType(c, i, DType::kF32);
  const Dim count = countOf(c.operand(i));
  if (!count.is(1))
    requireCount(c, i, kvHeads * width);
}

void inferOp(const KvQuantize &op, InferContext &c) {
  requireFloat(c, 0);
  requireRank(c, 0, 4);
  const Fact &x = c.operand(0);
  requireCacheScale(c, 1, x.shape[1], x.shape[3]);
  if (op.bits == 8) {
    c.set(0, DType::kI8, x.shape);
    return;
  }
  if (op.bits != 4)
    refuseField("bits", std::to_string(op.bits), "4 or 8");
  const std::optional<Dim> half = x.shape[3].dividedBy(2);
  if (!half && x.shape[3].isConstant())
    refuseOperand(c, 0, x.str(), "an even last dim, as two 4-bit codes share a byte");
  Shape shape = x.shape;
  shape[3] = half ? *half : Dim::floorDiv(x.shape[3], 2);
  c.set(0, DType::kU8, shape);
}

namespace {

// Two 4-bit codes a byte: a cache row of H channels has H / 2 elements.
struct CacheRow {
  const Fact &fact;
  bool packed;
  Dim width() const { return packed ? fact.shape[3] * 2 : fact.shape[3]; }
};

} // namespace

// k or v, or their second segments: [B, K, rows, H].
static CacheRow requireCache(const InferContext &c, size_t i, size_t scale) {
  const Fact &fact = c.operand(i);
  requireRank(c, i, 4);
  if (!c.has(scale)) {
    requireFloat(c, i);
    return {fact, false};
  }
  if (fact.dtype != DType::kI8 && fact.dtype != DType::kU8)
    refuseOperand(c, i, fact.str(), "i8 or u8 codes, as there is a scale");
  return {fact, fact.dtype == DType::kU8};
}

static void requireSegment(const InferContext &c, size_t i, size_t first) {
  const Fact &fact = c.operand(first);
  requireSameType(c, i, first);
  requireRank(c, i, 4);
  for (int axis : {0, 1, 3})
    requireDim(c, i, axis, fact.shape[axis]);
}

static void requireTogether(const InferContext &c, size_t a, size_t b) {
  if (c.has(a) == c.has(b))
    return;
  const size_t missing = c.has(a) ? b : a;
  const size_t present = c.has(a) ? a : b;
  refuseOperand(c, missing, "none", "one, as there is operand '" + c.operandName(present) + "'");
}

void inferOp(const Sdpa &op, InferContext &c) {
  requireFloat(c, sdpa::q);
  requireRank(c, sdpa::q, 4);
  requireTogether(c, sdpa::kScale, sdpa::vScale);
  requireTogether(c, sdpa::kNew, sdpa::vNew);
  const Fact &q = c.operand(sdpa::q);
  const CacheRow k = requireCache(c, sdpa::k, sdpa::kScale);
  const CacheRow v = requireCache(c, sdpa::v, sdpa::vScale);
  const Dim &batch = q.shape[0];
  const Dim &heads = q.shape[1];
  const Dim &rows = q.shape[2];
  const Dim &kvHeads = k.fact.shape[1];

  requireDim(c, sdpa::k, 0, batch);
  if (k.width().isConstant() && q.shape[3].isConstant() && k.width() != q.shape[3])
    refuseOperand(c, sdpa::k, k.fact.str(), "rows of head size " + q.shape[3].str());
  if (kvHeads.isConstant() && heads.isConstant()) {
    const int64_t perGroup = *kvHeads.constant();
    if (perGroup < 1 || *heads.constant() % perGroup != 0)
      refuseOperand(c, sdpa::k, k.fact.str(),
                    "a number of KV heads that divides the " + heads.str() + " query heads");
  }
  for (int axis : {0, 1, 2})
    requireDim(c, sdpa::v, axis, k.fact.shape[axis]);
  if (c.has(sdpa::kNew)) {
    requireSegment(c, sdpa::kNew, sdpa::k);
    requireSegment(c, sdpa::vNew, sdpa::v);
    requireDim(c, sdpa::vNew, 2, c.operand(sdpa::kNew).shape[2]);
  }
  if (c.has(sdpa::kScale)) {
    requireSameType(c, sdpa::v, sdpa::k);
    requireCacheScale(c, sdpa::kScale, kvHeads, k.width());
    requireCacheScale(c, sdpa::vScale, kvHeads, v.width());
  }
  for (size_t i : {sdpa::bias, sdpa::mask}) {
    if (!c.has(i))
      continue;
    if (i == sdpa::mask)
      requireType(c, i, DType::kBool);
    else
      requireFloat(c, i);
    requireMinRank(c, i, 1);
    // Columns may be fewer than the keys (the rest is hidden) or more (a bias over absolute
    // positions).
    requireBroadcastTo(c, i, {batch, heads, rows, c.operand(i).shape.back()});
  }
  if (c.has(sdpa::sink)) {
    requireFloat(c, sdpa::sink);
    requireShape(c, sdpa::sink, {heads});
  }
  for (size_t i : {sdpa::queryStart, sdpa::queryLen, sdpa::keyLen, sdpa::keyStart, sdpa::split})
    requireLengths(c, i, batch);

  c.set(0, q.dtype, {batch, heads, rows, v.width()});
  if (op.scores != Scores::kNone)
    c.set(1, q.dtype, {batch, heads, rows, op.scoreColumns});
}

} // namespace engine::ir
