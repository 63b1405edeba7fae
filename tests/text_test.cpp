// The text form: what prints reads back, and whatever the text holds, the parser answers with a
// graph or an Error.
#include "ir/half.h"
#include "ir/infer.h"
#include "ir/text.h"

#include <doctest/doctest.h>

#include <random>

using namespace engine;
using namespace engine::ir;

namespace {

const std::string kHead = "engine-ir 1\n";

std::string errorOf(const std::string &text) {
  try {
    (void)parseGraph(text);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

void checkRoundTrip(const Graph &graph) {
  const std::string text = str(graph);
  CAPTURE(text);
  const Graph back = parseGraph(text);
  std::string why;
  CHECK(equal(graph, back, &why));
  CAPTURE(why);
  CHECK(why.empty());
  CHECK(str(back) == text);
  verify(back);
}

// A graph of one constant.
Graph graphOf(ConstRef data) {
  GraphBuilder b;
  b.addOutput(b.constant(std::move(data), "", "c"), "");
  return b.finish();
}

template <class T>
ConstRef constOf(DType dtype, llvm::ArrayRef<int64_t> dims, const std::vector<T> &elements) {
  return makeConst(dtype, dims, elements.data(), elements.size() * sizeof(T));
}

// Uses most kinds of fields, names and types.
const std::string kSample = kHead + R"(input %input_ids : i64[batch, S]
input %mode : i32[]={$mode} default i32[]{1}
input %"a b" : f32[batch, "past len", 8]
input %c : bool[]
input %scale : f32[8]
%/m/w = const {data=f32[2]{1, -0.5}} : f32[2]
%/m/shape = dim_values {dims=[2], values=[batch, P + S]} : i64[2]={batch, P + S} @"/m/n" #"ai.onnx.Shape"
%u = unary(%"a b") {kind=gelu_tanh} : f32[batch, "past len", 8]
%t = transpose(%u) {perm=[1, 0, 2]} : f32["past len", batch, 8] @"/m/t" #"ai.onnx.Transpose"
_, %i = top_k(%t) {axis=2, k=4} : _, i64["past len", batch, 4] @"top"
%r = if(%c, %u) {then=graph {
  input %x : f32[batch, "past len", 8]
  %y = unary(%x) {kind=neg} : f32[batch, "past len", 8]
  output %y
}, else=graph {
  input %x : f32[batch, "past len", 8]
  output %x as "y"
}} : f32[batch, "past len", 8]
%n, _, _ = layer_norm(x=%u, scale=%scale, bias=%scale) : f32[batch, "past len", 8], _, _
output %r as "logits"
output %i
)";

} // namespace

TEST_CASE("text: statements read back as they stand") {
  const std::vector<std::string> statements = {
      "input %x : ?\n",
      "input %x : f16[]\n",
      "input %x : f32[B, 8*S + 1, max(P, 3)]\n",
      "input %x : f32[\"no identifier\", \"2\"]\n",
      "input %x : i64[2]={B, -1}\n",
      "input %n : i64[1]={$n} default i64[1]{7}\n",
      "input %/layers.0/attn.q#2 : f32[1]\noutput %/layers.0/attn.q#2 as \"q\"\n",
      "input %\"a \\\"b\\\" \\\\ \\x01\" : f32[1]\n",
      "input %\"\" : f32[1]\n",
      "%c = const {data=bool[2]{true, false}} : bool[2]\n",
      "%c = const {data=i4[3]{-8, 7, -1}} : i4[3]\n",
      "%c = const {data=u64[1]{18446744073709551615}} : u64[1]\n",
      "%c = const {data=i64[]{-9223372036854775808}} : i64[]\n",
      "%c = const {data=f32[0, 4]{}} : f32[0, 4]\n",
      "%c = const {data=f32[7]{0, -0, 0.1, 1e-45, 3.4028235e+38, inf, -inf}} : f32[7]\n",
      "%c = const {data=f32[3]{nan, nan(0xffc00000), nan(0x7f800001)}} : f32[3]\n",
      "%c = const {data=f64[3]{0.1, 5e-324, nan(0xfff8000000000000)}} : f64[3]\n",
      "%c = const {data=f16[4]{0.33325195, 65504, nan, nan(0xfe00)}} : f16[4]\n",
      "%c = const {data=bf16[3]{0.33398438, 9.1835e-41, nan(0x7fc1)}} : bf16[3]\n",
      "%c = const {data=bool[2] hex\"0102\"} : bool[2]\n",
      "%c = const {data=u4[1] hex\"f3\"} : u4[1]\n",
      "%s = dim_values {dtype=i32, dims=[1], values=[2*S]} : i32[1]={2*S}\n",
      "input %x : f32[4, 9]\n%v, %i = top_k(%x) {axis=1, k=3, largest=true} : f32[4, 3], i64[4, "
      "3]\n",
      "input %x : ?\nunsupported(%x, _, %x) {domain=\"d\", type=\"T\", reason=\"no "
      "\\\"importer\\\"\", results=0} "
      "@\"n\" #\"d.T\"\n",
  };
  for (const std::string &statement : statements) {
    CAPTURE(statement);
    std::string text;
    CHECK_NOTHROW(text = str(parseGraph(kHead + statement)));
    // Fields at their default are not printed again.
    if (!contains(statement, "largest=true"))
      CHECK(text == kHead + statement);
    CHECK(str(parseGraph(text)) == text);
  }
}

TEST_CASE("text: a graph with most of everything") {
  const Graph graph = parseGraph(kSample);
  verify(graph);
  checkRoundTrip(graph);
  CHECK(graph.inputs().size() == 5);
  CHECK(graph.defaults().size() == 1);
  CHECK(graph.outputNames()[0] == "logits");
  CHECK(graph.nodes()[1].name == "/m/n");
  CHECK(graph.nodes()[1].onnx == "ai.onnx.Shape");
}

TEST_CASE("text: every field of Sdpa") {
  GraphBuilder b;
  const Dim s = Dim::symbol("S"), p = Dim::symbol("P");
  const ValueId q = b.addInput("q", makeFact(DType::kF32, {2, 8, s, 64}));
  const ValueId k = b.addInput("k", makeFact(DType::kF32, {2, 2, p, 64}));
  const ValueId n = b.addInput("n", makeFact(DType::kI64, {2}));
  Sdpa op;
  op.scale = 0.125f;
  op.softcap = 30;
  op.band = {127, 0};
  op.anchor = Anchor::kKeyEnd;
  op.scores = Scores::kProbabilities;
  op.scoreColumns = p;
  Values operands(sdpa::kCount, kNoValue);
  operands[sdpa::q] = q;
  operands[sdpa::k] = operands[sdpa::v] = k;
  operands[sdpa::keyLen] = n;
  b.setOrigin("/layers.0/attn", "ai.onnx.Attention");
  const Values results = b.add(op, operands, "", {"y"});
  b.addOutput(results[0], "");
  b.addOutput(results[1], "scores");
  const Graph graph = b.finish();
  checkRoundTrip(graph);
  CHECK(contains(
      str(graph),
      "%y, %/layers.0/attn.scores = sdpa(q=%q, k=%k, v=%k, keyLen=%n) {scale=0.125, "
      "softcap=30, band=[127, 0], anchor=key_end, scores=probabilities, score_columns=P} : "));
  const Graph causal =
      parseGraph(kHead + "input %q : ?\n%y, _ = sdpa(q=%q, k=%q, v=%q) {band=[.., 0]}");
  CHECK(causal.nodes()[0].as<Sdpa>()->band == kCausalBand);
  CHECK(contains(str(causal), "{band=[.., 0]}"));
}

namespace {

// Sets every field to something that is not its default.
class FieldScrambler {
public:
  explicit FieldScrambler(unsigned seed) : random_(seed) {}

  void operator()(const char *, bool &value) { value = !value; }
  void operator()(const char *name, int64_t &value) {
    value = llvm::StringRef(name) == "results" ? 2 : static_cast<int64_t>(random_() % 100) - 50;
  }
  void operator()(const char *, float &value) {
    value = 0.1f * static_cast<float>(random_() % 9 + 1);
  }
  void operator()(const char *, std::string &value) { value = "a \"b\"\n\x7f\xc3\xa4"; }
  void operator()(const char *, Dim &value) { value = dim(); }
  void operator()(const char *, Shape &value) { value = {dim(), 7, dim()}; }
  void operator()(const char *, Ints &value) {
    value = {static_cast<int64_t>(random_() % 9), -1, INT64_MIN};
  }
  void operator()(const char *, DType &value) { value = DType::kBF16; }
  void operator()(const char *, Band &value) {
    value = {Band::kOpen, -static_cast<int64_t>(random_() % 9)};
  }
  void operator()(const char *, ConstRef &value) { value = makeIntConst(DType::kI8, {2}, {1, -1}); }
  void operator()(const char *, GraphRef &value) {
    GraphBuilder b;
    const ValueId x = b.addInput("inner", Fact());
    b.addOutput(x, "y0");
    b.addOutput(b.add1(Unary{UnaryKind::kTanh}, {x}), "y1");
    value = std::make_shared<Graph>(b.finish());
  }
  template <class E>
  requires std::is_enum_v<E>
  void operator()(const char *, E &value) { value = static_cast<E>(enumNames(value).size() - 1); }

private:
  Dim dim() {
    return Dim::floorDiv(Dim::symbol("S") + static_cast<int64_t>(random_() % 9), 2) -
           Dim::symbol("past len");
  }
  std::mt19937 random_;
};

} // namespace

// Operands of unknown type: then inference has nothing to say about the fields.
TEST_CASE("text: every operator with every field changed") {
  for (size_t i = 0; i < kNumOps; ++i) {
    CAPTURE(opName(i));
    Op op = *findOp(opName(i));
    if (std::holds_alternative<DimValues>(op))
      continue; // its fields depend on each other; it is in the statements above
    std::visit(
        [i](auto &fields) {
          std::decay_t<decltype(fields)>::fields(fields, FieldScrambler(static_cast<unsigned>(i)));
        },
        op);
    GraphBuilder b;
    const ValueId x = b.addInput("x", Fact());
    const Values operands(operandSpecs(op).size(), x);
    b.setOrigin("/node", "domain.Op");
    REQUIRE_NOTHROW((void)b.add(op, operands));
    checkRoundTrip(b.finish());
  }
}

TEST_CASE("text: all f16 and bf16 values stand in the text exactly") {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (uint32_t first = 0; first < 0x10000; first += 64) {
      std::vector<uint16_t> bits(64);
      for (uint32_t i = 0; i < 64; ++i)
        bits[i] = static_cast<uint16_t>(first + i);
      const Graph graph = graphOf(constOf(dtype, {64}, bits));
      REQUIRE(equal(graph, parseGraph(str(graph))));
    }
  }
}

TEST_CASE("text: random bits of f32 and f64 stand in the text exactly") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint32_t> narrow(64);
    std::vector<uint64_t> wide(64);
    for (size_t i = 0; i < 64; ++i) {
      narrow[i] = static_cast<uint32_t>(random());
      wide[i] = random();
    }
    const Graph f32 = graphOf(constOf(DType::kF32, {64}, narrow));
    const Graph f64 = graphOf(constOf(DType::kF64, {8, 8}, wide));
    REQUIRE(equal(f32, parseGraph(str(f32))));
    REQUIRE(equal(f64, parseGraph(str(f64))));
  }
}

TEST_CASE("text: large constants stand as bytes or as a place in a file") {
  std::vector<uint8_t> bytes(65);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 5);
  const ConstRef data = constOf(DType::kU8, {65}, bytes);
  const Graph inBytes = graphOf(data);
  checkRoundTrip(inBytes);
  CHECK(contains(str(inBytes), "{data=u8[65] hex\"00050a0f"));

  ConstData located = *data;
  located.file = "weights \"1\".data";
  located.offset = 4096;
  const Graph inFile = graphOf(std::make_shared<ConstData>(located));
  const std::string text = str(inFile);
  CHECK(contains(text, "{data=u8[65] data(\"weights \\\"1\\\".data\", 4096, 65)}"));
  CHECK(contains(errorOf(text),
                 "line 2, column 18: data in file 'weights \"1\".data' cannot be read here"));

  int calls = 0;
  const DataResolver resolve = [&](llvm::StringRef file, uint64_t offset, uint64_t size,
                                   DType dtype, llvm::ArrayRef<int64_t> dims) {
    ++calls;
    CHECK(file == "weights \"1\".data");
    CHECK(offset == 4096);
    CHECK(size == 65);
    CHECK(dtype == DType::kU8);
    CHECK(dims == llvm::ArrayRef<int64_t>{65});
    return std::make_shared<const ConstData>(located);
  };
  const Graph back = parseGraph(text, resolve);
  CHECK(calls == 1);
  CHECK(equal(inFile, back));
  CHECK(str(back) == text);

  const DataResolver refuses = [](llvm::StringRef, uint64_t, uint64_t, DType,
                                  llvm::ArrayRef<int64_t>) -> ConstRef {
    throw Error("the file is too short");
  };
  std::string message;
  try {
    (void)parseGraph(text, refuses);
  } catch (const Error &error) {
    message = error.what();
  }
  CHECK(message == "line 2, column 18: the file is too short");
}

TEST_CASE("text: what a person may write") {
  const Graph graph =
      parseGraph("engine-ir 1\r\n// a comment\ninput %x:f32[B,4] input %y : f32[4] // another\n"
                 "%z=binary(%x,\n   %y){kind = mul}\n%w, _, _ = layer_norm(scale=%y, x=%z)\n"
                 "output %w as \"w\"");
  verify(graph);
  CHECK(graph.nodes().size() == 2);
  CHECK(graph.nodes()[0].name == "z");
  CHECK(graph.fact(graph.outputs()[0]).str() == "f32[B, 4]");
}

TEST_CASE("text: a model's origin is a comment") {
  Model model;
  model.producer = "exporter\ninput %evil : f32[1]";
  model.warnings = {"something was odd"};
  model.graph = parseGraph(kSample);
  std::string text;
  llvm::raw_string_ostream os(text);
  print(model, os);
  os.flush();
  CHECK(isEngineIr(text));
  CHECK(contains(
      text,
      "// producer: \"exporter\\ninput %evil : f32[1]\"\n// warning: \"something was odd\"\n"));
  CHECK(equal(parseGraph(text), model.graph));
}

TEST_CASE("text: the first line") {
  CHECK(isEngineIr("engine-ir 1\ninput"));
  CHECK(isEngineIr("engine-ir 1\r\ninput"));
  CHECK(isEngineIr("engine-ir 1"));
  CHECK_FALSE(isEngineIr("engine-ir 2\n"));
  CHECK_FALSE(isEngineIr(""));
  CHECK_FALSE(isEngineIr("\nengine-ir 1\n"));
  CHECK(
      contains(errorOf("engine-ir 2\n"), "line 1, column 1: the first line must be 'engine-ir 1'"));
}

TEST_CASE("text: what is refused and where") {
  struct Row {
    const char *text, *message;
  };
  const Row rows[] = {
      {"nonsense", "line 2, column 1: there is no operator 'nonsense'"},
      {"}", "line 2, column 1: expected an input, a node or an output, found '}'"},
      {"input x : f32[1]", "line 2, column 7: expected '%', found 'x'"},
      {"input %x", "line 2, column 9: expected ':', found the end of the text"},
      {"input %x : f33[1]", "line 2, column 12: there is no element type 'f33'"},
      {"input %x : f32", "expected '['"},
      {"input %x : f32[1", "expected ']'"},
      {"input %x : f32[S +]", "line 2, column 16: column 4: expected a dimension"},
      {"input %x : f32[9223372036854775807*S*2]", "does not fit into 64 bits"},
      {"input %x : i64[2]={1}", "a tensor of 2 elements is given 1"},
      {"input %x : f32[1]\ninput %x : f32[1]", "line 3, column 7: value 'x' is made twice"},
      {"input %\"x : f32[1]", "line 2, column 8: this string is malformed or does not end"},
      {"output %y", "line 2, column 8: value 'y' is used before it is made"},
      {"input %x : f32[1] output %x as y", "expected the name of the output in quotes, found 'y'"},
      {"input %x : f32[1] %y = nothing(%x)", "line 2, column 24: there is no operator 'nothing'"},
      {"input %x : f32[1] %y = unary(%x", "expected ')'"},
      {"input %x : f32[1] %y = unary(%x, %x)", "the operator has 1 operands, found 2"},
      {"input %x : f32[1] %y = unary()", "operand 'x': a value is expected, found none"},
      {"input %x : f32[1] %y = unary(z=%x)", "operator 'unary' has no operand 'z'"},
      {"input %x : f32[1] %y = unary(%x, x=%x)", "operand 'x' is given twice"},
      {"input %x : f32[1] %y, %z = unary(%x)", "operator 'unary' has 1 results, found 2"},
      {"input %x : f32[1] %y, %y = top_k(%x) {k=1}", "value 'y' is made twice"},
      {"input %x : f32[1] %y = unary(%x) {sort=abs}", "operator 'unary' has no field 'sort'"},
      {"input %x : f32[1] %y = unary(%x) {kind=abs, kind=abs}", "field 'kind' is given twice"},
      {"input %x : f32[1] %y = unary(%x) {kind=abbs}", "expected abs, bitwise_not, ceil"},
      {"input %x : f32[1] %y = unary(%x) {kind=abs", "expected '}'"},
      {"input %x : f32[1] %y = softmax(%x) {axis=1.5}", "expected '}', found '.'"},
      {"input %x : f32[1] %y = softmax(%x) {axis=99999999999999999999}",
       "an integer is out of range"},
      {"input %x : f32[1] %y = softmax(%x) {log=1}", "expected true or false, found '1'"},
      {"input %x : f32[1] %y = unary(%x) : f32[2]",
       "line 2, column 34: value 'y' is given as f32[2], its operator makes it f32[1]"},
      {"input %x : f32[1] %y = unary(%x) : f32[1], f32[1]", "expected 1 types, found 2"},
      {"input %x : f32[1] %y = unary(%x) : _", "result 0 and its type: one of them is absent"},
      {"input %x : f32[1] %y = unary(%x) @\"n\" %z = unary(%x) @\"n\"", "two nodes are called 'n'"},
      {"%c = const {data=f32[2]{1}}", "expected ',', found '}'"},
      {"%c = const {data=f32[1]{1, 2}}", "expected '}', found ','"},
      {"%c = const {data=f32[1]{1e99}}", "a number is out of range"},
      {"%c = const {data=u8[1]{256}}", "a u8 is out of range"},
      {"%c = const {data=u4[1]{16}}", "expected a number from 0 to 15, found 16"},
      {"%c = const {data=f32[-1]{}}", "a constant has no such shape"},
      {"%c = const {data=f32[4294967296, 4294967296]{}}", "a constant has no such shape"},
      {"%c = const {data=f32[1000000000000]{}}", "expected at most 1048576 elements in braces"},
      {"%c = const {data=f32[1000000000000] hex\"\"}",
       "expected 8000000000000 hexadecimal digits, found 0"},
      {"%c = const {data=u8[1] hex\"0g\"}", "expected hexadecimal digits between the quotes"},
      {"%c = const {data=u8[1] hex\"00}", "this string does not end"},
      {"%c = const {data=u8[1] data(\"x\", 0, 2)}",
       "the shape asks for 1 bytes, the file clause has 2"},
      {"%c = const {data=u8[1] data(\"x\", -1, 1)}", "expected an offset"},
      {"%c = const", "node 'c' (const): a constant without data"},
      {"unsupported() {results=-1}", "results must not be negative, found -1"},
      {"unsupported() {results=1000000000000}", "has 1000000000000 results, found 0"},
  };
  for (const Row &row : rows) {
    CAPTURE(std::string(row.text));
    const std::string message = errorOf(kHead + row.text);
    CAPTURE(message);
    CHECK(contains(message, row.message));
    CHECK(contains(message, "line "));
  }
}

TEST_CASE("text: graphs nest 64 deep and no deeper") {
  const auto nested = [](int depth) {
    std::string text = kHead + "input %c : bool[]\n";
    for (int i = 1; i < depth; ++i)
      text += "%r = if(%c) {then=graph { input %c : bool[] ";
    for (int i = 1; i < depth; ++i)
      text += "}}";
    return text;
  };
  CHECK(contains(errorOf(nested(65)), "graphs are nested deeper than 64 levels"));
  CHECK(contains(errorOf(nested(100000)), "graphs are nested deeper than 64 levels"));
  CHECK_FALSE(contains(errorOf(nested(64)), "nested deeper"));
  CHECK(contains(errorOf(kHead + "input %x : f32[" + std::string(100000, '(') + "]"),
                 "at most 64 nested levels"));
}

// Damaged text: an Error with a line, or a graph that verifies; nothing else.
TEST_CASE("text: damage never goes further than an error") {
  std::mt19937 random(11);
  const std::string pieces[] = {
      "%",    "{",       "}",     "[",     "]",  "(",      ")",  ",",  "=",
      ":",    "\"",      "_",     "@",     "#",  "\\",     "-",  "..", "9999999999999999999",
      "nan(", "graph {", "hex\"", "data(", "//", "input ", "\n", "?"};
  int errors = 0;
  const int rounds = 3000;
  for (int round = 0; round < rounds; ++round) {
    std::string text = kSample;
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int change = 0; change < changes; ++change) {
      const size_t at = kHead.size() + random() % (text.size() - kHead.size());
      switch (random() % 4) {
      case 0:
        text.erase(at, 1 + random() % 8);
        break;
      case 1:
        text.insert(at, pieces[random() % std::size(pieces)]);
        break;
      case 2:
        text[at] = static_cast<char>(random());
        break;
      default:
        text.resize(std::max(at, kHead.size() + 1));
        break;
      }
    }
    try {
      const Graph graph = parseGraph(text);
      (void)str(graph);
    } catch (const Error &error) {
      ++errors;
      REQUIRE(contains(error.what(), "line "));
      const std::string message = error.what();
      CAPTURE(message);
      CAPTURE(text);
      REQUIRE(error.kind() == Error::Kind::kRefused);
    }
  }
  CHECK(errors > rounds / 2);
}
