// Builder, rewriter, dead code, comparison, verifier.
#include "ir/graph.h"
#include "ir/infer.h"

#include <doctest/doctest.h>

namespace engine::ir {

// Makes graphs that no builder makes.
struct GraphForger {
  static std::vector<Value> &values(Graph &graph) { return graph.values_; }
  static std::vector<Node> &nodes(Graph &graph) { return graph.nodes_; }
  static std::vector<ValueId> &outputs(Graph &graph) { return graph.outputs_; }
  static std::vector<std::string> &outputNames(Graph &graph) { return graph.outputNames_; }
  static std::vector<InputDefault> &defaults(Graph &graph) { return graph.defaults_; }
};

} // namespace engine::ir

using namespace engine;
using namespace engine::ir;

namespace {

Fact f32(llvm::ArrayRef<Dim> shape) { return makeFact(DType::kF32, shape); }

Fact withContents(Fact fact, llvm::ArrayRef<Dim> contents) {
  fact.contents.emplace(contents.begin(), contents.end());
  return fact;
}

Op relu() { return Unary{UnaryKind::kRelu}; }

template <class F> std::string errorOf(F run) {
  try {
    run();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

// x -> relu (dead), neg -> y
Graph sample() {
  GraphBuilder b;
  const ValueId x = b.addInput("x", f32({Dim::symbol("S"), 4}));
  b.setOrigin("/block", "ai.onnx.Neg");
  (void)b.add1(relu(), {x}, "unused");
  b.addOutput(b.add1(Unary{UnaryKind::kNeg}, {x}), "y");
  return b.finish();
}

} // namespace

TEST_CASE("graph: inputs get symbols for their values") {
  struct Row {
    const char *why;
    Fact fact;
    const char *text;
  };
  const Row rows[] = {
      {"a scalar", makeFact(DType::kI32, {}), "i32[]={$n}"},
      {"one element", makeFact(DType::kI64, {1, 1}), "i64[1, 1]={$n}"},
      {"no element", makeFact(DType::kI64, {0}), "i64[0]={}"},
      {"two elements", makeFact(DType::kI64, {2}), "i64[2]"},
      {"a symbolic count", makeFact(DType::kI64, {Dim::symbol("B")}), "i64[B]"},
      {"another type", makeFact(DType::kU8, {}), "u8[]"},
      {"unknown", Fact(), "?"},
      {"given contents stay", withContents(makeFact(DType::kI64, {1}), {Dim::symbol("P")}),
       "i64[1]={P}"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    GraphBuilder b;
    CHECK(b.fact(b.addInput("n", row.fact)).str() == row.text);
  }
}

TEST_CASE("graph: names of values and nodes") {
  GraphBuilder b;
  const ValueId x = b.addInput("x", f32({4}));
  const ValueId second = b.addInput("x", f32({4}));
  CHECK(b.value(second).name == "x#2");

  struct Row {
    const char *why, *origin, *suffix, *name;
    const char *node, *value;
  };
  const Row rows[] = {
      {"the node's name", "/a", "", "", "/a", "/a"},
      {"with a suffix", "/a", "rope", "", "/a.rope", "/a.rope"},
      {"a given name wins", "/a", "k", "logits", "/a.k", "logits"},
      {"a second node of one name", "/a", "rope", "", "/a.rope#2", "/a.rope#2"},
      {"a third counts on", "/a", "rope#2", "", "/a.rope#3", "/a.rope#3"},
      {"a given name that is taken", "/b", "", "x", "/b", "x#3"},
      {"no origin: the suffix", "", "const", "", "const", "const"},
      {"neither: the result's name", "", "", "w", "w", "w"},
      {"nothing at all: the operator", "", "", "", "unary", "unary"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    b.setOrigin(row.origin, "");
    const ValueId y = b.add1(relu(), {x}, row.suffix, row.name);
    CHECK(b.value(y).name == row.value);
    CHECK(b.producer(y)->name == row.node);
    CHECK(b.soFar().find(row.value) == y);
  }
  CHECK(b.producer(x) == nullptr);
  CHECK_FALSE(b.soFar().find("nowhere").valid());
}

TEST_CASE("graph: several results") {
  GraphBuilder b;
  const ValueId x = b.addInput("x", f32({4, 9}));
  b.setOrigin("/top", "ai.onnx.TopK");
  const Values both = b.add(TopK{1, 3}, {x});
  CHECK(b.value(both[0]).name == "/top");
  CHECK(b.value(both[1]).name == "/top.indices");
  CHECK(b.fact(both[1]).str() == "i64[4, 3]");

  const Values named = b.add(TopK{1, 3}, {x}, "second", {"", "ids"});
  CHECK(b.value(named[0]).name == "/top.second");
  CHECK(b.value(named[1]).name == "ids");

  const Values one = b.add(TopK{1, 3}, {x}, "third", {}, {false, true});
  REQUIRE(one.size() == 2);
  CHECK_FALSE(one[0].valid());
  CHECK(b.value(one[1]).name == "/top.third.indices");

  Unsupported unknown;
  unknown.results = 2;
  const Values tail = b.add(unknown, {x}, "fourth");
  CHECK(b.value(tail[0]).name == "/top.fourth");
  CHECK(b.value(tail[1]).name == "/top.fourth.ys1");
  CHECK_FALSE(b.fact(tail[0]).known);
}

TEST_CASE("graph: a node's operands are checked and its errors name it") {
  GraphBuilder b;
  const ValueId x = b.addInput("x", f32({4}));
  struct Row {
    const char *why;
    Op op;
    Values operands;
    const char *message;
  };
  const Row rows[] = {
      {"one is missing",
       MatMul{},
       {x},
       "node '/n' (ai.onnx.MatMul): operand 'b': a value is expected, found none"},
      {"absent where it must not be",
       MatMul{},
       {kNoValue, x},
       "operand 'a': a value is expected, found none"},
      {"too many", relu(), {x, x}, "the operator has 1 operands, found 2"},
      {"what inference refuses", Transpose{{1, 0}}, {x}, "node '/n' (ai.onnx.MatMul): "},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    b.setOrigin("/n", "ai.onnx.MatMul");
    const std::string message = errorOf([&] { (void)b.add1(row.op, row.operands); });
    CAPTURE(message);
    CHECK(contains(message, row.message));
  }
  // A refused node leaves nothing behind; absent operands at the end are dropped.
  CHECK(b.soFar().nodes().empty());
  const ValueId y = b.add1(LayerNorm{}, {x, x, kNoValue});
  CHECK(b.producer(y)->operands.size() == 2);
}

TEST_CASE("graph: finishing empties the builder") {
  GraphBuilder b;
  b.addOutput(b.addInput("x", f32({4})), "");
  const Graph graph = b.finish();
  CHECK(graph.outputNames()[0] == "x");
  CHECK(b.soFar().numValues() == 0);
  CHECK(b.value(b.addInput("x", f32({4}))).name == "x");
}

TEST_CASE("graph: dead nodes go and inputs stay") {
  GraphBuilder b;
  const ValueId x = b.addInput("x", f32({4}));
  (void)b.addInput("unused", f32({2}));
  const ValueId n = b.addInput("n", makeFact(DType::kI64, {}));
  b.setDefault(n, makeIntConst(DType::kI64, {}, {5}));
  b.setOrigin("/a", "op.A");
  const ValueId a = b.add1(relu(), {x});
  const ValueId dead = b.add1(relu(), {a}, "dead");
  (void)b.add1(relu(), {dead}, "dead");
  const ValueId y = b.add1(Unary{UnaryKind::kNeg}, {a}, "y");
  b.addOutput(y, "out");
  b.addOutput(y, "again");
  const Graph graph = b.finish();

  const Graph live = removeDead(graph);
  REQUIRE(live.nodes().size() == 2);
  CHECK(live.nodes()[0].name == "/a");
  CHECK(live.nodes()[0].onnx == "op.A");
  CHECK(live.nodes()[1].name == "/a.y");
  CHECK(live.inputs().size() == 3);
  CHECK(live.defaults().size() == 1);
  CHECK(live.outputNames() == llvm::ArrayRef<std::string>{"out", "again"});
  verify(live);
  CHECK(equal(removeDead(live), live));
}

TEST_CASE("graph: a rewriter copies and replaces") {
  const Graph graph = sample();
  GraphRewriter same(graph);
  for (const Node &node : graph.nodes())
    same.copy(node);
  CHECK(equal(same.finish(), removeDead(graph)));

  GraphRewriter rw(graph);
  for (const Node &node : graph.nodes()) {
    const Unary *unary = node.as<Unary>();
    if (!unary || unary->kind != UnaryKind::kNeg) {
      rw.copy(node);
      continue;
    }
    const ValueId exp =
        rw.builder().add1(Unary{UnaryKind::kExp}, {rw[node.operands[0]]}, "", "exp");
    (void)rw.copyAs(node, Unary{UnaryKind::kLog}, {exp});
  }
  const Graph changed = rw.finish();
  verify(changed);
  REQUIRE(changed.nodes().size() == 2);
  CHECK(changed.nodes()[1].name == "/block");
  CHECK(changed.outputNames()[0] == "y");
  CHECK(changed.value(changed.outputs()[0]).name == "/block");

  GraphRewriter forgets(graph);
  CHECK(contains(errorOf([&] { (void)forgets.finish(); }),
                 "value '/block' is used before it is rewritten"));
}

TEST_CASE("graph: comparison says the first difference") {
  struct Row {
    const char *why;
    void (*change)(Graph &);
    const char *difference; // null: equal all the same
  };
  const Row rows[] = {
      {"nothing", [](Graph &) {}, nullptr},
      {"a field", [](Graph &g) { GraphForger::nodes(g)[0].op = Unary{UnaryKind::kAbs}; },
       "field 'kind' of node '/block.unused' differs"},
      {"an operator", [](Graph &g) { GraphForger::nodes(g)[0].op = MatMul{}; },
       "operators of node '/block.unused': unary and matmul"},
      {"a node's name", [](Graph &g) { GraphForger::nodes(g)[1].name = "n"; },
       "names of nodes: '/block' and 'n'"},
      {"its origin", [](Graph &g) { GraphForger::nodes(g)[1].onnx = ""; },
       "origins of node '/block'"},
      {"an operand", [](Graph &g) { GraphForger::nodes(g)[1].operands[0] = ValueId{1}; },
       "operand 0 of node '/block'"},
      {"a type", [](Graph &g) { GraphForger::values(g)[2].fact.shape[1] = 5; },
       "type of '/block': f32[S, 4] and f32[S, 5]"},
      {"a value's name", [](Graph &g) { GraphForger::values(g)[2].name = "z"; },
       "result 0 of node '/block'"},
      {"an output's name", [](Graph &g) { GraphForger::outputNames(g)[0] = "z"; },
       "names of outputs: 'y' and 'z'"},
      {"a default",
       [](Graph &g) {
         GraphForger::defaults(g).push_back({ValueId{0}, makeFloatConst(DType::kF32, {}, {1.0})});
       },
       "defaults of input 'x'"},
      {"a node less", [](Graph &g) { GraphForger::nodes(g).pop_back(); },
       "number of nodes: 2 and 1"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    const Graph a = sample();
    Graph b = sample();
    row.change(b);
    std::string why;
    CHECK(equal(a, b, &why) == (row.difference == nullptr));
    CAPTURE(why);
    CHECK(contains(why, row.difference ? row.difference : ""));
  }
}

TEST_CASE("graph: operators are compared field by field") {
  Sdpa narrow;
  narrow.band = kCausalBand;
  CHECK(equal(Op(Sdpa{}), Op(Sdpa{})));
  CHECK_FALSE(equal(Op(Sdpa{}), Op(narrow)));
  CHECK_FALSE(equal(Op(MatMul{}), Op(Where{})));
  CHECK(equal(Op(Const{makeIntConst(DType::kI64, {1}, {3})}),
              Op(Const{makeIntConst(DType::kI64, {1}, {3})})));
  CHECK_FALSE(equal(Op(Const{}), Op(Const{makeIntConst(DType::kI64, {1}, {3})})));
  RmsNorm plus, minus;
  plus.epsilon = 0.0f;
  minus.epsilon = -0.0f;
  CHECK_FALSE(equal(Op(plus), Op(minus)));
}

TEST_CASE("graph: the verifier accepts what the builder makes") { verify(sample()); }

TEST_CASE("graph: the verifier refuses") {
  struct Row {
    const char *why;
    void (*forge)(Graph &);
    const char *message;
  };
  const Row rows[] = {
      {"a value used before it is made",
       [](Graph &g) { GraphForger::nodes(g)[0].operands[0] = ValueId{2}; },
       "node '/block.unused' (ai.onnx.Neg): a value is used before it is made"},
      {"a value that is not there",
       [](Graph &g) { GraphForger::nodes(g)[0].operands[0] = ValueId{9}; },
       "a value is used before it is made"},
      {"a missing operand", [](Graph &g) { GraphForger::nodes(g)[0].operands.clear(); },
       "operand 'x': a value is expected, found none"},
      {"an absent operand at the end",
       [](Graph &g) { GraphForger::nodes(g)[0].operands[0] = kNoValue; },
       "the last operand is absent"},
      {"an operator that does not take the operand",
       [](Graph &g) { GraphForger::nodes(g)[0].op = Transpose{{0}}; },
       "node '/block.unused' (ai.onnx.Neg): "},
      {"a shape that inference does not give",
       [](Graph &g) { GraphForger::values(g)[2].fact.shape[1] = 5; },
       "result '/block' is f32[S, 5], inference gives f32[S, 4]"},
      {"a result too few", [](Graph &g) { GraphForger::nodes(g)[0].results.clear(); },
       "the operator has 1 results, found 0"},
      {"a value made twice", [](Graph &g) { GraphForger::nodes(g)[1].results[0] = ValueId{1}; },
       "value '/block.unused' is made twice"},
      {"a name used twice", [](Graph &g) { GraphForger::values(g)[2].name = "x"; },
       "name 'x' stands for two values"},
      {"a name that is not found", [](Graph &g) { GraphForger::values(g)[2].name = "z"; },
       "value 'z' is not found under its name"},
      {"a node's name used twice",
       [](Graph &g) { GraphForger::nodes(g)[1].name = "/block.unused"; },
       "two nodes have this name"},
      {"an output that nobody makes", [](Graph &g) { GraphForger::outputs(g)[0] = kNoValue; },
       "output 'y' is a value that no node makes"},
      {"two outputs of one name",
       [](Graph &g) {
         GraphForger::outputs(g).push_back(ValueId{0});
         GraphForger::outputNames(g).push_back("y");
       },
       "two outputs are called 'y'"},
      {"a default of another type",
       [](Graph &g) {
         GraphForger::defaults(g).push_back(
             {ValueId{0}, makeIntConst(DType::kI64, {1, 4}, {1, 2, 3, 4})});
       },
       "the default of input 'x' is not of type f32[S, 4]"},
      {"a default that does not fit the shape",
       [](Graph &g) {
         GraphForger::defaults(g).push_back(
             {ValueId{0}, makeFloatConst(DType::kF32, {2, 1}, {1.0, 2.0})});
       },
       "the default of input 'x' is not of type f32[S, 4]"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    Graph graph = sample();
    row.forge(graph);
    const std::string message = errorOf([&] { verify(graph); });
    CAPTURE(message);
    CHECK(contains(message, row.message));
  }
}

namespace {

// One branch: relu of its only input, `count` outputs.
GraphRef branch(Fact input, int count = 1) {
  GraphBuilder b;
  const ValueId x = b.addInput("inner", std::move(input));
  const ValueId y = b.add1(relu(), {x});
  for (int i = 0; i < count; ++i)
    b.addOutput(y, "y" + std::to_string(i));
  return std::make_shared<Graph>(b.finish());
}

Graph branching() {
  GraphBuilder b;
  const ValueId condition = b.addInput("c", makeFact(DType::kBool, {}));
  const ValueId x = b.addInput("x", f32({4}));
  const Op op = If{branch(f32({4})), branch(f32({4})), 1};
  b.addOutput(b.add1(op, {condition, x}), "y");
  return b.finish();
}

} // namespace

TEST_CASE("graph: the verifier looks into branches") {
  verify(branching());
  struct Row {
    const char *why;
    If branches;
    const char *message;
  };
  const Row rows[] = {
      {"a missing one", {branch(f32({4})), nullptr, 1}, "the else graph is missing"},
      {"a missing output",
       {branch(f32({4})), branch(f32({4}), 0), 1},
       "the else graph has 0 outputs, the node 1 results"},
      {"a capture of another type",
       {branch(f32({5})), branch(f32({4})), 1},
       "capture 'inner' is f32[5] inside, f32[4] outside"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    Graph graph = branching();
    GraphForger::nodes(graph)[0].op = row.branches;
    const std::string message = errorOf([&] { verify(graph); });
    CAPTURE(message);
    CHECK(contains(message, row.message));
  }
}

TEST_CASE("graph: operator tables") {
  for (size_t i = 0; i < kNumOps; ++i) {
    CAPTURE(opName(i));
    const Op *op = findOp(opName(i));
    REQUIRE(op != nullptr);
    CHECK(op->index() == i);
    CHECK(std::string(opName(*op)) == opName(i));
    CHECK(equal(*op, *op));
  }
  CHECK(findOp("nothing") == nullptr);
  const llvm::ArrayRef<OperandSpec> specs = operandSpecs(Op(KvWrite{}));
  REQUIRE(specs.size() == 4);
  CHECK(specs[0].name == "cache");
  CHECK(specs[0].optional);
  CHECK_FALSE(specs[1].optional);
  CHECK(operandSpecs(Op(Concat{}))[0].variadic);
  CHECK(resultSpecs(Op(LayerNorm{})).size() == 3);
  CHECK(operandSpecs(Op(Const{})).empty());
  CHECK(operandSpecs(Op(Sdpa{})).size() == sdpa::kCount);
}
