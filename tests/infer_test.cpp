// Inference as tables: operator, operands, results (or the refusal).
#include "ir/infer.h"

#include "ir/error.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace engine;
using namespace engine::ir;

namespace {

DType parseType(llvm::StringRef name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (name == dtypeName(static_cast<DType>(i)))
      return static_cast<DType>(i);
  }
  throw Error::internal("no type " + name.str());
}

// "a, max(b, c)" in two.
Shape parseDims(llvm::StringRef text) {
  Shape dims;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      const llvm::StringRef dim = text.slice(start, i).trim();
      if (!dim.empty())
        dims.push_back(Dim::parse(dim));
      start = i + 1;
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')') {
      --depth;
    }
  }
  return dims;
}

// What Fact::str writes: "f32[B, 8]", "i64[2]={B, 8}", "?".
Fact parseFact(llvm::StringRef text) {
  if (text == "?")
    return Fact();
  const auto [type, rest] = text.split('[');
  const auto [dims, tail] = rest.split(']');
  Fact fact = makeFact(parseType(type), parseDims(dims));
  if (!tail.empty())
    fact.contents = parseDims(tail.drop_front(2).drop_back(1));
  return fact;
}

Fact floatConstant(DType type, double value) { return factOf(makeFloatConst(type, {}, {value})); }

std::string inferFacts(const Op &op, llvm::ArrayRef<Fact> operands, llvm::ArrayRef<bool> present) {
  std::vector<const Fact *> pointers;
  for (size_t i = 0; i < operands.size(); ++i)
    pointers.push_back(present[i] ? &operands[i] : nullptr);
  std::vector<Fact> results(std::max<size_t>(1, numResults(op)));
  InferContext context(pointers, results, "n");
  try {
    infer(op, context);
  } catch (const Error &e) {
    return std::string("error: ") + e.what();
  }
  std::string text;
  for (const Fact &result : results)
    text += (text.empty() ? "" : " ") + result.str();
  return text;
}

// "-" is an absent operand.
std::string inferText(const Op &op, llvm::ArrayRef<const char *> operands) {
  std::vector<Fact> facts;
  llvm::SmallVector<bool, 16> present;
  for (const char *operand : operands) {
    present.push_back(llvm::StringRef(operand) != "-");
    facts.push_back(present.back() ? parseFact(operand) : Fact());
  }
  return inferFacts(op, facts, present);
}

struct Row {
  Op op;
  std::vector<const char *> operands;
  const char *results;
};

void check(llvm::ArrayRef<Row> rows) {
  for (const Row &row : rows) {
    std::string label = opName(row.op);
    for (const char *operand : row.operands)
      label += std::string(" ") + operand;
    CAPTURE(label);
    CHECK(inferText(row.op, row.operands) == std::string(row.results));
  }
}

Unary unary(UnaryKind kind) { return {kind}; }
Binary binary(BinaryKind kind) { return {kind}; }

} // namespace

TEST_CASE("infer: elementwise") {
  check({
      {unary(UnaryKind::kSilu), {"f16[B, 4]"}, "f16[B, 4]"},
      {unary(UnaryKind::kIsNan), {"f16[B]"}, "bool[B]"},
      {unary(UnaryKind::kExp),
       {"i32[4]"},
       "error: operand 'x': found i32[4], expected a float type"},
      {unary(UnaryKind::kNot),
       {"f32[4]"},
       "error: operand 'x': found f32[4], expected element type bool"},
      {binary(BinaryKind::kAdd), {"f32[B, 1, H]", "f32[S, 1]"}, "f32[B, S, H]"},
      // A constant other than 1 says what the symbol must be.
      {binary(BinaryKind::kAdd), {"f32[B]", "f32[8]"}, "f32[8]"},
      {binary(BinaryKind::kMul), {"f32[B]", "f32[S]"}, "f32[broadcast(B, S)]"},
      {binary(BinaryKind::kMul),
       {"f32[3]", "f32[4]"},
       "error: found shapes [3] and [4], expected shapes that broadcast"},
      {binary(BinaryKind::kAdd),
       {"f32[3]", "f16[3]"},
       "error: operand 'b': found f16[3], expected element type f32 as operand 'a'"},
      {binary(BinaryKind::kPow), {"f32[3]", "i64[]"}, "f32[3]"},
      {binary(BinaryKind::kLess), {"f32[3]", "f32[]"}, "bool[3]"},
      {binary(BinaryKind::kAnd),
       {"bool[3]", "f32[]"},
       "error: operand 'b': found f32[], expected element type bool"},
      {Where{}, {"bool[S, 1]", "f32[]", "f32[T]"}, "f32[S, T]"},
      {Cast{DType::kI32}, {"f32[S]"}, "i32[S]"},
      // Nothing is concluded from what could not be imported.
      {binary(BinaryKind::kAdd), {"?", "f32[3]"}, "?"},
      {binary(BinaryKind::kAdd), {"f32[3]"}, "error: operand 'b': found none, expected one"},
  });
}

TEST_CASE("infer: products and quantised weights") {
  const QuantMatMul quant{70, 6, 4, 32, 0};
  check({
      {MatMul{}, {"f32[B, S, 8]", "f32[8, 16]"}, "f32[B, S, 16]"},
      {MatMul{}, {"f32[8]", "f32[B, 8, 3]"}, "f32[B, 3]"},
      {MatMul{}, {"f32[8]", "f32[8]"}, "f32[]"},
      {MatMul{}, {"f32[B, 1, S, 8]", "f32[N, 8, T]"}, "f32[B, N, S, T]"},
      {MatMul{},
       {"f32[2, 8]", "f32[7, 4]"},
       "error: operand 'b': found f32[7, 4], expected 8 at axis 0"},
      {quant, {"f16[B, 70]", "u8[6, 3, 16]", "f16[18]"}, "f16[B, 6]"},
      {quant, {"f16[B, 70]", "u8[6, 3, 16]", "f32[6, 3]", "u8[12]", "f16[6]"}, "f16[B, 6]"},
      {quant,
       {"f16[B, 70]", "u8[6, 2, 16]", "f16[18]"},
       "error: operand 'w': found u8[6, 2, 16], expected shape [6, 3, 16]"},
      {quant,
       {"f16[B, 70]", "u8[6, 3, 16]", "f16[17]"},
       "error: operand 'scales': found f16[17], expected 18 elements"},
      {QuantGather{4, 32}, {"u8[100, 32]", "i64[B, S]", "f16[100, 2]"}, "f16[B, S, 64]"},
      {QuantGather{4, 32}, {"i4[100, 64]", "i64[B]", "f32[100, 2]", "i4[100, 2]"}, "f32[B, 64]"},
      {Dequantize{0, 0, DType::kF16}, {"i8[4, 8]", "f16[4]", "i8[4]"}, "f16[4, 8]"},
      {Dequantize{1, 4, DType::kF32}, {"u4[4, 8]", "f32[4, 2]"}, "f32[4, 8]"},
      {Dequantize{1, 4, DType::kF32},
       {"u4[4, 8]", "f32[4, 3]"},
       "error: operand 'scale': found f32[4, 3], expected shape [4, 2]"},
  });
}

TEST_CASE("infer: shapes from shape operands") {
  check({
      {Reshape{parseDims("B, S, 4, 16")}, {"f32[B, S, 64]"}, "f32[B, S, 4, 16]"},
      {Reshape{parseDims("3, 4")},
       {"f32[13]"},
       "error: operand 'x': found f32[13], expected 12 elements for shape [3, 4]"},
      {ReshapeTo{4}, {"f32[B, S, 64]", "i64[4]={0, 0, 4, -1}"}, "f32[B, S, 4, 16]"},
      {ReshapeTo{3}, {"f32[B*S, 64]", "i64[3]={B, -1, 64}"}, "f32[B, S, 64]"},
      {ReshapeTo{2}, {"f32[B, S, 64]", "i64[2]={-1, 64}"}, "f32[B*S, 64]"},
      {ReshapeTo{2, true}, {"f32[0, 3]", "i64[2]={7, 0}"}, "f32[7, 0]"},
      {ReshapeTo{2}, {"f32[B, 6]", "i64[2]"}, "f32[\"@n.0.0\", \"@n.0.1\"]"},
      // No division of B*6 by 4 as written.
      {ReshapeTo{2}, {"f32[B, 6]", "i64[2]={4, -1}"}, "f32[4, \"@n.0.1\"]"},
      // The value of an input may be -1.
      {ReshapeTo{2}, {"f32[B, 6]", "i64[2]={$rows, 6}"}, "f32[\"@n.0.0\", 6]"},
      {ReshapeTo{2},
       {"f32[7, 2]", "i64[2]={4, -1}"},
       "error: operand 'shape': found i64[2]={4, -1}, expected a shape whose known dims divide the "
       "14 "
       "elements"},
      {ReshapeTo{2},
       {"f32[7, 2]", "i64[2]={-1, -1}"},
       "error: operand 'shape': found two -1 in i64[2]={-1, -1}, expected one at most"},
      {ExpandTo{3}, {"f32[S, 1]", "i64[3]={B, 1, T}"}, "f32[B, S, T]"},
      {ExpandTo{3}, {"f32[8, S]", "i64[3]"}, "f32[\"@n.0.0\", 8, \"@n.0.2\"]"},
      {Expand{parseDims("B, 1, T")}, {"f32[S, 1]"}, "f32[B, S, T]"},
      {Fill{parseDims("B, 2")}, {"f16[1]"}, "f16[B, 2]"},
      {FillTo{2}, {"f16[]", "i64[2]={B, S}"}, "f16[B, S]"},
      {FillTo{1}, {"f16[]", "i64[1]"}, "f16[\"@n.0.0\"]"},
      {Range{}, {"i64[]={0}", "i64[]={S}", "i64[]={1}"}, "i64[S]"},
      {Range{}, {"i64[]={P}", "i64[]={P + S}", "i64[]={1}"}, "i64[S]"},
      {Range{}, {"i64[]={0}", "i64[]={S}", "i64[]={2}"}, "i64[floordiv(S + 1, 2)]"},
      {Range{}, {"i64[]={0}", "i64[]={S - 1}", "i64[]={1}"}, "i64[max(S - 1, 0)]"},
      {Range{}, {"i64[]={5}", "i64[]={0}", "i64[]={-2}"}, "i64[3]={5, 3, 1}"},
      {Range{}, {"i64[]={5}", "i64[]={9}", "i64[]={-2}"}, "i64[0]={}"},
      {Range{}, {"i64[]", "i64[]={9}", "i64[]={1}"}, "i64[\"@n.0.0\"]"},
      {Range{},
       {"i64[]={0}", "i64[]={9}", "i64[]={0}"},
       "error: operand 'delta': found 0, expected another step"},
  });
}

TEST_CASE("infer: a range of floats from constants") {
  struct {
    DType type;
    double start, limit, delta;
    const char *result;
  } const rows[] = {
      {DType::kF32, 0, 1, 0.25, "f32[4]"},
      {DType::kF32, 0, 1.1, 0.25, "f32[5]"},
      {DType::kF64, 2, 0, -0.5, "f64[4]"},
      {DType::kF32, 2, 0, 0.5, "f32[0]"},
      {DType::kF32, 2, 0, 0, "error: operand 'delta': found 0, expected another step"},
  };
  for (const auto &row : rows) {
    const Fact operands[] = {floatConstant(row.type, row.start), floatConstant(row.type, row.limit),
                             floatConstant(row.type, row.delta)};
    CHECK(inferFacts(Range{}, operands, {true, true, true}) == std::string(row.result));
  }
}

TEST_CASE("infer: layout") {
  check({
      {Transpose{{0, 2, 1}}, {"f32[B, S, 4]"}, "f32[B, 4, S]"},
      {Transpose{{0, 0, 1}},
       {"f32[B, S, 4]"},
       "error: attribute 'perm': found [0, 0, 1], expected each axis of f32[B, S, 4] once"},
      {Slice{1, 2, 3, 2}, {"f32[B, 8]"}, "f32[B, 3]"},
      {Slice{-1, 2, 4, 2},
       {"f32[B, 8]"},
       "error: operand 'x': found f32[B, 8], expected room for 4 elements from 2 on along axis -1, "
       "step "
       "2"},
      {Slice{1, 7, 8, -1}, {"f32[B, 8]"}, "f32[B, 8]"},
      {Slice{2, 0, 1, 1},
       {"f32[B, 8]"},
       "error: attribute 'axis': found 2, expected an axis of an operand of rank 2"},
      {SliceAt{{1}}, {"f32[4, S]", "i64[1]={0}", "i64[1]={9223372036854775807}"}, "f32[4, S]"},
      {SliceAt{{1}},
       {"f32[4, S]", "i64[1]={-1}", "i64[1]={9223372036854775807}"},
       "f32[4, min(S, 1)]"},
      {SliceAt{{0}}, {"f32[P + S, 4]", "i64[1]={P}", "i64[1]={P + S}"}, "f32[S, 4]"},
      {SliceAt{{0}}, {"f32[4096, 4]", "i64[1]={0}", "i64[1]={S}"}, "f32[min(S, 4096), 4]"},
      {SliceAt{{0}}, {"f32[9, 4]", "i64[1]={-100}", "i64[1]={100}", "i64[1]={2}"}, "f32[5, 4]"},
      {SliceAt{{0}},
       {"f32[9, 4]", "i64[1]={-1}", "i64[1]={-9223372036854775807}", "i64[1]={-4}"},
       "f32[3, 4]"},
      {SliceAt{{0}}, {"f32[9, 4]", "i64[1]", "i64[1]={3}"}, "f32[\"@n.0.0\", 4]"},
      {SliceAt{{0}}, {"f32[9, 4]", "i64[1]={$from}", "i64[1]={3}"}, "f32[\"@n.0.0\", 4]"},
      {SliceAt{{0}},
       {"f32[9, 4]", "i64[1]={0}", "i64[1]={3}", "i64[1]={0}"},
       "error: operand 'steps': found a step of 0, expected another than 0"},
      {Concat{1}, {"f32[B, P]", "f32[2, S]"}, "f32[2, P + S]"},
      {Concat{1},
       {"f32[3, P]", "f32[2, S]"},
       "error: operand 'xs[1]': found f32[2, S], expected 3 at axis 0"},
      {Pad{PadMode::kConstant, parseDims("0, 1, 0, T - S")}, {"f32[B, S]"}, "f32[B, T + 1]"},
      {Tile{parseDims("2, S")}, {"f32[B, 3]"}, "f32[2*B, 3*S]"},
      {Trilu{}, {"f32[3]"}, "error: operand 'x': found f32[3], expected rank 2 or more"},
  });
}

TEST_CASE("infer: indexing and reductions") {
  Reduce mean{ReduceKind::kMean, {1}, false};
  check({
      {Gather{1}, {"f32[B, 9, H]", "i64[S, 2]"}, "f32[B, S, 2, H]"},
      {Gather{0},
       {"f32[9]", "f32[2]"},
       "error: operand 'indices': found f32[2], expected element type i32 or i64"},
      {GatherElements{1}, {"f32[4, 9]", "i32[4, 2]"}, "f32[4, 2]"},
      {GatherNd{1}, {"f32[B, 5, 6, 7]", "i64[B, S, 2]"}, "f32[B, S, 7]"},
      {GatherNd{0},
       {"f32[5, 6]", "i64[S, 3]"},
       "error: operand 'indices': found i64[S, 3], expected 1 to 2 as its last dim"},
      {ScatterNd{}, {"f32[5, 6]", "i64[S, 1]", "f32[S, 6]"}, "f32[5, 6]"},
      {ScatterElements{0},
       {"f32[5, 6]", "i64[2, 6]", "f32[3, 6]"},
       "error: operand 'updates': found f32[3, 6], expected shape [2, 6]"},
      {mean, {"f32[B, S, H]"}, "f32[B, H]"},
      {Reduce{ReduceKind::kSum, {0, 2}, true}, {"f32[B, S, H]"}, "f32[1, S, 1]"},
      {Reduce{ReduceKind::kSum, {}, true}, {"f32[B, S]"}, "f32[B, S]"},
      {ArgReduce{true, -1, false, false}, {"f32[B, V]"}, "i64[B]"},
      {TopK{1, 4, true}, {"f32[B, V]"}, "f32[B, 4] i64[B, 4]"},
      {TopK{1, 4, true},
       {"f32[B, 3]"},
       "error: attribute 'k': found 4, expected at most the axis's length 3"},
      {CumSum{1}, {"i64[B, S]"}, "i64[B, S]"},
      {Softmax{-1}, {"f16[B, S]"}, "f16[B, S]"},
      {RmsNorm{-1}, {"f32[B, S, 64]", "f16[64]"}, "f16[B, S, 64]"},
      {RmsNorm{-1},
       {"f32[B, S, 64]", "f32[63]"},
       "error: operand 'scale': found f32[63], expected a shape that broadcasts to [B, S, 64]"},
      {LayerNorm{-1}, {"f32[B, S, 64]", "f32[64]"}, "f32[B, S, 64] f32[B, S, 1] f32[B, S, 1]"},
  });
}

TEST_CASE("infer: attention") {
  const char *q = "f16[B, 8, S, 64]";
  const char *k = "f16[B, 2, T, 64]";
  const char *v = "f16[B, 2, T, 32]";
  Sdpa withScores;
  withScores.scores = Scores::kRaw;
  withScores.scoreColumns = Dim::symbol("T");
  KvWrite write;
  write.capacity = Dim::parse("P + S");
  CacheLengths lengths;
  lengths.batch = Dim::symbol("B");
  const char *codes4 = "u8[B, 2, T, 32]";
  const char *scale = "f32[128]";
  check({
      {Sdpa{}, {q, k, v}, "f16[B, 8, S, 32] ?"},
      {withScores, {q, k, v}, "f16[B, 8, S, 32] f16[B, 8, S, T]"},
      {Sdpa{}, {q, codes4, codes4, "-", "-", "-", "-", "-", scale, scale}, "f16[B, 8, S, 64] ?"},
      {Sdpa{},
       {q, k, v, "-", "-", "f16[1, 8, 1, C]", "bool[S, 4]", "f16[8]", "-", "-", "i64[B]"},
       "f16[B, 8, S, 32] ?"},
      {Sdpa{}, {q, k, v, k, v}, "f16[B, 8, S, 32] ?"},
      {Sdpa{},
       {q, k, v, k},
       "error: operand 'vNew': found none, expected one, as there is operand 'kNew'"},
      {Sdpa{},
       {q, "f16[B, 3, T, 64]", v},
       "error: operand 'k': found f16[B, 3, T, 64], expected a number of KV heads that divides the "
       "8 query heads"},
      {Sdpa{},
       {q, "f16[B, 2, T, 48]", v},
       "error: operand 'k': found f16[B, 2, T, 48], expected rows of head size 64"},
      {Sdpa{},
       {q, k, v, "-", "-", "f16[3, 4, S, T]"},
       "error: operand 'bias': found f16[3, 4, S, T], expected a shape that broadcasts to [B, 8, "
       "S, T]"},
      {Sdpa{},
       {q, k, v, "-", "-", "-", "-", "-", "-", "-", "i32[B]"},
       "error: operand 'queryStart': found i32[B], expected element type i64"},
      {ApplyRope{}, {q, "f32[M, 32]", "f32[M, 32]", "i64[B, S]"}, q},
      {ApplyRope{},
       {q, "f32[M, 48]", "f32[M, 48]"},
       "error: operand 'cos': found f32[M, 48], expected at most half the head size 64 as its last "
       "dim"},
      {ApplyRope{},
       {q, "f32[B, S, 16]", "f32[B, S, 16]", "i64[B, S]"},
       "error: operand 'positions': found i64[B, S], expected none where cos and sin have a row "
       "per batch entry and position"},
      {write, {"f16[B, 2, P, 64]", "f16[B, 2, S, 64]", "i64[B]"}, "f16[B, 2, P + S, 64]"},
      {write, {"-", "f16[B, 2, S, 64]"}, "f16[B, 2, P + S, 64]"},
      {write,
       {"f32[B, 2, P, 64]", "f16[B, 2, S, 64]"},
       "error: operand 'cache': found f32[B, 2, P, 64], expected element type f16 as operand "
       "'update'"},
      {KvEvict{8},
       {"f16[B, 2, C, 64]", "f16[B, 2, S, 64]", "i64[B]", "i64[B]", "i64[B]"},
       "f16[B, 2, C, 64]"},
      {KvQuantize{8}, {"f16[B, 2, S, 64]", "f32[]"}, "i8[B, 2, S, 64]"},
      {KvQuantize{4}, {"f16[B, 2, S, 64]", "f32[128]"}, "u8[B, 2, S, 32]"},
      {KvQuantize{4},
       {"f16[B, 2, S, 63]", "f32[1]"},
       "error: operand 'x': found f16[B, 2, S, 63], expected an even last dim, as two 4-bit codes "
       "share a byte"},
      {lengths, {"i32[B, 1]", "i32[1]"}, "i64[B] i64[B] i64[B] i64[B] i64[B] i64[B]"},
      {RopePositions{}, {"i64[B, S]", "i32[]"}, "i64[B, S]"},
  });
}

TEST_CASE("infer: contents stay symbolic through shape arithmetic") {
  DimValues shape;
  shape.dims = {3};
  shape.values = parseDims("B, S, 64");
  check({
      {shape, {}, "i64[3]={B, S, 64}"},
      {Gather{0}, {"i64[3]={B, S, 64}", "i64[]={1}"}, "i64[]={S}"},
      {Gather{0}, {"i64[3]={B, S, 64}", "i64[2]={-1, 0}"}, "i64[2]={64, B}"},
      {Gather{0}, {"i64[3]={B, S, 64}", "i64[]={3}"}, "i64[]"},
      {Concat{0}, {"i64[1]={B}", "i64[2]={4, -1}"}, "i64[3]={B, 4, -1}"},
      {Concat{0}, {"i64[1]", "i64[2]={4, -1}"}, "i64[3]"},
      {Concat{1}, {"i64[2, 1]={1, 2}", "i64[2, 2]={3, 4, 5, 6}"}, "i64[2, 3]={1, 3, 4, 2, 5, 6}"},
      {Reshape{parseDims("1")}, {"i64[]={S}"}, "i64[1]={S}"},
      {Transpose{{1, 0}}, {"i64[2, 2]={1, 2, 3, 4}"}, "i64[2, 2]={1, 3, 2, 4}"},
      {Cast{DType::kI32}, {"i64[1]={P + S}"}, "i32[1]={P + S}"},
      {Cast{DType::kI32}, {"i64[1]={4294967296}"}, "i32[1]"},
      {Cast{DType::kBool}, {"i64[2]={S + 1, 0}"}, "bool[2]={1, 0}"},
      {binary(BinaryKind::kAdd), {"i64[]={P}", "i64[1]={S}"}, "i64[1]={P + S}"},
      {binary(BinaryKind::kMul), {"i64[2]={B, 2}", "i64[]={S}"}, "i64[2]={B*S, 2*S}"},
      {binary(BinaryKind::kDiv), {"i64[]={8*S}", "i64[]={4}"}, "i64[]={2*S}"},
      {binary(BinaryKind::kDiv), {"i64[]={S}", "i64[]={2}"}, "i64[]={floordiv(S, 2)}"},
      // Truncation is not floor below 0.
      {binary(BinaryKind::kDiv), {"i64[]={S - 1}", "i64[]={2}"}, "i64[]"},
      {binary(BinaryKind::kDiv), {"i64[]={-7}", "i64[]={2}"}, "i64[]={-3}"},
      {binary(BinaryKind::kDiv), {"i64[]={7}", "i64[]={0}"}, "i64[]"},
      {binary(BinaryKind::kMod), {"i64[]={-7}", "i64[]={4}"}, "i64[]={1}"},
      {binary(BinaryKind::kFmod), {"i64[]={-7}", "i64[]={4}"}, "i64[]={-3}"},
      {binary(BinaryKind::kMax), {"i64[]={S}", "i64[]={1}"}, "i64[]={max(S, 1)}"},
      {binary(BinaryKind::kAdd), {"i64[]={9223372036854775807}", "i64[]={1}"}, "i64[]"},
      {binary(BinaryKind::kAdd), {"i32[]={2147483647}", "i32[]={1}"}, "i32[]"},
      // A length is never -1, an input's value may be.
      {binary(BinaryKind::kEqual), {"i64[2]={S, 4}", "i64[]={-1}"}, "bool[2]={0, 0}"},
      {binary(BinaryKind::kEqual), {"i64[1]={$n}", "i64[]={-1}"}, "bool[1]"},
      {binary(BinaryKind::kGreaterOrEqual), {"i64[]={P + S}", "i64[]={P}"}, "bool[]={1}"},
      {binary(BinaryKind::kLess), {"i64[]={P}", "i64[]={S}"}, "bool[]"},
      {Where{}, {"bool[2]={0, 1}", "i64[2]={1, 1}", "i64[2]={B, S}"}, "i64[2]={B, 1}"},
      {unary(UnaryKind::kNeg), {"i64[]={S}"}, "i64[]={-S}"},
      {unary(UnaryKind::kAbs), {"i64[2]={S, -3}"}, "i64[2]={S, 3}"},
      {unary(UnaryKind::kNot), {"bool[1]={1}"}, "bool[1]={0}"},
      {Slice{0, 1, 2, 1}, {"i64[3]={B, S, 64}"}, "i64[2]={S, 64}"},
      {Slice{0, 2, 3, -1}, {"i64[3]={B, S, 64}"}, "i64[3]={64, S, B}"},
      {SliceAt{{0}}, {"i64[3]={B, S, 64}", "i64[1]={-2}", "i64[1]={3}"}, "i64[2]={S, 64}"},
      {Expand{parseDims("2")}, {"i64[]={S}"}, "i64[2]={S, S}"},
      {Fill{parseDims("2")}, {"i64[1]={-1}"}, "i64[2]={-1, -1}"},
      {Tile{parseDims("2")}, {"i64[2]={1, S}"}, "i64[4]={1, S, 1, S}"},
      {Reduce{ReduceKind::kProd, {0}, false}, {"i64[3]={B, S, 64}"}, "i64[]={64*B*S}"},
      {Reduce{ReduceKind::kSum, {1}, true}, {"i64[2, 2]={1, 2, 3, S}"}, "i64[2, 1]={3, S + 3}"},
      {Reduce{ReduceKind::kProd, {0}, false}, {"i64[0]={}"}, "i64[]={1}"},
      {Range{}, {"i64[]={P}", "i64[]={P + 3}", "i64[]={1}"}, "i64[3]={P, P + 1, P + 2}"},
  });
}

TEST_CASE("infer: what leaves the machine is refused") {
  check({
      {Fill{parseDims("4294967296, 4294967296")},
       {"f32[]"},
       "error: found a result of shape [4294967296, 4294967296], expected fewer elements"},
      {Expand{parseDims("1, 1, 1, 1, 1, 1, 1, 1, 1")},
       {"f32[]"},
       "error: found a result of rank 9, expected at most 8"},
      {Fill{parseDims("-1")},
       {"f32[]"},
       "error: attribute 'dims': found [-1], expected no negative length"},
  });
}

TEST_CASE("sliceRange: ONNX bounds on one axis") {
  struct {
    const char *start, *end;
    int64_t step;
    const char *length, *expected;
  } const rows[] = {
      {"0", "9223372036854775807", 1, "S", "0 S"},
      {"1", "9223372036854775807", 1, "8", "1 7"},
      {"-3", "9223372036854775807", 1, "8", "5 3"},
      {"2", "-1", 1, "8", "2 5"},
      {"5", "2", 1, "8", "5 0"},
      {"-1", "-9223372036854775808", -1, "8", "7 8"},
      {"100", "1", -2, "8", "7 3"},
      {"P", "P + S", 1, "P + S + 4", "P S"},
      {"0", "S", 1, "T", "0 min(S, T)"},
      {"$n", "4", 1, "8", "unknown"},
  };
  for (const auto &row : rows) {
    const auto range =
        sliceRange(Dim::parse(row.start), Dim::parse(row.end), row.step, Dim::parse(row.length));
    CAPTURE(row.start);
    CAPTURE(row.end);
    CHECK((range ? range->start.str() + " " + range->length.str() : "unknown") ==
          std::string(row.expected));
  }
}
