// The reference kernels as tables: operator, operands, results. Each row runs twice: on dense
// operands, and on operands whose axes lie in the opposite order in memory.
#include "ir/error.h"
#include "ir/text.h"
#include "kernels/kernel.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

using namespace engine;
using namespace engine::ir;

namespace {

struct Row {
  const char *why;
  const char *op; // in the text form, over %a, %b, ...
  std::vector<const char *> operands;
  std::vector<const char *> expected;
};

// "f32[2]{1, 2}"
ConstRef parseConst(const std::string &text) {
  const Graph graph = parseGraph("engine-ir 1\n%c = const {data=" + text + "}\noutput %c\n");
  return graph.nodes()[0].as<Const>()->data;
}

Graph graphOf(const Row &row) {
  std::string text = "engine-ir 1\n";
  for (size_t i = 0; i < row.operands.size(); ++i)
    text += std::string("%") + char('a' + i) + " = const {data=" + row.operands[i] + "}\n";
  std::string results = "%y";
  for (size_t i = 1; i < row.expected.size(); ++i)
    results += ", %y" + std::to_string(i);
  return parseGraph(text + results + " = " + row.op + "\noutput %y\n");
}

// Memory of one tensor, with room for a layout of its own.
class Buffer {
public:
  Buffer(DType dtype, llvm::ArrayRef<int64_t> dims)
      : view_(makeView(nullptr, dtype, dims)), bytes_(view_.bytes() + 8, 0x5a) {
    view_.data = bytes_.data();
  }

  void reverseLayout() {
    int64_t stride = 1;
    for (int i = 0; i < view_.rank; ++i) {
      view_.strides[i] = stride;
      stride *= view_.dims[i];
    }
  }

  const View &view() const { return view_; }

private:
  View view_;
  std::vector<char> bytes_;
};

const KernelRow &rowFor(const Op &op) {
  for (const KernelRow &row : referenceRows())
    if (row.op == op.index())
      return row;
  throw Error::internal(std::string("no reference kernel for ") + opName(op));
}

std::vector<ConstRef> run(const Row &row, bool reversed) {
  const Graph graph = graphOf(row);
  const Node &node = graph.nodes().back();
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<View> operands, results;
  for (ValueId id : node.operands) {
    if (!id.valid()) {
      operands.push_back(View());
      continue;
    }
    const ConstRef data = graph.producer(id)->as<Const>()->data;
    buffers.push_back(std::make_unique<Buffer>(data->dtype, data->dims));
    if (reversed && !isSubByte(data->dtype))
      buffers.back()->reverseLayout();
    copyView(viewOf(*data), buffers.back()->view());
    operands.push_back(buffers.back()->view());
  }
  for (size_t i = 0; i < row.expected.size(); ++i) {
    const ConstRef expected = parseConst(row.expected[i]);
    const Fact &fact = graph.fact(node.results[i]);
    CHECK(fact.dtype == expected->dtype);
    REQUIRE(fact.shape.size() == expected->dims.size());
    for (size_t axis = 0; axis < fact.shape.size(); ++axis)
      if (fact.shape[axis].isConstant())
        CHECK(fact.shape[axis].is(expected->dims[axis]));
    buffers.push_back(std::make_unique<Buffer>(fact.dtype, expected->dims));
    results.push_back(buffers.back()->view());
  }
  const SymbolValues symbols;
  const KernelOptions options;
  const auto kernel = rowFor(node.op).make({graph, node, options});
  kernel->run(KernelCall{operands, results, symbols});
  std::vector<ConstRef> made;
  for (const View &view : results)
    made.push_back(makeConst(view.dtype, {view.dims, static_cast<size_t>(view.rank)}, view.data,
                             view.bytes()));
  return made;
}

bool close(double found, double expected) {
  if (std::isnan(expected) || std::isnan(found))
    return std::isnan(expected) == std::isnan(found);
  if (std::isinf(expected))
    return found == expected;
  return std::abs(found - expected) <= 1e-6 * (1 + std::abs(expected));
}

void check(llvm::ArrayRef<Row> rows) {
  for (const Row &row : rows) {
    for (bool reversed : {false, true}) {
      CAPTURE(std::string(row.why));
      CAPTURE(std::string(row.op));
      CAPTURE(reversed);
      const std::vector<ConstRef> made = run(row, reversed);
      for (size_t k = 0; k < made.size(); ++k) {
        const ConstRef expected = parseConst(row.expected[k]);
        for (int64_t i = 0; i < expected->count(); ++i) {
          CAPTURE(k);
          CAPTURE(i);
          if (isFloat(expected->dtype))
            CHECK_MESSAGE(close(made[k]->floatAt(i), expected->floatAt(i)), made[k]->floatAt(i),
                          " is not ", expected->floatAt(i));
          else
            CHECK(made[k]->intAt(i) == expected->intAt(i));
        }
      }
    }
  }
}

struct Refusal {
  const char *op;
  std::vector<const char *> operands;
  const char *result; // of this type and these dims
  const char *message;
};

void check(llvm::ArrayRef<Refusal> refusals) {
  for (const Refusal &r : refusals) {
    CAPTURE(std::string(r.op));
    std::string message = "no error";
    try {
      run({"", r.op, r.operands, {r.result}}, false);
    } catch (const Error &error) {
      message = error.what();
    }
    CHECK(message == r.message);
  }
}

} // namespace

TEST_CASE("reference: elementwise") {
  check(llvm::ArrayRef<Row>{
      {"half to even",
       "unary(%a) {kind=round}",
       {"f32[6]{0.5, 1.5, 2.5, -0.5, -1.5, 2.4}"},
       {"f32[6]{0, 2, 2, 0, -2, 2}"}},
      {"NaN stays", "unary(%a) {kind=relu}", {"f32[3]{-1, nan, 2}"}, {"f32[3]{0, nan, 2}"}},
      {"limits of gelu",
       "unary(%a) {kind=gelu}",
       {"f32[4]{-inf, -1, 0, 1}"},
       {"f32[4]{0, -0.158655254, 0, 0.841344746}"}},
      {"tanh approximation",
       "unary(%a) {kind=gelu_tanh}",
       {"f32[3]{-inf, 1, inf}"},
       {"f32[3]{0, 0.841191990, inf}"}},
      {"no overflow on either side",
       "unary(%a) {kind=sigmoid}",
       {"f32[3]{-1000, 0, 1000}"},
       {"f32[3]{0, 0.5, 1}"}},
      {"0 times infinity is not met",
       "unary(%a) {kind=silu}",
       {"f32[3]{-inf, 1, inf}"},
       {"f32[3]{0, 0.731058579, inf}"}},
      {"large arguments are themselves",
       "unary(%a) {kind=softplus}",
       {"f32[3]{-1000, 0, 1000}"},
       {"f32[3]{0, 0.693147181, 1000}"}},
      {"bool results",
       "unary(%a) {kind=is_inf}",
       {"f16[3]{inf, nan, 1}"},
       {"bool[3]{true, false, false}"}},
      {"the lowest i8 has no counterpart",
       "unary(%a) {kind=neg}",
       {"i8[2]{-128, 5}"},
       {"i8[2]{-128, -5}"}},
      {"low bits are kept", "unary(%a) {kind=bitwise_not}", {"u8[2]{0, 170}"}, {"u8[2]{255, 85}"}},
      {"both operands broadcast",
       "binary(%a, %b) {kind=sub}",
       {"f32[2, 1]{10, 20}", "f32[3]{1, 2, 3}"},
       {"f32[2, 3]{9, 8, 7, 19, 18, 17}"}},
      {"f16 rounds once",
       "binary(%a, %b) {kind=add}",
       {"f16[1]{2048}", "f16[1]{1}"},
       {"f16[1]{2048}"}},
      {"u8 wraps",
       "binary(%a, %b) {kind=mul}",
       {"u8[2]{200, 3}", "u8[2]{2, 4}"},
       {"u8[2]{144, 12}"}},
      {"integers truncate",
       "binary(%a, %b) {kind=div}",
       {"i32[4]{7, -7, 7, -2147483648}", "i32[4]{2, 2, -2, -1}"},
       {"i32[4]{3, -3, -3, -2147483648}"}},
      {"sign of the divisor",
       "binary(%a, %b) {kind=mod}",
       {"i32[4]{-4, 7, 5, -9}", "i32[4]{2, -3, 8, 4}"},
       {"i32[4]{0, -2, 5, 3}"}},
      {"sign of the dividend",
       "binary(%a, %b) {kind=fmod}",
       {"f32[2]{-4.3, 7.2}", "f32[2]{2.1, -3.4}"},
       {"f32[2]{-0.1, 0.4}"}},
      {"float exponent of an integer",
       "binary(%a, %b) {kind=pow}",
       {"i32[2]{4, 9}", "f32[2]{0.5, 2}"},
       {"i32[2]{2, 81}"}},
      {"negative exponent truncates",
       "binary(%a, %b) {kind=pow}",
       {"i64[3]{2, 1, 3}", "i64[3]{-1, -1, 4}"},
       {"i64[3]{0, 1, 81}"}},
      {"NaN wins",
       "binary(%a, %b) {kind=max}",
       {"f32[3]{nan, 1, 2}", "f32[3]{1, nan, 3}"},
       {"f32[3]{nan, nan, 3}"}},
      {"64 bits and no less",
       "binary(%a, %b) {kind=less}",
       {"i64[1]{9007199254740992}", "i64[1]{9007199254740993}"},
       {"bool[1]{true}"}},
      {"beyond the width",
       "binary(%a, %b) {kind=shift_left}",
       {"u8[3]{1, 1, 3}", "u8[3]{7, 8, 7}"},
       {"u8[3]{128, 0, 128}"}},
      {"three broadcasts",
       "where(%a, %b, %c)",
       {"bool[2, 1]{true, false}", "i32[2]{1, 2}", "i32[]{9}"},
       {"i32[2, 2]{1, 2, 9, 9}"}},
      {"truncates, NaN gives 0",
       "cast(%a) {to=i32}",
       {"f32[4]{2.9, -2.9, nan, 300}"},
       {"i32[4]{2, -2, 0, 300}"}},
      {"not zero",
       "cast(%a) {to=bool}",
       {"f32[4]{0.1, 0, -0, nan}"},
       {"bool[4]{true, false, false, true}"}},
      {"f64 to f16 rounds once",
       "cast(%a) {to=f16}",
       {"f64[1]{1.00048828126}"},
       {"f16[1]{1.0009765625}"}},
      {"nibbles", "cast(%a) {to=i4}", {"i32[3]{-8, 7, 9}"}, {"i4[3]{-8, 7, -7}"}},
      {"from nibbles", "cast(%a) {to=f32}", {"u4[3]{15, 0, 7}"}, {"f32[3]{15, 0, 7}"}},
      {"nothing", "binary(%a, %b) {kind=add}", {"f32[0, 2]{}", "f32[2]{1, 2}"}, {"f32[0, 2]{}"}},
  });
}

TEST_CASE("reference: matmul") {
  check(llvm::ArrayRef<Row>{
      {"batch axes broadcast",
       "matmul(%a, %b)",
       {"f32[2, 1, 2]{1, 2, 3, 4}", "f32[2, 2]{1, 0, 0, 1}"},
       {"f32[2, 1, 2]{1, 2, 3, 4}"}},
      {"vector times matrix",
       "matmul(%a, %b)",
       {"f32[2]{1, 2}", "f32[2, 3]{1, 2, 3, 4, 5, 6}"},
       {"f32[3]{9, 12, 15}"}},
      {"matrix times vector",
       "matmul(%a, %b)",
       {"f32[2, 2]{1, 2, 3, 4}", "f32[2]{1, 1}"},
       {"f32[2]{3, 7}"}},
      {"vectors", "matmul(%a, %b)", {"i32[2]{1, 2}", "i32[2]{3, 4}"}, {"i32[]{11}"}},
      {"no inner elements",
       "matmul(%a, %b)",
       {"f32[2, 0]{}", "f32[0, 2]{}"},
       {"f32[2, 2]{0, 0, 0, 0}"}},
      {"f16 sums in f32",
       "matmul(%a, %b)",
       {"f16[1, 3]{2048, 1, 1}", "f16[3, 1]{1, 1, 1}"},
       {"f16[1, 1]{2050}"}},
  });
}

TEST_CASE("reference: layout") {
  check(llvm::ArrayRef<Row>{
      {"row-major order",
       "reshape(%a) {dims=[3, 2]}",
       {"f32[2, 3]{1, 2, 3, 4, 5, 6}"},
       {"f32[3, 2]{1, 2, 3, 4, 5, 6}"}},
      {"0 copies, -1 infers",
       "reshape_to(%a, %b) {rank=2}",
       {"i8[2, 3]{1, 2, 3, 4, 5, 6}", "i64[2]{0, -1}"},
       {"i8[2, 3]{1, 2, 3, 4, 5, 6}"}},
      {"any permutation",
       "transpose(%a) {perm=[2, 0, 1]}",
       {"f32[1, 2, 3]{1, 2, 3, 4, 5, 6}"},
       {"f32[3, 1, 2]{1, 4, 2, 5, 3, 6}"}},
      {"backwards",
       "slice(%a) {axis=0, start=3, length=2, step=-2}",
       {"f32[4]{1, 2, 3, 4}"},
       {"f32[2]{4, 2}"}},
      {"clamped bounds",
       "slice_at(%a, %b, %c) {axes=[1]}",
       {"f32[2, 3]{1, 2, 3, 4, 5, 6}", "i64[1]{-2}", "i64[1]{100}"},
       {"f32[2, 2]{2, 3, 5, 6}"}},
      {"down to the first",
       "slice_at(%a, %b, %c, %d) {axes=[0]}",
       {"f32[3]{1, 2, 3}", "i64[1]{100}", "i64[1]{-100}", "i64[1]{-1}"},
       {"f32[3]{3, 2, 1}"}},
      {"both ways",
       "expand(%a) {dims=[2, 1, 2]}",
       {"f32[3, 1]{1, 2, 3}"},
       {"f32[2, 3, 2]{1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3}"}},
      {"read at run time",
       "expand_to(%a, %b) {rank=2}",
       {"f32[1]{7}", "i64[2]{2, 1}"},
       {"f32[2, 1]{7, 7}"}},
      {"an empty part",
       "concat(%a, %b, %c) {axis=1}",
       {"f32[2, 1]{1, 2}", "f32[2, 0]{}", "f32[2, 2]{3, 4, 5, 6}"},
       {"f32[2, 3]{1, 3, 4, 2, 5, 6}"}},
      {"crops and fills",
       "pad(%a, %b) {pads=[-1, 2]}",
       {"f32[3]{1, 2, 3}", "f32[]{9}"},
       {"f32[4]{2, 3, 9, 9}"}},
      {"further than the axis is long",
       "pad(%a) {mode=reflect, pads=[3, 2]}",
       {"f32[3]{1, 2, 3}"},
       {"f32[8]{2, 3, 2, 1, 2, 3, 2, 1}"}},
      {"edge",
       "pad(%a) {mode=edge, pads=[0, 1, 0, 1]}",
       {"f32[1, 2]{1, 2}"},
       {"f32[1, 4]{1, 1, 2, 2}"}},
      {"wrap",
       "pad(%a) {mode=wrap, pads=[1, 4]}",
       {"f32[3]{1, 2, 3}"},
       {"f32[8]{3, 1, 2, 3, 1, 2, 3, 1}"}},
      {"a scalar everywhere",
       "fill(%a) {dims=[2, 2]}",
       {"bool[1]{true}"},
       {"bool[2, 2]{true, true, true, true}"}},
      {"down", "range(%a, %b, %c)", {"i32[]{10}", "i32[]{4}", "i32[]{-2}"}, {"i32[3]{10, 8, 6}"}},
      {"start + i * delta",
       "range(%a, %b, %c)",
       {"f32[]{1}", "f32[]{5}", "f32[]{2}"},
       {"f32[2]{1, 3}"}},
      {"each axis", "tile(%a) {repeats=[2, 1]}", {"i8[1, 2]{1, 2}"}, {"i8[2, 2]{1, 2, 1, 2}"}},
      {"upper",
       "trilu(%a) {k=1}",
       {"f32[2, 3]{1, 2, 3, 4, 5, 6}"},
       {"f32[2, 3]{0, 2, 3, 0, 0, 6}"}},
      {"lower, off the edge",
       "trilu(%a) {upper=false, k=-2}",
       {"f32[2, 3]{1, 2, 3, 4, 5, 6}"},
       {"f32[2, 3]{0, 0, 0, 0, 0, 0}"}},
  });
}

TEST_CASE("reference: positions") {
  check(llvm::ArrayRef<Row>{
      {"from the end",
       "gather(%a, %b) {axis=1}",
       {"f32[2, 3]{1, 2, 3, 4, 5, 6}", "i64[2]{-1, 0}"},
       {"f32[2, 2]{3, 1, 6, 4}"}},
      {"a scalar index drops the axis",
       "gather(%a, %b)",
       {"f32[2, 2]{1, 2, 3, 4}", "i32[]{1}"},
       {"f32[2]{3, 4}"}},
      {"fewer indices than elements",
       "gather_elements(%a, %b) {axis=1}",
       {"f32[2, 2]{1, 2, 3, 4}", "i64[1, 2]{1, -2}"},
       {"f32[1, 2]{2, 1}"}},
      {"batch axes",
       "gather_nd(%a, %b) {batch_dims=1}",
       {"f32[2, 2]{1, 2, 3, 4}", "i64[2, 1]{1, 0}"},
       {"f32[2]{2, 3}"}},
      {"the last update of a place stays",
       "scatter_nd(%a, %b, %c)",
       {"i32[3]{1, 2, 3}", "i64[3, 1]{2, 0, 2}", "i32[3]{7, 8, 9}"},
       {"i32[3]{8, 2, 9}"}},
      {"all updates of a place count",
       "scatter_elements(%a, %b, %c) {reduction=add}",
       {"f32[2]{1, 2}", "i64[3]{0, 0, -1}", "f32[3]{1, 1, 5}"},
       {"f32[2]{3, 7}"}},
      {"signed order",
       "scatter_elements(%a, %b, %c) {reduction=max}",
       {"i8[1]{-3}", "i64[1]{0}", "i8[1]{-5}"},
       {"i8[1]{-3}"}},
      {"equal ones in order",
       "top_k(%a) {axis=0, k=3}",
       {"f32[4]{1, 3, 3, 2}"},
       {"f32[3]{3, 3, 2}", "i64[3]{1, 2, 3}"}},
      {"smallest",
       "top_k(%a) {axis=1, k=1, largest=false}",
       {"i32[2, 2]{4, 3, 1, 2}"},
       {"i32[2, 1]{3, 1}", "i64[2, 1]{1, 0}"}},
  });
}

TEST_CASE("reference: reductions") {
  check(llvm::ArrayRef<Row>{
      {"an inner axis",
       "reduce(%a) {kind=sum, axes=[1], keep_dims=false}",
       {"f32[2, 2, 1]{1, 2, 3, 4}"},
       {"f32[2, 1]{3, 7}"}},
      {"two axes kept",
       "reduce(%a) {kind=mean, axes=[0, 2]}",
       {"f32[2, 1, 2]{1, 2, 3, 4}"},
       {"f32[1, 1, 1]{2.5}"}},
      {"integers truncate",
       "reduce(%a) {kind=mean, axes=[0], keep_dims=false}",
       {"i32[2]{1, 2}"},
       {"i32[]{1}"}},
      {"nothing sums to 0",
       "reduce(%a) {kind=sum, axes=[1], keep_dims=false}",
       {"f32[2, 0]{}"},
       {"f32[2]{0, 0}"}},
      {"the largest of nothing", "reduce(%a) {kind=max, axes=[0]}", {"f32[0]{}"}, {"f32[1]{-inf}"}},
      {"the largest of nothing in i8",
       "reduce(%a) {kind=max, axes=[0]}",
       {"i8[0]{}"},
       {"i8[1]{-128}"}},
      {"the smallest of nothing in u8",
       "reduce(%a) {kind=min, axes=[0]}",
       {"u8[0]{}"},
       {"u8[1]{255}"}},
      {"NaN wins", "reduce(%a) {kind=max, axes=[0]}", {"f32[3]{1, nan, 2}"}, {"f32[1]{nan}"}},
      {"no overflow",
       "reduce(%a) {kind=log_sum_exp, axes=[0]}",
       {"f32[2]{1000, 1000}"},
       {"f32[1]{1000.693147}"}},
      {"absolute values", "reduce(%a) {kind=l1, axes=[0]}", {"i32[2]{-3, 4}"}, {"i32[1]{7}"}},
      {"length", "reduce(%a) {kind=l2, axes=[0]}", {"f32[2]{-3, 4}"}, {"f32[1]{5}"}},
      {"i64 stays exact",
       "reduce(%a) {kind=prod, axes=[0]}",
       {"i64[2]{94906267, 94906267}"},
       {"i64[1]{9007199515875289}"}},
      {"bool", "reduce(%a) {kind=min, axes=[0]}", {"bool[2]{true, false}"}, {"bool[1]{false}"}},
      {"first of equals",
       "arg_reduce(%a) {axis=1}",
       {"f32[2, 3]{1, 2, 2, 3, 3, 1}"},
       {"i64[2, 1]{1, 0}"}},
      {"last of equals",
       "arg_reduce(%a) {axis=1, last_index=true, keep_dims=false}",
       {"f32[2, 3]{1, 2, 2, 3, 3, 1}"},
       {"i64[2]{2, 1}"}},
      {"running sum",
       "cum_sum(%a) {axis=1}",
       {"f32[2, 3]{1, 2, 3, 4, 5, 6}"},
       {"f32[2, 3]{1, 3, 6, 4, 9, 15}"}},
      {"exclusive from the end",
       "cum_sum(%a) {axis=0, exclusive=true, reverse=true}",
       {"i32[3]{1, 2, 3}"},
       {"i32[3]{5, 3, 0}"}},
  });
}

TEST_CASE("reference: norms") {
  check(llvm::ArrayRef<Row>{
      {"large values", "softmax(%a) {axis=1}", {"f32[1, 2]{1000, 1000}"}, {"f32[1, 2]{0.5, 0.5}"}},
      {"another axis than the last",
       "softmax(%a) {axis=0}",
       {"f32[2, 2]{0, -inf, 0, 3}"},
       {"f32[2, 2]{0.5, 0, 0.5, 1}"}},
      {"nothing but -inf is NaN", "softmax(%a)", {"f32[2]{-inf, -inf}"}, {"f32[2]{nan, nan}"}},
      {"log", "softmax(%a) {log=true}", {"f32[2]{0, 0}"}, {"f32[2]{-0.693147181, -0.693147181}"}},
      {"f16 beyond 255 squares in f32",
       "rms_norm(%a, %b) {axis=1, epsilon=0}",
       {"f16[1, 2]{300, 300}", "f16[2]{1, 2}"},
       {"f16[1, 2]{1, 2}"}},
      {"result of scale's type",
       "rms_norm(%a, %b) {axis=0, epsilon=0}",
       {"f16[2]{3, 3}", "f32[2]{1, 2}"},
       {"f32[2]{1, 2}"}},
      {"all axes from the first",
       "rms_norm(%a, %b) {axis=0, epsilon=0}",
       {"f32[2, 2]{1, 1, 1, 1}", "f32[2]{1, 3}"},
       {"f32[2, 2]{1, 3, 1, 3}"}},
      {"mean and variance too",
       "layer_norm(%a, %b, %c) {axis=1, epsilon=0}",
       {"f32[2, 2]{1, 3, 5, 9}", "f32[2]{1, 1}", "f32[2]{0, 1}"},
       {"f32[2, 2]{-1, 2, -1, 2}", "f32[2, 1]{2, 7}", "f32[2, 1]{1, 0.5}"}},
  });
}

TEST_CASE("reference: quantised weights") {
  check(llvm::ArrayRef<Row>{
      // Codes 8 + i: weights i * 0.5, x all ones. Block of 4 over k = 6: the last two codes are
      // padding.
      {"4 bits, padded block",
       "quant_matmul(%a, %b, %c) {k=6, n=1, bits=4, block=4}",
       {"f32[1, 6]{1, 1, 1, 1, 1, 1}", "u8[1, 2, 2]{152, 186, 220, 255}", "f32[2]{0.5, 0.5}"},
       {"f32[1, 1]{7.5}"}},
      {"2 bits with packed zero points and bias",
       "quant_matmul(%a, %b, %c, %d, %e) {k=4, n=2, bits=2, block=4}",
       {"f32[1, 4]{1, 1, 1, 1}", "u8[2, 1, 1]{228, 0}", "f32[2, 1]{1, 2}", "u8[2, 1]{1, 3}",
        "f32[2]{10, 20}"},
       {"f32[1, 2]{12, -4}"}},
      {"8 bits with unpacked zero points",
       "quant_matmul(%a, %b, %c, %d) {k=2, n=1, bits=8, block=2}",
       {"f16[2]{1, 2}", "u8[1, 1, 2]{130, 129}", "f16[1]{1}", "f16[1]{128.5}"},
       {"f16[1]{2.5}"}},
      {"u8 rows, zero point 8",
       "quant_gather(%a, %b, %c) {bits=4, block=16}",
       {"u8[2, 1]{152, 16}", "i64[2]{-1, 0}", "f32[2, 1]{1, 0.5}"},
       {"f32[2, 2]{-4, -3.5, 0, 1}"}},
      {"i4 rows, zero point 0",
       "quant_gather(%a, %b, %c) {bits=4, block=16}",
       {"i4[2, 3]{1, 2, 3, -4, -5, -6}", "i64[1]{1}", "f32[2, 1]{1, 2}"},
       {"f32[1, 3]{-8, -10, -12}"}},
      {"one scale",
       "dequantize(%a, %b, %c)",
       {"u8[2]{130, 127}", "f32[]{0.5}", "u8[]{128}"},
       {"f32[2]{1, -0.5}"}},
      {"along an axis",
       "dequantize(%a, %b) {axis=0}",
       {"i8[2, 2]{1, 2, 3, 4}", "f32[2]{1, 10}"},
       {"f32[2, 2]{1, 2, 30, 40}"}},
      {"in blocks",
       "dequantize(%a, %b, %c) {axis=0, block=2}",
       {"i4[3, 2]{1, 2, 3, 4, 5, 6}", "f32[2, 2]{1, 2, 3, 4}", "i4[2, 2]{0, 1, 0, 1}"},
       {"f32[3, 2]{1, 2, 3, 6, 15, 20}"}},
  });
}

TEST_CASE("reference: faults of the data name operand and value") {
  check(llvm::ArrayRef<Refusal>{
      {"gather(%a, %b)",
       {"f32[2]{1, 2}", "i64[1]{2}"},
       "f32[1]{0}",
       "operand 'indices': index 2 is out of range [-2, 2)"},
      {"gather_elements(%a, %b)",
       {"f32[2]{1, 2}", "i64[1]{-3}"},
       "f32[1]{0}",
       "operand 'indices': index -3 is out of range [-2, 2)"},
      {"gather_nd(%a, %b)",
       {"f32[2, 2]{1, 2, 3, 4}", "i64[1, 2]{0, 5}"},
       "f32[1]{0}",
       "operand 'indices': index 5 is out of range [-2, 2)"},
      {"scatter_nd(%a, %b, %c)",
       {"f32[2]{1, 2}", "i64[1, 1]{9}", "f32[1]{1}"},
       "f32[2]{0, 0}",
       "operand 'indices': index 9 is out of range [-2, 2)"},
      {"quant_gather(%a, %b, %c) {bits=8, block=16}",
       {"u8[2, 1]{1, 2}", "i64[1]{2}", "f32[2]{1, 1}"},
       "f32[1, 1]{0}",
       "operand 'indices': index 2 is out of range [-2, 2)"},
      {"binary(%a, %b) {kind=div}",
       {"i32[1]{1}", "i32[1]{0}"},
       "i32[1]{0}",
       "operand 'b': integer division by 0"},
      {"arg_reduce(%a)",
       {"f32[0]{}"},
       "i64[1]{0}",
       "operand 'x': an axis without elements has no largest or smallest one"},
  });
}
