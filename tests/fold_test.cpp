// Constant folding and common subexpressions, as tables of text in and text out.
#include "lowering/cse.h"
#include "lowering/fold.h"

#include "ir/error.h"
#include "pass_table.h"

using namespace engine;

namespace {

// Enough of an evaluator for the tables: folding itself asks only that it gives results or throws.
std::vector<ir::ConstRef> evaluate(const ir::Node &node, llvm::ArrayRef<ir::ConstRef> operands) {
  const ir::ConstRef &x = operands[0];
  llvm::SmallVector<double> values;
  for (int64_t i = 0; i < x->count(); ++i)
    values.push_back(-x->floatAt(i));
  if (node.as<ir::Unary>())
    return {ir::makeFloatConst(x->dtype, x->dims, values)};
  if (node.as<ir::TopK>())
    return {ir::makeFloatConst(x->dtype, {1}, {values[0]}),
            ir::makeIntConst(DType::kI64, {1}, {0})};
  if (node.as<ir::Range>())
    return {ir::makeFloatConst(x->dtype, {2}, {0, 1})};
  throw Error("not in the tests");
}

ir::Graph fold(const ir::Graph &graph) { return lowering::foldConstants(graph, evaluate); }

} // namespace

TEST_CASE("fold: operators on constants become constants") {
  const PassRow rows[] = {
      {"a chain",
       R"(
input %x : f32[2]
%a = const {data=f32[2]{1, 2}}
%b = unary(%a) {kind=neg}
%c = unary(%b) {kind=neg}
%y = binary(%x, %c) {kind=add}
output %y
output %b
)",
       R"(
input %x : f32[2]
%b = const {data=f32[2]{-1, -2}}
%c = const {data=f32[2]{1, 2}}
%y = binary(%x, %c) {kind=add}
output %y
output %b
)"},
      {"two results",
       R"(
%a = const {data=f32[2]{1, 2}}
%v, %i = top_k(%a) {axis=0, k=1}
output %v
output %i
)",
       R"(
%v = const {data=f32[1]{-1}}
%i = const {data=i64[1]{0}} @"v.result1"
output %v
output %i
)"},
      {"a length that was not known reaches later operators",
       R"(
input %x : f32[2]
%a = const {data=f32[]{0}}
%b = const {data=f32[]{-2}}
%l = unary(%b) {kind=neg}
%c = const {data=f32[]{1}}
%r = range(%a, %l, %c)
%y = reshape(%x) {dims=["@r.0.0", 1]}
output %r
output %y
)",
       R"(
input %x : f32[2]
%r = const {data=f32[2]{0, 1}}
%y = reshape(%x) {dims=[2, 1]}
output %r
output %y
)"},
      {"a node that throws stays, and one with a large result",
       R"(
%a = const {data=f32[2]{1, 2}}
%b = softmax(%a)
%z = const {data=f32[]{0}}
%c = fill(%z) {dims=[4097]}
output %b
output %c
)",
       R"(
%a = const {data=f32[2]{1, 2}}
%b = softmax(%a)
%z = const {data=f32[]{0}}
%c = fill(%z) {dims=[4097]}
output %b
output %c
)"},
  };
  checkPass(rows, fold);
}

TEST_CASE("cse: equal subexpressions are computed once") {
  const PassRow rows[] = {
      {"constants, dims and operators",
       R"(
input %x : f32[B, 2]
%a = const {data=f32[2]{1, 2}}
%b = const {data=f32[2]{1, 2}}
%c = const {data=f32[2]{1, 3}}
%m = binary(%x, %a) {kind=mul}
%n = binary(%x, %b) {kind=mul}
%o = binary(%x, %c) {kind=mul}
%p = binary(%m, %n) {kind=add}
%q = binary(%n, %m) {kind=add}
%d = dim_values {dims=[1], values=[B]}
%e = dim_values {dims=[1], values=[B]}
output %p
output %q
output %o
output %d
output %e
)",
       R"(
input %x : f32[B, 2]
%a = const {data=f32[2]{1, 2}}
%c = const {data=f32[2]{1, 3}}
%m = binary(%x, %a) {kind=mul}
%o = binary(%x, %c) {kind=mul}
%p = binary(%m, %m) {kind=add}
%d = dim_values {dims=[1], values=[B]}
output %p
output %p as "q"
output %o
output %d
output %d as "e"
)"},
      {"a result that the first does not give",
       R"(
input %x : f32[B, 8]
%v, _ = top_k(%x) {axis=1, k=2}
%w, %i = top_k(%x) {axis=1, k=2}
output %v
output %w
output %i
)",
       R"(
input %x : f32[B, 8]
%v, _ = top_k(%x) {axis=1, k=2}
%w, %i = top_k(%x) {axis=1, k=2}
output %v
output %w
output %i
)"},
      {"a length that only the first one's data decides",
       R"(
input %x : f32[N]
input %n : i64[2]
%v = const {data=f32[]{0}}
%f = fill_to(%v, %n) {rank=2}
%g = fill_to(%v, %n) {rank=2}
%y = reshape(%f) {dims=["@f.0.0"*"@f.0.1"]}
%z = reshape(%g) {dims=["@g.0.0"*"@g.0.1"]}
output %y
output %z
)",
       R"(
input %x : f32[N]
input %n : i64[2]
%v = const {data=f32[]{0}}
%f = fill_to(%v, %n) {rank=2}
%y = reshape(%f) {dims=["@f.0.0"*"@f.0.1"]}
output %y
output %y as "z"
)"},
      {"inside the graphs of an If",
       R"(
input %c : bool[]
input %x : f32[B]
%y = if(%c, %x) {then=graph {
  input %a : f32[B]
  %p = unary(%a) {kind=exp}
  %q = unary(%a) {kind=exp}
  %r = binary(%p, %q) {kind=add}
  output %r
}, else=graph {
  input %a : f32[B]
  output %a
}}
output %y
)",
       R"(
input %c : bool[]
input %x : f32[B]
%y = if(%c, %x) {then=graph {
  input %a : f32[B]
  %p = unary(%a) {kind=exp}
  %r = binary(%p, %p) {kind=add}
  output %r
}, else=graph {
  input %a : f32[B]
  output %a
}}
output %y
)"},
  };
  checkPass(rows, lowering::eliminateCommonSubexpressions);
}
