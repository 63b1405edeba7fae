// Products with dequantised constants: which become QuantMatMul, and that the numbers stay.
#include "lowering/quant_patterns.h"

#include "ir/infer.h"
#include "ir/text.h"
#include "lowering/evaluate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>

using namespace engine;
using namespace engine::ir;

namespace {

struct Row {
  const char *why;
  const char *codes, *scales, *zeros; // types; no zero points: ""
  const char *fields;                 // of the dequantize
  bool transposed;
  bool becomes;
};

ConstRef randomOf(const std::string &type, unsigned seed) {
  const Graph graph = parseGraph("engine-ir 1\ninput %x : " + type + "\noutput %x\n");
  const Fact fact = graph.fact(graph.inputs()[0]);
  llvm::SmallVector<int64_t, 4> dims;
  int64_t count = 1;
  for (const Dim &dim : fact.shape) {
    dims.push_back(*dim.constant());
    count *= dims.back();
  }
  std::mt19937 random(seed);
  if (isFloat(fact.dtype)) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<double>(random() % 64) / 64 - 0.5);
    return makeFloatConst(fact.dtype, dims, values);
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(byteSize(fact.dtype, count)));
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>(random() >> 5);
  return makeConst(fact.dtype, dims, bytes.data(), bytes.size());
}

Graph graphOf(const Row &row) {
  GraphBuilder builder;
  const ValueId codes = builder.constant(randomOf(row.codes, 1));
  const ValueId scales = builder.constant(randomOf(row.scales, 2));
  Values operands = {codes, scales};
  if (*row.zeros)
    operands.push_back(builder.constant(randomOf(row.zeros, 3)));
  // The fields by way of the text form.
  const std::string inputs =
      std::string("input %a : ") + row.codes + "\ninput %b : " + row.scales + "\n";
  const Graph parsed = parseGraph("engine-ir 1\n" + inputs + "%y = dequantize(x=%a, scale=%b) " +
                                  row.fields + "\noutput %y\n");
  ValueId weight = builder.add1(parsed.nodes()[0].op, operands);
  if (row.transposed)
    weight = builder.add1(Transpose{{1, 0}}, {weight});
  const int64_t depth = *builder.fact(weight).shape[0].constant();
  const DType type = builder.fact(weight).dtype;
  const ValueId x = builder.constant(
      randomOf(std::string(dtypeName(type)) + "[2, 3, " + std::to_string(depth) + "]", 4));
  builder.addOutput(builder.add1(MatMul(), {x, weight}), "y");
  return builder.finish();
}

// The output, node by node on the reference kernels.
ConstRef evaluate(const Graph &graph) {
  std::map<uint32_t, ConstRef> values;
  for (const Node &node : graph.nodes()) {
    if (const auto *constant = node.as<Const>()) {
      values[node.results[0].index] = constant->data;
      continue;
    }
    std::vector<ConstRef> operands;
    for (ValueId operand : node.operands)
      operands.push_back(operand.valid() ? values[operand.index] : nullptr);
    values[node.results[0].index] = lowering::evaluateNode(node, operands)[0];
  }
  return values[graph.outputs()[0].index];
}

constexpr Row kRows[] = {
    {"blocks along the depth", "i4[64, 6]", "f32[2, 6]", "", "{axis=0, block=32}", false, true},
    {"with zero points", "i4[64, 6]", "f32[2, 6]", "i4[2, 6]", "{axis=0, block=32}", false, true},
    {"unsigned codes without zero points", "u4[64, 6]", "f32[4, 6]", "", "{axis=0, block=16}",
     false, true},
    {"unsigned codes", "u4[64, 5]", "f32[4, 5]", "u4[4, 5]", "{axis=0, block=16}", false, true},
    {"depth no multiple of the block", "u4[70, 5]", "f32[3, 5]", "u4[3, 5]", "{axis=0, block=32}",
     false, true},
    {"an odd depth", "i4[33, 5]", "f32[3, 5]", "i4[3, 5]", "{axis=0, block=16}", false, true},
    {"transposed", "i4[6, 64]", "f32[6, 2]", "i4[6, 2]", "{axis=1, block=32}", true, true},
    {"8 bits", "i8[64, 6]", "f32[2, 6]", "i8[2, 6]", "{axis=0, block=32}", false, true},
    {"8 bits, unsigned", "u8[64, 6]", "f32[2, 6]", "u8[2, 6]", "{axis=0, block=32}", false, true},
    {"a scale for each column", "i8[300, 6]", "f32[6]", "", "{axis=1}", false, true},
    {"a scale for each column, transposed", "i4[6, 64]", "f32[6]", "i4[6]", "{axis=0}", true, true},
    {"one scale", "i8[20, 70]", "f32[]", "", "", false, true},
    {"f16", "i4[64, 6]", "f16[2, 6]", "", "{axis=0, block=32, to=f16}", false, true},
    {"a negative axis", "i4[64, 6]", "f32[2, 6]", "", "{axis=-2, block=32}", false, true},
    {"blocks across the columns", "i4[64, 32]", "f32[64, 2]", "", "{axis=1, block=16}", false,
     false},
    {"a scale for each row", "i8[64, 6]", "f32[64]", "", "{axis=0}", false, false},
    {"blocks that QuantMatMul has not", "i4[48, 6]", "f32[2, 6]", "", "{axis=0, block=24}", false,
     false},
    {"16 bits", "i16[64, 6]", "f32[2, 6]", "", "{axis=0, block=32}", false, false},
};

TEST_CASE("quant products: what becomes of them") {
  for (const Row &row : kRows) {
    INFO(std::string(row.why));
    const Graph before = graphOf(row);
    const Graph after = lowering::recognizeQuantProducts(before);
    verify(after);
    const Node &last = after.nodes().back();
    CHECK((last.as<QuantMatMul>() != nullptr) == row.becomes);
    if (const auto *op = last.as<QuantMatMul>())
      CHECK(op->accuracyLevel == 0);
    const ConstRef expected = evaluate(before), found = evaluate(after);
    REQUIRE(expected->count() == found->count());
    // A weight of f16 was rounded before; now it is not.
    const double tolerance = expected->dtype == DType::kF32 ? 1e-5 : 1e-2;
    for (int64_t i = 0; i < expected->count(); ++i)
      CHECK(std::abs(found->floatAt(i) - expected->floatAt(i)) <=
            tolerance * (1 + std::abs(expected->floatAt(i))));
  }
}

} // namespace
