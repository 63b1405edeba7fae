// Canonical forms, as tables of text in and text out.
#include "lowering/canonicalize.h"

#include "pass_table.h"

using namespace engine;

static void check(llvm::ArrayRef<PassRow> rows) { checkPass(rows, lowering::canonicalize); }

TEST_CASE("canonicalize: shape arithmetic becomes dims") {
  check({
      {"a reshape to dims taken from another shape",
       R"(
input %x : f32[B, S, 64]
%shape = dim_values {dims=[3], values=[B, S, 64]}
%zero = const {data=i64[1]{0}}
%batch = gather(%shape, %zero)
%rest = const {data=i64[2]{-1, 16}}
%target = concat(%batch, %rest)
%y = reshape_to(%x, %target) {rank=3}
output %y
)",
       R"(
input %x : f32[B, S, 64]
%y = reshape(%x) {dims=[B, 4*S, 16]}
output %y
)"},
      {"known integers that leave the graph",
       R"(
input %x : f32[B, S]
%shape = dim_values {dims=[2], values=[B, S]}
%two = const {data=i64[]{2}}
%y = binary(%shape, %two) {kind=mul}
%three = const {data=i32[1]{3}}
%z = cast(%three) {to=i64}
output %y
output %z
)",
       R"(
input %x : f32[B, S]
%y = dim_values {dims=[2], values=[2*B, 2*S]}
%z = const {data=i64[1]{3}}
output %y
output %z
)"},
      {"expand_to and fill_to with known shapes",
       R"(
input %x : f32[S, 1]
%v = const {data=f32[]{0.5}}
%shape = dim_values {dims=[3], values=[B, 1, 4]}
%y = expand_to(%x, %shape) {rank=3}
%z = fill_to(%v, %shape) {rank=3}
output %y
output %z
)",
       R"(
input %x : f32[S, 1]
%v = const {data=f32[]{0.5}}
%y = expand(%x) {dims=[B, S, 4]}
%z = fill(%v) {dims=[B, 1, 4]}
output %y
output %z
)"},
      {"a slice of two axes becomes two slices, a whole axis none",
       R"(
input %x : f32[P + S, 8, T]
%starts = dim_values {dims=[3], values=[P, 1, 0]}
%ends = dim_values {dims=[3], values=[P + S, 7, T]}
%steps = const {data=i64[3]{1, 2, 1}}
%y = slice_at(x=%x, starts=%starts, ends=%ends, steps=%steps) {axes=[0, 1, 2]}
output %y
)",
       R"(
input %x : f32[P + S, 8, T]
%y.axis0 = slice(%x) {axis=0, start=P, length=S}
%y = slice(%y.axis0) {axis=1, start=1, length=3, step=2}
output %y
)"},
      {"what only the run knows stays",
       R"(
input %x : f32[B, 6]
input %shape : i64[2]
%y = reshape_to(%x, %shape) {rank=2}
output %y
)",
       R"(
input %x : f32[B, 6]
input %shape : i64[2]
%y = reshape_to(%x, %shape) {rank=2}
output %y
)"},
      {"a dim that only data decides is not used without that data",
       R"(
input %x : f32[12]
input %n : i64[3]
input %v : f32[]
%f = fill_to(%v, %n) {rank=3}
%shape = dim_values {dims=[1], values=["@f.0.0"]}
%one = const {data=i64[1]{1}}
%y = binary(%shape, %one) {kind=add}
output %f
output %y
)",
       R"(
input %x : f32[12]
input %n : i64[3]
input %v : f32[]
%f = fill_to(%v, %n) {rank=3}
%shape = dim_values {dims=[1], values=["@f.0.0"]}
%one = const {data=i64[1]{1}}
%y = binary(%shape, %one) {kind=add}
output %f
output %y
)"},
      {"a check stays though its value is known",
       R"(
input %n : i32[1]={$n}
%y = check_lengths(%n) {item="input 'n'", limit=8}
output %y
)",
       R"(
input %n : i32[1]={$n}
%y = check_lengths(%n) {item="input 'n'", limit=8}
output %y
)"},
  });
}

TEST_CASE("canonicalize: what does nothing vanishes") {
  check({
      {"layout operators without effect",
       R"(
input %x : f32[B, 8]
%a = reshape(%x) {dims=[B, 8]}
%b = expand(%a) {dims=[1, 8]}
%c = cast(%b) {to=f32}
%d = transpose(%c) {perm=[0, 1]}
%e = slice(%d) {axis=1, start=0, length=8}
%f = concat(%e)
%g = tile(%f) {repeats=[1, 1]}
%h = pad(x=%g) {pads=[0, 0, 0, 0]}
%i = unary(%h) {kind=tanh}
output %i
)",
       R"(
input %x : f32[B, 8]
%i = unary(%x) {kind=tanh}
output %i
)"},
      {"the name of an output stays",
       R"(
input %x : f32[B, 8]
%y = reshape(%x) {dims=[B, 8]}
output %y as "logits"
)",
       R"(
input %x : f32[B, 8]
output %x as "logits"
)"},
      {"neutral operands, where shape stays",
       R"(
input %x : f32[B, 8]
%one = const {data=f32[1]{1}}
%ones = const {data=f32[1, 1, 1]{1}}
%zero = const {data=f32[8]{0, 0, 0, 0, 0, 0, 0, 0}}
%a = binary(%one, %x) {kind=mul}
%b = binary(%a, %zero) {kind=sub}
%c = binary(%b, %ones) {kind=mul}
%d = binary(%one, %c) {kind=div}
output %d
)",
       R"(
input %x : f32[B, 8]
%one = const {data=f32[1]{1}}
%ones = const {data=f32[1, 1, 1]{1}}
%c = binary(%x, %ones) {kind=mul}
%d = binary(%one, %c) {kind=div}
output %d
)"},
      {"a decided where",
       R"(
input %x : i64[B]
input %y : i64[B]
%c = const {data=bool[1]{false}}
%w = where(%c, %x, %y)
output %w
)",
       R"(
input %x : i64[B]
input %y : i64[B]
output %y as "w"
)"},
      {"a check that holds",
       R"(
input %x : f32[B, 8]
%y = check_dims(%x) {item="input 'x'", actual=[B, 8], expected=[B, 8]}
%z = check_dims(%y) {item="input 'x'", actual=[B], expected=[S]}
output %z
)",
       R"(
input %x : f32[B, 8]
%z = check_dims(%x) {item="input 'x'", actual=[B], expected=[S]}
output %z
)"},
  });
}

TEST_CASE("canonicalize: pairs merge") {
  check({
      {"reshapes and transposes",
       R"(
input %x : f32[B, S, 64]
%a = reshape(%x) {dims=[B, S, 4, 16]}
%b = reshape(%a) {dims=[B, 4*S, 16]}
%c = transpose(%b) {perm=[1, 0, 2]}
%d = transpose(%c) {perm=[2, 1, 0]}
output %d
)",
       R"(
input %x : f32[B, S, 64]
%b = reshape(%x) {dims=[B, 4*S, 16]}
%d = transpose(%b) {perm=[2, 0, 1]}
output %d
)"},
      {"transposes that cancel",
       R"(
input %x : f32[B, S, 64]
%a = transpose(%x) {perm=[2, 0, 1]}
%b = transpose(%a) {perm=[1, 2, 0]}
output %b
)",
       R"(
input %x : f32[B, S, 64]
output %x as "b"
)"},
      {"x * sigmoid(x), either way round",
       R"(
input %x : f32[B]
input %z : f32[B]
%a = unary(%x) {kind=sigmoid}
%b = binary(%a, %x) {kind=mul}
%c = unary(%z) {kind=sigmoid}
%d = binary(%z, %c) {kind=mul}
%e = binary(%x, %c) {kind=mul}
output %b
output %d
output %e
)",
       R"(
input %x : f32[B]
input %z : f32[B]
%b = unary(%x) {kind=silu}
%c = unary(%z) {kind=sigmoid}
%d = unary(%z) {kind=silu}
%e = binary(%x, %c) {kind=mul}
output %b
output %d
output %e
)"},
  });
}

TEST_CASE("canonicalize: an If with a known condition is the branch") {
  check({
      {"inlined, its dims those of the captures",
       R"(
input %x : f32[B, S, 64]
%yes = const {data=bool[]{true}}
%y = if(%yes, %x) {then=graph {
  input %c : f32[N, T, 64]
  %flat = reshape(%c) {dims=[N*T, 64]}
  %r = unary(%flat) {kind=exp}
  output %r
}, else=graph {
  input %c : f32[N, T, 64]
  %r = reshape(%c) {dims=[N*T, 64]}
  output %r
}}
%z = unary(%y) {kind=neg}
output %z
)",
       R"(
input %x : f32[B, S, 64]
%flat = reshape(%x) {dims=[B*S, 64]}
%r = unary(%flat) {kind=exp}
%z = unary(%r) {kind=neg}
output %z
)"},
      {"by a comparison that bounds decide",
       R"(
input %x : f32[B, S]
%n = dim_values {values=[S]}
%zero = const {data=i64[]{0}}
%c = binary(%n, %zero) {kind=less}
%y = if(%c, %x) {then=graph {
  input %a : f32[B, S]
  %r = unary(%a) {kind=exp}
  output %r
}, else=graph {
  input %a : f32[B, S]
  output %a
}}
output %y
)",
       R"(
input %x : f32[B, S]
output %x as "y"
)"},
      {"both graphs are simplified where the condition is open",
       R"(
input %c : bool[]
input %x : f32[B]
%y = if(%c, %x) {then=graph {
  input %a : f32[B]
  %r = cast(%a) {to=f32}
  %s = unary(%r) {kind=exp}
  output %s
}, else=graph {
  input %a : f32[B]
  %s = unary(%a) {kind=neg}
  output %s
}}
output %y
)",
       R"(
input %c : bool[]
input %x : f32[B]
%y = if(%c, %x) {then=graph {
  input %a : f32[B]
  %s = unary(%a) {kind=exp}
  output %s
}, else=graph {
  input %a : f32[B]
  %s = unary(%a) {kind=neg}
  output %s
}}
output %y
)"},
      {"later operators use the dims of the branch",
       R"(
input %x : f32[B, S]
input %y : f32[B*S]
%yes = const {data=bool[]{true}}
%z = if(%yes, %x) {then=graph {
  input %c : f32[N, T]
  %r = reshape(%c) {dims=[N*T]}
  output %r
}, else=graph {
  input %c : f32[N, T]
  %r = reshape(%c) {dims=[N*T]}
  output %r
}}
%w = reshape(%y) {dims=["@z.0.0", 1]}
output %z
output %w
)",
       R"(
input %x : f32[B, S]
input %y : f32[B*S]
%r = reshape(%x) {dims=[B*S]}
%w = reshape(%y) {dims=[B*S, 1]}
output %r as "z"
output %w
)"},
  });
}
