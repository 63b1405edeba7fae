// Every operator of the IR: a small struct with one field list. Printing, parsing, comparison and
// documentation follow from it. `infer` (ir/infer.h) gives each its shapes; kernels/reference gives
// each its meaning in plain loops.
//
// Operands are positional; a trailing '?' marks an optional one (absent is kNoValue), '*' marks a
// tail of any length. A result that nobody uses may be kNoValue. "rows" are positions along the
// sequence axis; B batch, S query rows, T key rows, N query heads, K key/value heads, H head size.
#pragma once

#include "ir/band.h"
#include "ir/fact.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace engine::ir {

class Graph;
using GraphRef = std::shared_ptr<const Graph>;
using Ints = llvm::SmallVector<int64_t, 4>;
using Names = llvm::ArrayRef<const char *>;

// Enumerations print by name: enumNames(E) lists the names in order of value.
#define ENGINE_ENUM(E, ...)                                                                        \
  inline Names enumNames(E) {                                                                      \
    static constexpr const char *kNames[] = {__VA_ARGS__};                                         \
    return kNames;                                                                                 \
  }

// Elementwise on one operand; the result has the operand's type, kNot, kIsNan and kIsInf give bool.
enum class UnaryKind : uint8_t {
  kAbs,
  kBitwiseNot,
  kCeil,
  kCos,
  kErf,
  kExp,
  kFloor,
  kGelu,
  kGeluTanh,
  kIsInf,
  kIsNan,
  kLog,
  kNeg,
  kNot,
  kReciprocal,
  kRelu,
  kRound,
  kSigmoid,
  kSign,
  kSilu,
  kSin,
  kSoftplus,
  kSqrt,
  kTanh,
};
ENGINE_ENUM(UnaryKind, "abs", "bitwise_not", "ceil", "cos", "erf", "exp", "floor", "gelu",
            "gelu_tanh", "is_inf", "is_nan", "log", "neg", "not", "reciprocal", "relu", "round",
            "sigmoid", "sign", "silu", "sin", "softplus", "sqrt", "tanh")

// Elementwise on two operands of one type (kPow and the shifts: the first's type), numpy
// broadcasting; comparisons give bool. kMod follows the divisor's sign, kFmod the dividend's.
// Integer division truncates.
enum class BinaryKind : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kMod,
  kFmod,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kBitwiseAnd,
  kBitwiseOr,
  kBitwiseXor,
  kShiftLeft,
  kShiftRight,
  kEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
};
ENGINE_ENUM(BinaryKind, "add", "sub", "mul", "div", "pow", "mod", "fmod", "min", "max", "and", "or",
            "xor", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right", "equal",
            "less", "less_or_equal", "greater", "greater_or_equal")

enum class ReduceKind : uint8_t {
  kSum,
  kMean,
  kMax,
  kMin,
  kProd,
  kSumSquare,
  kL2,
  kL1,
  kLogSum,
  kLogSumExp
};
ENGINE_ENUM(ReduceKind, "sum", "mean", "max", "min", "prod", "sum_square", "l2", "l1", "log_sum",
            "log_sum_exp")

enum class ScatterReduction : uint8_t { kNone, kAdd, kMul, kMax, kMin };
ENGINE_ENUM(ScatterReduction, "none", "add", "mul", "max", "min")

enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };
ENGINE_ENUM(PadMode, "constant", "reflect", "edge", "wrap")

// What KvWrite leaves in rows it does not write.
enum class KvTail : uint8_t {
  kKeep, // the old cache's rows, on both sides (TensorScatter)
  kZero, // rows below start are the old cache's; rows from start + written on are 0, or untouched
         // if in place (GQA)
};
ENGINE_ENUM(KvTail, "keep", "zero")

// Same values as engine::QueryAnchor and engine::ScoreMode of kernels/sdpa_problem.h.
enum class Anchor : uint8_t { kOffset, kKeyEnd };
ENGINE_ENUM(Anchor, "offset", "key_end")
enum class Scores : uint8_t { kNone, kRaw, kCapped, kBiased, kProbabilities, kGqaLogits };
ENGINE_ENUM(Scores, "none", "raw", "capped", "biased", "probabilities", "gqa_logits")

#define ENGINE_OP(NAME, OPERANDS, RESULTS)                                                         \
  static constexpr const char *kName = NAME;                                                       \
  static constexpr const char *kOperands = OPERANDS;                                               \
  static constexpr const char *kResults = RESULTS;                                                 \
  template <class Self, class Visitor>                                                             \
  static void fields([[maybe_unused]] Self &s, [[maybe_unused]] Visitor &&v)

// --- Constants and integers known as dims ------------------------------------------------------

struct Const {
  ConstRef data;
  ENGINE_OP("const", "", "y") { v("data", s.data); }
};

// An integer tensor (i32 or i64) whose elements are dims: what Shape/Gather/Concat chains fold to.
// `dims` is its shape.
struct DimValues {
  DType dtype = DType::kI64;
  Ints dims;
  Shape values;
  ENGINE_OP("dim_values", "", "y") {
    v("dtype", s.dtype), v("dims", s.dims), v("values", s.values);
  }
};

// --- Elementwise -------------------------------------------------------------------------------

struct Unary {
  UnaryKind kind = UnaryKind::kAbs;
  ENGINE_OP("unary", "x", "y") { v("kind", s.kind); }
};

struct Binary {
  BinaryKind kind = BinaryKind::kAdd;
  ENGINE_OP("binary", "a b", "y") { v("kind", s.kind); }
};

// condition ? a : b, broadcasting all three; bool condition.
struct Where {
  ENGINE_OP("where", "condition a b", "y") {}
};

// Floats to integers truncate; to bool: not zero. Float to float rounds once, to nearest even.
struct Cast {
  DType to = DType::kF32;
  ENGINE_OP("cast", "x", "y") { v("to", s.to); }
};

// --- Linear algebra ----------------------------------------------------------------------------

// numpy.matmul: batch axes broadcast; rank-1 operands as numpy does. f32 accumulation (f64 for f64,
// exact for integers).
struct MatMul {
  ENGINE_OP("matmul", "a b", "y") {}
};

// x [.., k] times the transpose of w, whose rows are quantised in blocks along k: y [.., n].
//   w      u8 [n, ceil(k / blockSize), blockSize * bits / 8], low bits first
//   scales of x's type (or f32), n * blocks elements, any rank
//   zeroPoints u8 packed [n, ceil(blocks * bits / 8)], or of the scales' type [n, blocks]; absent:
//   2^(bits-1). value = (q - zero point) * scale.
// accuracyLevel 4 permits 8-bit activations where the session is not exact.
struct QuantMatMul {
  int64_t k = 0, n = 0, bits = 4, blockSize = 32, accuracyLevel = 0;
  ENGINE_OP("quant_matmul", "x w scales zeroPoints? bias?", "y") {
    v("k", s.k), v("n", s.n), v("bits", s.bits), v("block", s.blockSize),
        v("accuracy_level", s.accuracyLevel);
  }
};

// Rows of a table quantised in blocks along its last axis (data u8 packed as QuantMatMul's, or
// i4/u4): data[indices] in the scales' type.
struct QuantGather {
  int64_t bits = 4, blockSize = 32;
  ENGINE_OP("quant_gather", "data indices scales zeroPoints?", "y") {
    v("bits", s.bits), v("block", s.blockSize);
  }
};

// (x - zero point) * scale. blockSize 0: scale is a scalar or runs along `axis`; else blocks along
// `axis`.
struct Dequantize {
  int64_t axis = 1, blockSize = 0;
  DType to = DType::kF32;
  ENGINE_OP("dequantize", "x scale zeroPoint?", "y") {
    v("axis", s.axis), v("block", s.blockSize), v("to", s.to);
  }
};

// --- Layout: views where strides can say it, copies otherwise ----------------------------------

// `dims` may hold symbols. The element count must agree.
struct Reshape {
  Shape dims;
  ENGINE_OP("reshape", "x", "y") { v("dims", s.dims); }
};

// Reshape whose target is only known when it runs: `shape` i64 [rank], 0 copies (unless allowZero),
// -1 infers.
struct ReshapeTo {
  int64_t rank = 0;
  bool allowZero = false;
  ENGINE_OP("reshape_to", "x shape", "y") { v("rank", s.rank), v("allow_zero", s.allowZero); }
};

struct Transpose {
  Ints perm;
  ENGINE_OP("transpose", "x", "y") { v("perm", s.perm); }
};

// One axis: elements start, start + step, ... `length` of them; start and length already clamped to
// the axis.
struct Slice {
  int64_t axis = 0;
  Dim start, length;
  int64_t step = 1;
  ENGINE_OP("slice", "x", "y") {
    v("axis", s.axis), v("start", s.start), v("length", s.length), v("step", s.step);
  }
};

// Slice with bounds only known when it runs: i64 operands as in ONNX Slice, one element per entry
// of `axes`.
struct SliceAt {
  Ints axes;
  ENGINE_OP("slice_at", "x starts ends steps?", "y") { v("axes", s.axes); }
};

// numpy.broadcast_to(x, dims), and with dims broadcast against x's own (ONNX Expand).
struct Expand {
  Shape dims;
  ENGINE_OP("expand", "x", "y") { v("dims", s.dims); }
};

struct ExpandTo {
  int64_t rank = 0; // of the result
  ENGINE_OP("expand_to", "x shape", "y") { v("rank", s.rank); }
};

struct Concat {
  int64_t axis = 0;
  ENGINE_OP("concat", "xs*", "y") { v("axis", s.axis); }
};

// pads [2 * rank]: before, then after; negative ones crop.
struct Pad {
  PadMode mode = PadMode::kConstant;
  Shape pads;
  ENGINE_OP("pad", "x value?", "y") { v("mode", s.mode), v("pads", s.pads); }
};

// A tensor of `dims` filled with a scalar.
struct Fill {
  Shape dims;
  ENGINE_OP("fill", "value", "y") { v("dims", s.dims); }
};

struct FillTo {
  int64_t rank = 0;
  ENGINE_OP("fill_to", "value shape", "y") { v("rank", s.rank); }
};

// start, start + delta, ... below (or above) limit; scalars of one type.
struct Range {
  ENGINE_OP("range", "start limit delta", "y") {}
};

struct Tile {
  Shape repeats;
  ENGINE_OP("tile", "x", "y") { v("repeats", s.repeats); }
};

// Keeps the upper (or lower) triangle of the last two axes, zero elsewhere: column - row >= k (<=
// k).
struct Trilu {
  bool upper = true;
  Dim k;
  ENGINE_OP("trilu", "x", "y") { v("upper", s.upper), v("k", s.k); }
};

// --- Indexing: negative indices count from the end; out of range is an error naming the value --

struct Gather {
  int64_t axis = 0;
  ENGINE_OP("gather", "x indices", "y") { v("axis", s.axis); }
};

struct GatherElements {
  int64_t axis = 0;
  ENGINE_OP("gather_elements", "x indices", "y") { v("axis", s.axis); }
};

struct GatherNd {
  int64_t batchDims = 0;
  ENGINE_OP("gather_nd", "x indices", "y") { v("batch_dims", s.batchDims); }
};

struct ScatterNd {
  ScatterReduction reduction = ScatterReduction::kNone;
  ENGINE_OP("scatter_nd", "x indices updates", "y") { v("reduction", s.reduction); }
};

struct ScatterElements {
  int64_t axis = 0;
  ScatterReduction reduction = ScatterReduction::kNone;
  ENGINE_OP("scatter_elements", "x indices updates", "y") {
    v("axis", s.axis), v("reduction", s.reduction);
  }
};

// --- Reductions and norms ----------------------------------------------------------------------

// Over `axes` (non-negative, ascending; none: the operand itself). Floats accumulate in f32 or
// wider.
struct Reduce {
  ReduceKind kind = ReduceKind::kSum;
  Ints axes;
  bool keepDims = true;
  ENGINE_OP("reduce", "x", "y") {
    v("kind", s.kind), v("axes", s.axes), v("keep_dims", s.keepDims);
  }
};

// Index (i64) of the largest (smallest) element along the axis.
struct ArgReduce {
  bool largest = true;
  int64_t axis = 0;
  bool keepDims = true, lastIndex = false;
  ENGINE_OP("arg_reduce", "x", "y") {
    v("largest", s.largest), v("axis", s.axis), v("keep_dims", s.keepDims),
        v("last_index", s.lastIndex);
  }
};

struct TopK {
  int64_t axis = 0;
  Dim k;
  bool largest = true;
  ENGINE_OP("top_k", "x", "values indices") {
    v("axis", s.axis), v("k", s.k), v("largest", s.largest);
  }
};

struct CumSum {
  int64_t axis = 0;
  bool exclusive = false, reverse = false;
  ENGINE_OP("cum_sum", "x", "y") {
    v("axis", s.axis), v("exclusive", s.exclusive), v("reverse", s.reverse);
  }
};

// Along one axis, in f32. A row of -inf alone gives NaN, as ONNX says (Sdpa is the one that gives
// 0).
struct Softmax {
  int64_t axis = -1;
  bool log = false;
  ENGINE_OP("softmax", "x", "y") { v("axis", s.axis), v("log", s.log); }
};

// x / sqrt(mean(x^2) + epsilon) * scale over the axes from `axis` on, in f32, one rounding to y's
// type, which is scale's. `scale` broadcasts to x.
struct RmsNorm {
  int64_t axis = -1;
  float epsilon = 1e-5f;
  ENGINE_OP("rms_norm", "x scale", "y") { v("axis", s.axis), v("epsilon", s.epsilon); }
};

// (x - mean) / sqrt(var + epsilon) * scale + bias over the axes from `axis` on; mean and invStd are
// f32 with those axes 1.
struct LayerNorm {
  int64_t axis = -1;
  float epsilon = 1e-5f;
  ENGINE_OP("layer_norm", "x scale bias?", "y mean invStd") {
    v("axis", s.axis), v("epsilon", s.epsilon);
  }
};

// --- Control -----------------------------------------------------------------------------------

// Runs one graph; its inputs are the captures, in order. Both give the same types.
struct If {
  GraphRef thenGraph, elseGraph;
  int64_t results = 1;
  ENGINE_OP("if", "condition captures*", "ys*") {
    v("then", s.thenGraph), v("else", s.elseGraph), v("results", s.results);
  }
};

// y is x, once dims that inference could not compare are known: actual[i] == expected[i], or 1
// where i is in orOne, or less where i is in orLess. The error is at `item`.
struct CheckDims {
  std::string item;
  Shape actual, expected;
  Ints orOne, orLess;
  ENGINE_OP("check_dims", "x", "y") {
    v("item", s.item), v("actual", s.actual), v("expected", s.expected), v("or_one", s.orOne),
        v("or_less", s.orLess);
  }
};

// y [B] i64 holds the elements of x [B] (i32 or i64), once all are in [0, limit]. The error is at
// `item`.
struct CheckLengths {
  std::string item;
  Dim limit;
  ENGINE_OP("check_lengths", "x", "y") { v("item", s.item), v("limit", s.limit); }
};

// A node that could not be imported; only `engine dump` shows it.
struct Unsupported {
  std::string domain, type, reason;
  int64_t results = 1;
  ENGINE_OP("unsupported", "xs*", "ys*") {
    v("domain", s.domain), v("type", s.type), v("reason", s.reason), v("results", s.results);
  }
};

// --- Attention ---------------------------------------------------------------------------------

// Rotates the first 2 * R channels of x [B, heads, S, H] by the angle whose cosine and sine stand
// in row p of cos and sin [M, R], or in row [b, s] of [B, S, R] (then no positions). p =
// positions[b, s] ([B, S] i64), else start[b] + s (i64 [B]), else offset + s. Pairs are (i, i + R),
// interleaved (2i, 2i + 1). Rows s >= len[b] (i64 [B]) are copied. A position outside [0, M) of a
// rotated row is an error with node and value.
struct ApplyRope {
  bool interleaved = false;
  Dim offset;
  ENGINE_OP("apply_rope", "x cos sin positions? start? len?", "y") {
    v("interleaved", s.interleaved), v("offset", s.offset);
  }
};

// GroupQueryAttention's bookkeeping of its cache, checked before anything is touched. i64 [B] each.
//   T_b = seqlens[b] + 1; a first prompt iff S == total, without query_seqlens or windowed cache
//   queryStart  0 on a first prompt, else T_b - Q_b
//   queryLen    Q_b = query_seqlens[b], S without
//   keyLen      key rows that Sdpa sees
//   writeStart  first row that KvWrite writes
//   keyStart    position of key row 0
//   split       resident rows of a windowed cache
// seqlens i32, B elements; total i32 one element; querySeqlens i32 [B]. Nothing of `bound` is read
// but its shape: where only the data knows the total, it makes the total a dim.
struct CacheLengths {
  Dim batch;
  Dim queries;         // S
  Dim newRows;         // L: S, or 0 for a borrowed cache
  Dim pastCapacity;    // C_past, 0 without a past
  Dim ropeRows;        // rows of the cos cache, -1 where there is none
  int64_t window = -1; // local window, where the cache is windowed
  bool windowed = false, hasPast = false;
  ENGINE_OP("cache_lengths", "seqlens total querySeqlens? bound?",
            "queryStart queryLen keyLen writeStart keyStart split") {
    v("batch", s.batch), v("queries", s.queries), v("new_rows", s.newRows),
        v("past_capacity", s.pastCapacity), v("rope_rows", s.ropeRows), v("window", s.window),
        v("windowed", s.windowed), v("has_past", s.hasPast);
  }
};

// Rotary positions of GroupQueryAttention's position_ids (i64 [B, S]): on a first prompt (S ==
// total) element [0][0] + s for every entry, else as given. total i32 one element.
struct RopePositions {
  bool promptRule = true; // false with query_seqlens
  ENGINE_OP("rope_positions", "positionIds total", "y") { v("prompt_rule", s.promptRule); }
};

// cache' = cache with update's rows written. Rows lie along `axis` of both; batch is axis 0.
//   start  i64 [B], else `offset` for every entry; len i64 [B]: valid rows of update, else all
//   capacity: rows of cache'. No cache operand: as an empty one.
//   circular: row (start + i) mod capacity; else a row outside [0, capacity) is an error that
//   names node, input and value, as is a negative start.
// In place where the planner grants it (cache' on cache's buffer): then only the rows of update are
// written.
struct KvWrite {
  int64_t axis = 2;
  Dim capacity, offset;
  KvTail tail = KvTail::kKeep;
  bool circular = false;
  ENGINE_OP("kv_write", "cache? update start? len?", "y") {
    v("axis", s.axis), v("capacity", s.capacity), v("offset", s.offset), v("tail", s.tail),
        v("circular", s.circular);
  }
};

// The windowed cache's step: of the `split` resident rows followed by the new rows, keeps the last
// residentRows(T) (kernels/windowed_cache.h), T = keyStart + split + len, at the front of cache'
// [B, K, C, H]; rows behind them are unspecified. split, keyStart, len i64 [B] as CacheLengths
// gives them.
struct KvEvict {
  int64_t window = 0;
  ENGINE_OP("kv_evict", "cache update split keyStart len", "y") { v("window", s.window); }
};

// Codes of a quantised cache: round-half-even(x / scale) clipped to [-128, 127] (i8) or [-8, 7]
// stored + 8, even channel in the low nibble (u8, half the width). x [B, K, L, H], scale f32 of 1
// or K * H elements. NaN gives the largest code.
struct KvQuantize {
  int64_t bits = 8;
  ENGINE_OP("kv_quantize", "x scale", "y") { v("bits", s.bits); }
};

// Attention; kernels/sdpa_problem.h states what it computes. q [B,N,S,H], k [B,K,T,H], v
// [B,K,T,Hv], bias and mask broadcastable to [B,N,S,C] save for C, sink [N], scores
// [B,N,S,scoreColumns]; lengths i64 [B].
struct Sdpa {
  float scale = 1, softcap = 0;
  Band band;
  Anchor anchor = Anchor::kOffset;
  Dim offset;
  Scores scores = Scores::kNone;
  Dim scoreColumns;
  ENGINE_OP("sdpa",
            "q k v kNew? vNew? bias? mask? sink? kScale? vScale? queryStart? queryLen? keyLen? "
            "keyStart? split?",
            "y scores") {
    v("scale", s.scale), v("softcap", s.softcap), v("band", s.band), v("anchor", s.anchor),
        v("offset", s.offset), v("scores", s.scores), v("score_columns", s.scoreColumns);
  }
};

// Operand indices of Sdpa, for those who pick single ones.
namespace sdpa {
enum Operand {
  q,
  k,
  v,
  kNew,
  vNew,
  bias,
  mask,
  sink,
  kScale,
  vScale,
  queryStart,
  queryLen,
  keyLen,
  keyStart,
  split,
  kCount
};
}

// One list: everything else follows (a missing `infer` does not compile, a missing reference kernel
// fails a test).
using Op =
    std::variant<Const, DimValues, Unary, Binary, Where, Cast, MatMul, QuantMatMul, QuantGather,
                 Dequantize, Reshape, ReshapeTo, Transpose, Slice, SliceAt, Expand, ExpandTo,
                 Concat, Pad, Fill, FillTo, Range, Tile, Trilu, Gather, GatherElements, GatherNd,
                 ScatterNd, ScatterElements, Reduce, ArgReduce, TopK, CumSum, Softmax, RmsNorm,
                 LayerNorm, If, CheckDims, CheckLengths, Unsupported, ApplyRope, CacheLengths,
                 RopePositions, KvWrite, KvEvict, KvQuantize, Sdpa>;

inline constexpr size_t kNumOps = std::variant_size_v<Op>;

// Index of an operator in the variant: the key of kernel tables.
template <class T, size_t I = 0> constexpr size_t opIndex() {
  if constexpr (std::is_same_v<T, std::variant_alternative_t<I, Op>>)
    return I;
  else
    return opIndex<T, I + 1>();
}

const char *opName(const Op &op);
const char *opName(size_t index);

struct OperandSpec {
  std::string name;
  bool optional = false;
  bool variadic = false;
};
// The operand (result) list of an operator, split.
llvm::ArrayRef<OperandSpec> operandSpecs(const Op &op);
llvm::ArrayRef<OperandSpec> resultSpecs(const Op &op);

// Results of an operator, variadic ones counted; throws Error where its own count is negative.
size_t numResults(const Op &op);
// A default-constructed operator by name, or null.
const Op *findOp(llvm::StringRef name);

// Field by field; constants by content, graphs by structure, floats by their bits.
bool operator==(const Op &a, const Op &b) = delete;
bool equal(const Op &a, const Op &b);

} // namespace engine::ir
