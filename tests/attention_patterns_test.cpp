// Spellings of attention that become one Sdpa, and near misses that stay, as tables of text in and
// text out.
#include "lowering/attention_patterns.h"

#include "pass_table.h"

using namespace engine;

namespace {

struct Spelling {
  const char *why;
  std::string before;
  std::string after; // "": as before
};

void check(llvm::ArrayRef<Spelling> rows) {
  for (const Spelling &row : rows) {
    const std::string &after = row.after.empty() ? row.before : row.after;
    checkPass({{row.why, row.before.c_str(), after.c_str()}}, lowering::recognizeAttention);
  }
}

const std::string kQkv = R"(
input %q : f32[B, 4, S, 8]
input %k : f32[B, 4, T, 8]
input %v : f32[B, 4, T, 8]
)";

const std::string kHalfQkv = R"(
input %q : f16[B, 4, S, 8]
input %k : f16[B, 4, T, 8]
input %v : f16[B, 4, T, 8]
)";

const std::string kGroupedQkv = R"(
input %q : f32[B, 4, S, 8]
input %k : f32[B, 2, T, 8]
input %v : f32[B, 2, T, 8]
)";

const std::string kPastQkv = R"(
input %q : f32[B, 4, S, 8]
input %k : f32[B, 4, P + S, 8]
input %v : f32[B, 4, P + S, 8]
)";

const std::string kKt = R"(
%kt = transpose(%k) {perm=[0, 1, 3, 2]}
)";

const std::string kPositions = R"(
%zero = const {data=i64[]{0}}
%one = const {data=i64[]{1}}
%past = dim_values {values=[P]}
%total = dim_values {values=[P + S]}
%cols = range(%zero, %total, %one)
%rows = range(%past, %total, %one)
%rowc = reshape(%rows) {dims=[S, 1]}
)";

const std::string kInfinite = R"(
%none = const {data=f32[]{0}}
%low = const {data=f32[]{-inf}}
)";

const std::string kFinite = R"(
%none = const {data=f32[]{0}}
%low = const {data=f32[]{-3.4028234663852886e38}}
)";

} // namespace

TEST_CASE("attention patterns: spellings") {
  check({
      {"nothing but the two products", kQkv + kKt + R"(
%s = matmul(%q, %kt)
%p = softmax(%s) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kQkv + R"(
%y, _ = sdpa(q=%q, k=%k, v=%v) @"y.sdpa"
output %y
)"},
      {"a factor on the scores, a bias over rows and columns", kQkv + kKt + R"(
input %m : f32[S, T]
%s = matmul(%q, %kt)
%c = const {data=f32[]{0.25}}
%x = binary(%s, %c) {kind=mul}
%z = binary(%x, %m) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kQkv + R"(
input %m : f32[S, T]
%y.bias_4d = reshape(%m) {dims=[1, 1, S, T]}
%y, _ = sdpa(q=%q, k=%k, v=%v, bias=%y.bias_4d) {scale=0.25} @"y.sdpa"
output %y
)"},
      {"a divisor, and the bias first", kQkv + kKt + R"(
input %m : f32[B, 1, S, T]
%s = matmul(%q, %kt)
%c = const {data=f32[1]{4}}
%x = binary(%s, %c) {kind=div}
%z = binary(%m, %x) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kQkv + R"(
input %m : f32[B, 1, S, T]
%y, _ = sdpa(q=%q, k=%k, v=%v, bias=%m) {scale=0.25} @"y.sdpa"
output %y
)"},
      {"PyTorch: the root of the scale on Q and on K, K transposed with three axes", kQkv + R"(
%k3 = reshape(%k) {dims=[4*B, T, 8]}
%k3t = transpose(%k3) {perm=[0, 2, 1]}
%kt = reshape(%k3t) {dims=[B, 4, 8, T]}
%c = const {data=f32[]{0.5}}
%qs = binary(%q, %c) {kind=mul}
%ks = binary(%c, %kt) {kind=mul}
%s = matmul(%qs, %ks)
%p = softmax(%s) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kQkv + R"(
%y, _ = sdpa(q=%q, k=%k, v=%v) {scale=0.25} @"y.sdpa"
output %y
)"},
      {"heads split and transposed at once: K^T straight from [B, T, N, H]",
       R"(
input %q : f32[B, 4, S, 8]
input %k : f32[B, T, 32]
input %v : f32[B, 4, T, 8]
%kh = reshape(%k) {dims=[B, T, 4, 8]}
%kt = transpose(%kh) {perm=[0, 2, 3, 1]}
%s = matmul(%q, %kt)
%p = softmax(%s) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       R"(
input %q : f32[B, 4, S, 8]
input %k : f32[B, T, 32]
input %v : f32[B, 4, T, 8]
%kh = reshape(%k) {dims=[B, T, 4, 8]}
%y.key = transpose(%kh) {perm=[0, 2, 1, 3]}
%y, _ = sdpa(q=%q, k=%y.key, v=%v) @"y.sdpa"
output %y
)"},
      {"K arrives transposed",
       R"(
input %q : f32[B, 4, S, 8]
input %kt : f32[B, 4, 8, T]
input %v : f32[B, 4, T, 8]
%s = matmul(%q, %kt)
%p = softmax(%s) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       R"(
input %q : f32[B, 4, S, 8]
input %kt : f32[B, 4, 8, T]
input %v : f32[B, 4, T, 8]
%y.key = transpose(%kt) {perm=[0, 1, 3, 2]}
%y, _ = sdpa(q=%q, k=%y.key, v=%v) @"y.sdpa"
output %y
)"},
      {"softcap, the scale inside", kQkv + kKt + R"(
input %m : f32[B, 1, S, T]
%s = matmul(%q, %kt)
%c = const {data=f32[]{0.25}}
%x = binary(%s, %c) {kind=mul}
%cap = const {data=f32[]{50}}
%d = binary(%x, %cap) {kind=div}
%t = unary(%d) {kind=tanh}
%g = binary(%t, %cap) {kind=mul}
%z = binary(%g, %m) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kQkv + R"(
input %m : f32[B, 1, S, T]
%y, _ = sdpa(q=%q, k=%k, v=%v, bias=%m) {scale=0.25, softcap=50} @"y.sdpa"
output %y
)"},
      {"a bool mask as -inf on the scores, and NaN of empty rows cleaned", kQkv + kKt + R"(
input %m : bool[B, 1, S, T]
%low = const {data=f32[]{-inf}}
%zero = const {data=f32[]{0}}
%s = matmul(%q, %kt)
%z = where(%m, %s, %low)
%w = softmax(%z) {axis=3}
%nan = unary(%w) {kind=is_nan}
%p = where(%nan, %zero, %w)
%y = matmul(%p, %v)
output %y
)",
       kQkv + R"(
input %m : bool[B, 1, S, T]
%y, _ = sdpa(q=%q, k=%k, v=%v, mask=%m) @"y.sdpa"
output %y
)"},
      {"a bool mask that hides, as a bias", kQkv + kKt + R"(
input %m : bool[S, T]
%low = const {data=f32[]{-inf}}
%zero = const {data=f32[]{0}}
%b = where(%m, %low, %zero)
%s = matmul(%q, %kt)
%z = binary(%s, %b) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kQkv + R"(
input %m : bool[S, T]
%y.visible = unary(%m) {kind=not}
%y.mask_4d = reshape(%y.visible) {dims=[1, 1, S, T]}
%y, _ = sdpa(q=%q, k=%k, v=%v, mask=%y.mask_4d) @"y.sdpa"
output %y
)"},
      {"a mask and a bias; one column serves all keys", kQkv + kKt + R"(
input %m : bool[B, 1, 1, T]
input %b : f32[4, S, 1]
%low = const {data=f32[1]{-inf}}
%s = matmul(%q, %kt)
%x = binary(%s, %b) {kind=add}
%z = where(%m, %x, %low)
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kQkv + R"(
input %m : bool[B, 1, 1, T]
input %b : f32[4, S, 1]
%y.bias = expand(%b) {dims=[4, S, T]}
%y.bias_4d = reshape(%y.bias) {dims=[1, 4, S, T]}
%y, _ = sdpa(q=%q, k=%k, v=%v, bias=%y.bias_4d, mask=%m) @"y.sdpa"
output %y
)"},
      {"a mask over keys alone, of a length only the run knows", kQkv + kKt + R"(
input %m : f32[U]
%s = matmul(%q, %kt)
%z = binary(%s, %m) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kQkv + R"(
input %m : f32[U]
%y.bias = expand(%m) {dims=[T]}
%y.bias_4d = reshape(%y.bias) {dims=[1, 1, 1, broadcast(T, U)]}
%y, _ = sdpa(q=%q, k=%k, v=%v, bias=%y.bias_4d) @"y.sdpa"
output %y
)"},
      {"a finite number on the scores is a bias: its rows are never empty", kQkv + kKt + R"(
input %m : bool[B, 1, S, T]
%low = const {data=f32[]{-3.4028234663852886e38}}
%s = matmul(%q, %kt)
%z = where(%m, %s, %low)
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kQkv + R"(
input %m : bool[B, 1, S, T]
%y.number = const {data=f32[]{0}}
%y.number#2 = const {data=f32[]{-3.4028235e+38}}
%y.hidden = where(%m, %y.number, %y.number#2)
%y, _ = sdpa(q=%q, k=%k, v=%v, bias=%y.hidden) @"y.sdpa"
output %y
)"},
      {"f16: the softmax in f32, rounded to f16", kHalfQkv + kKt + R"(
input %m : f16[B, 1, S, T]
%s = matmul(%q, %kt)
%z = binary(%s, %m) {kind=add}
%f = cast(%z) {to=f32}
%w = softmax(%f) {axis=3}
%p = cast(%w) {to=f16}
%y = matmul(%p, %v)
output %y
)",
       kHalfQkv + R"(
input %m : f16[B, 1, S, T]
%y, _ = sdpa(q=%q, k=%k, v=%v, bias=%m) @"y.sdpa"
output %y
)"},
      {"f16 Q and K widened for the product alone", kHalfQkv + R"(
%qf = cast(%q) {to=f32}
%kf = cast(%k) {to=f32}
%kt = transpose(%kf) {perm=[0, 1, 3, 2]}
%s = matmul(%qf, %kt)
%w = softmax(%s) {axis=3}
%p = cast(%w) {to=f16}
%y = matmul(%p, %v)
output %y
)",
       kHalfQkv + R"(
%y, _ = sdpa(q=%q, k=%k, v=%v) @"y.sdpa"
output %y
)"},
      {"repeated KV heads", kGroupedQkv + R"(
%k5 = reshape(%k) {dims=[B, 2, 1, T, 8]}
%ke = expand(%k5) {dims=[B, 2, 2, T, 8]}
%kr = reshape(%ke) {dims=[B, 4, T, 8]}
%kt = transpose(%kr) {perm=[0, 1, 3, 2]}
%v5 = reshape(%v) {dims=[B, 2, 1, T, 8]}
%ve = expand(%v5) {dims=[B, 2, 2, T, 8]}
%vr = reshape(%ve) {dims=[B, 4, T, 8]}
%s = matmul(%q, %kt)
%p = softmax(%s) {axis=3}
%y = matmul(%p, %vr)
output %y
)",
       kGroupedQkv + R"(
%y, _ = sdpa(q=%q, k=%k, v=%v) @"y.sdpa"
output %y
)"},
      {"repeated KV heads, [B, T, K, H] before the transpose, by Tile",
       R"(
input %q : f32[B, 4, S, 8]
input %k : f32[B, T, 16]
input %v : f32[B, T, 16]
%k5 = reshape(%k) {dims=[B, T, 2, 1, 8]}
%ke = tile(%k5) {repeats=[1, 1, 1, 2, 1]}
%kr = reshape(%ke) {dims=[B, T, 4, 8]}
%kt = transpose(%kr) {perm=[0, 2, 3, 1]}
%v5 = reshape(%v) {dims=[B, T, 2, 1, 8]}
%ve = tile(%v5) {repeats=[1, 1, 1, 2, 1]}
%vr = reshape(%ve) {dims=[B, T, 4, 8]}
%vt = transpose(%vr) {perm=[0, 2, 1, 3]}
%s = matmul(%q, %kt)
%p = softmax(%s) {axis=3}
%y = matmul(%p, %vt)
output %y
)",
       R"(
input %q : f32[B, 4, S, 8]
input %k : f32[B, T, 16]
input %v : f32[B, T, 16]
%y.key_heads = reshape(%k) {dims=[B, T, 2, 8]}
%y.key = transpose(%y.key_heads) {perm=[0, 2, 1, 3]}
%y.value_heads = reshape(%v) {dims=[B, T, 2, 8]}
%y.value = transpose(%y.value_heads) {perm=[0, 2, 1, 3]}
%y, _ = sdpa(q=%q, k=%y.key, v=%y.value) @"y.sdpa"
output %y
)"},
      {"one KV head for all by the product's own broadcasting", std::string(R"(
input %q : f32[B, 4, S, 8]
input %k : f32[B, 1, T, 8]
input %v : f32[B, 1, T, 8]
)") + kKt + R"(
%s = matmul(%q, %kt)
%p = softmax(%s) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       R"(
input %q : f32[B, 4, S, 8]
input %k : f32[B, 1, T, 8]
input %v : f32[B, 1, T, 8]
%y, _ = sdpa(q=%q, k=%k, v=%v) @"y.sdpa"
output %y
)"},
      {"three axes: heads in the batch, the mask joined with four", kQkv + R"(
input %m : f32[B, 1, S, T]
%q3 = reshape(%q) {dims=[4*B, S, 8]}
%k3 = reshape(%k) {dims=[4*B, T, 8]}
%v3 = reshape(%v) {dims=[4*B, T, 8]}
%kt = transpose(%k3) {perm=[0, 2, 1]}
%s3 = matmul(%q3, %kt)
%s = reshape(%s3) {dims=[B, 4, S, T]}
%z = binary(%s, %m) {kind=add}
%z3 = reshape(%z) {dims=[4*B, S, T]}
%p = softmax(%z3) {axis=2}
%y = matmul(%p, %v3)
output %y
)",
       kQkv + R"(
input %m : f32[B, 1, S, T]
%y.sdpa, _ = sdpa(q=%q, k=%k, v=%v, bias=%m)
%y = reshape(%y.sdpa) {dims=[4*B, S, 8]}
output %y
)"},
      {"three axes and no heads",
       R"(
input %q : f32[B, S, 8]
input %k : f32[B, T, 8]
input %v : f32[B, T, 8]
input %m : f32[B, S, T]
%kt = transpose(%k) {perm=[0, 2, 1]}
%s = matmul(%q, %kt)
%z = binary(%s, %m) {kind=add}
%p = softmax(%z) {axis=2}
%y = matmul(%p, %v)
output %y
)",
       R"(
input %q : f32[B, S, 8]
input %k : f32[B, T, 8]
input %v : f32[B, T, 8]
input %m : f32[B, S, T]
%y.query_heads = reshape(%q) {dims=[B, 1, S, 8]}
%y.key_heads = reshape(%k) {dims=[B, 1, T, 8]}
%y.value_heads = reshape(%v) {dims=[B, 1, T, 8]}
%y.bias_heads = reshape(%m) {dims=[B, 1, S, T]}
%y.sdpa, _ = sdpa(q=%y.query_heads, k=%y.key_heads, v=%y.value_heads, bias=%y.bias_heads)
%y = reshape(%y.sdpa) {dims=[B, S, 8]}
output %y
)"},
  });
}

TEST_CASE("attention patterns: masks of positions become a band") {
  check({
      {"columns up to the row's position", kPastQkv + kKt + kPositions + kInfinite + R"(
%vis = binary(%cols, %rowc) {kind=less_or_equal}
%b = where(%vis, %none, %low)
%s = matmul(%q, %kt)
%z = binary(%s, %b) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kPastQkv + R"(
%y, _ = sdpa(q=%q, k=%k, v=%v) {band=[.., 0], offset=P} @"y.sdpa"
output %y
)"},
      {"rows from their column on, hidden otherwise, on the scores", kPastQkv + kKt + R"(
%s = matmul(%q, %kt)
)" + kPositions + kInfinite + R"(
%hid = binary(%rowc, %cols) {kind=less}
%z = where(%hid, %low, %s)
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kPastQkv + R"(
%y, _ = sdpa(q=%q, k=%k, v=%v) {band=[.., 0], offset=P} @"y.sdpa"
output %y
)"},
      {"a window and padding: what is data stays a mask", kPastQkv + kKt + R"(
input %pad : bool[B, 1, 1, P + S]
)" + kPositions + kInfinite + R"(
%w = const {data=i64[]{16}}
%first = binary(%rowc, %w) {kind=sub}
%in = binary(%cols, %first) {kind=greater}
%vis = binary(%cols, %rowc) {kind=less_or_equal}
%both = binary(%in, %vis) {kind=and}
%all = binary(%both, %pad) {kind=and}
%b = where(%all, %none, %low)
%s = matmul(%q, %kt)
%z = binary(%s, %b) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kPastQkv + R"(
input %pad : bool[B, 1, 1, P + S]
%y, _ = sdpa(q=%q, k=%k, v=%v, mask=%pad) {band=[15, 0], offset=P} @"y.sdpa"
output %y
)"},
      {"the distance of column and row", kPastQkv + kKt + kPositions + kInfinite + R"(
%d = binary(%rowc, %cols) {kind=sub}
%vis = binary(%d, %zero) {kind=greater_or_equal}
%b = where(%vis, %none, %low)
%s = matmul(%q, %kt)
%z = binary(%s, %b) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kPastQkv + R"(
%y, _ = sdpa(q=%q, k=%k, v=%v) {band=[.., 0], offset=P} @"y.sdpa"
output %y
)"},
      {"a finite number where every row sees something", kPastQkv + kKt + kPositions + kFinite + R"(
%vis = binary(%cols, %rowc) {kind=less_or_equal}
%b = where(%vis, %none, %low)
%s = matmul(%q, %kt)
%z = binary(%s, %b) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kPastQkv + R"(
%y, _ = sdpa(q=%q, k=%k, v=%v) {band=[.., 0], offset=P} @"y.sdpa"
output %y
)"},
      {"a triangle of ones against zero", kQkv + kKt + kInfinite + R"(
%one = const {data=f32[]{1}}
%ones = expand(%one) {dims=[S, T]}
%tri = trilu(%ones) {upper=false}
%hid = binary(%tri, %none) {kind=equal}
%b = where(%hid, %low, %none)
%s = matmul(%q, %kt)
%z = binary(%s, %b) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kQkv + R"(
%y, _ = sdpa(q=%q, k=%k, v=%v) {band=[.., 0]} @"y.sdpa"
output %y
)"},
      {"a triangle of -inf above the diagonal", kQkv + kKt + R"(
%low = const {data=f32[]{-inf}}
%lows = fill(%low) {dims=[S, T]}
%b = trilu(%lows) {k=1}
%s = matmul(%q, %kt)
%z = binary(%s, %b) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kQkv + R"(
%y, _ = sdpa(q=%q, k=%k, v=%v) {band=[.., 0]} @"y.sdpa"
output %y
)"},
      {"one query row: its position is a number", std::string(R"(
input %q : f32[B, 4, 1, 8]
input %k : f32[B, 4, P + 1, 8]
input %v : f32[B, 4, P + 1, 8]
)") + kKt + R"(
%zero = const {data=i64[]{0}}
%one = const {data=i64[]{1}}
%past = dim_values {values=[P]}
%total = dim_values {values=[P + 1]}
%cols = range(%zero, %total, %one)
%vis = binary(%cols, %past) {kind=less_or_equal}
)" + kInfinite + R"(
%b = where(%vis, %none, %low)
%s = matmul(%q, %kt)
%z = binary(%s, %b) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       R"(
input %q : f32[B, 4, 1, 8]
input %k : f32[B, 4, P + 1, 8]
input %v : f32[B, 4, P + 1, 8]
%y, _ = sdpa(q=%q, k=%k, v=%v) {band=[.., 0], offset=P} @"y.sdpa"
output %y
)"},
      {"an imported Sdpa: the band from its bias, repeated heads", std::string(R"(
input %q : f32[B, 4, S, 8]
input %k : f32[B, 2, P + S, 8]
input %v : f32[B, 2, P + S, 8]
)") + kPositions + kFinite + R"(
%vis = binary(%cols, %rowc) {kind=less_or_equal}
%hid = unary(%vis) {kind=not}
%f = cast(%hid) {to=f32}
%f2 = binary(%f, %low) {kind=mul}
%b = reshape(%f2) {dims=[1, 1, S, P + S]}
%k5 = reshape(%k) {dims=[B, 2, 1, P + S, 8]}
%ke = expand(%k5) {dims=[B, 2, 2, P + S, 8]}
%kr = reshape(%ke) {dims=[B, 4, P + S, 8]}
%v5 = reshape(%v) {dims=[B, 2, 1, P + S, 8]}
%ve = expand(%v5) {dims=[B, 2, 2, P + S, 8]}
%vr = reshape(%ve) {dims=[B, 4, P + S, 8]}
%y, _ = sdpa(q=%q, k=%kr, v=%vr, bias=%b) {scale=0.25}
output %y
)",
       R"(
input %q : f32[B, 4, S, 8]
input %k : f32[B, 2, P + S, 8]
input %v : f32[B, 2, P + S, 8]
%y, _ = sdpa(q=%q, k=%k, v=%v) {scale=0.25, band=[.., 0], offset=P}
output %y
)"},
  });
}

TEST_CASE("attention patterns: masks that say something else stay masks") {
  check({
      {"a finite number beside another bias: a row may hold nothing else", kPastQkv + kKt + R"(
input %pad : f32[B, 1, 1, P + S]
)" + kPositions + kFinite + R"(
%vis = binary(%cols, %rowc) {kind=less_or_equal}
%b = where(%vis, %none, %low)
%s = matmul(%q, %kt)
%x = binary(%s, %pad) {kind=add}
%z = binary(%x, %b) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kPastQkv + R"(
input %pad : f32[B, 1, 1, P + S]
)" + kPositions +
           R"(
%none = const {data=f32[]{0}}
%low = const {data=f32[]{-3.4028235e+38}}
%vis = binary(%cols, %rowc) {kind=less_or_equal}
%b = where(%vis, %none, %low)
%y.bias_sum = binary(%b, %pad) {kind=add}
%y, _ = sdpa(q=%q, k=%k, v=%v, bias=%y.bias_sum) @"y.sdpa"
output %y
)"},
      {"a finite number where row 0 may see nothing", kQkv + kKt + kFinite + R"(
%zero = const {data=i64[]{0}}
%one = const {data=i64[]{1}}
%s0 = dim_values {values=[S]}
%t0 = dim_values {values=[T]}
%cols = range(%zero, %t0, %one)
%rows = range(%zero, %s0, %one)
%rowc = reshape(%rows) {dims=[S, 1]}
%vis = binary(%cols, %rowc) {kind=less}
%b = where(%vis, %none, %low)
%s = matmul(%q, %kt)
%z = binary(%s, %b) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kQkv + R"(
%none = const {data=f32[]{0}}
%low = const {data=f32[]{-3.4028235e+38}}
%zero = const {data=i64[]{0}}
%one = const {data=i64[]{1}}
%s0 = dim_values {values=[S]}
%t0 = dim_values {values=[T]}
%cols = range(%zero, %t0, %one)
%rows = range(%zero, %s0, %one)
%rowc = reshape(%rows) {dims=[S, 1]}
%vis = binary(%cols, %rowc) {kind=less}
%b = where(%vis, %none, %low)
%y.bias_4d = reshape(%b) {dims=[1, 1, S, T]}
%y, _ = sdpa(q=%q, k=%k, v=%v, bias=%y.bias_4d) @"y.sdpa"
output %y
)"},
      {"positions that are data", kPastQkv + kKt + R"(
input %pos : i64[S, 1]
%zero = const {data=i64[]{0}}
%one = const {data=i64[]{1}}
%total = dim_values {values=[P + S]}
%cols = range(%zero, %total, %one)
)" + kInfinite + R"(
%vis = binary(%cols, %pos) {kind=less_or_equal}
%b = where(%vis, %none, %low)
%s = matmul(%q, %kt)
%z = binary(%s, %b) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kPastQkv + R"(
input %pos : i64[S, 1]
%zero = const {data=i64[]{0}}
%one = const {data=i64[]{1}}
%total = dim_values {values=[P + S]}
%cols = range(%zero, %total, %one)
%vis = binary(%cols, %pos) {kind=less_or_equal}
%y.mask_4d = reshape(%vis) {dims=[1, 1, S, P + S]}
%y, _ = sdpa(q=%q, k=%k, v=%v, mask=%y.mask_4d) @"y.sdpa"
output %y
)"},
      {"the row's number as the column of one row of mask: not a diagonal", kPastQkv + kKt + R"(
%zero = const {data=i64[]{0}}
%one = const {data=i64[]{1}}
%past = dim_values {values=[P]}
%total = dim_values {values=[P + S]}
%cols = range(%zero, %total, %one)
%rows = range(%past, %total, %one)
)" + kInfinite + R"(
%vis = binary(%cols, %past) {kind=less_or_equal}
%b = where(%vis, %none, %low)
%s = matmul(%q, %kt)
%z = binary(%s, %b) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kPastQkv + R"(
%zero = const {data=i64[]{0}}
%one = const {data=i64[]{1}}
%past = dim_values {values=[P]}
%total = dim_values {values=[P + S]}
%cols = range(%zero, %total, %one)
%vis = binary(%cols, %past) {kind=less_or_equal}
%y.mask_4d = reshape(%vis) {dims=[1, 1, 1, P + S]}
%y, _ = sdpa(q=%q, k=%k, v=%v, mask=%y.mask_4d) @"y.sdpa"
output %y
)"},
      {"every second column", kPastQkv + kKt + R"(
%zero = const {data=i64[]{0}}
%one = const {data=i64[]{1}}
%past = dim_values {values=[P]}
%total = dim_values {values=[P + S]}
%two = const {data=i64[]{2}}
%tt = dim_values {values=[2*P + 2*S]}
%cols = range(%zero, %tt, %two)
%rows = range(%past, %total, %one)
%rowc = reshape(%rows) {dims=[S, 1]}
)" + kInfinite + R"(
%vis = binary(%cols, %rowc) {kind=less_or_equal}
%b = where(%vis, %none, %low)
%s = matmul(%q, %kt)
%z = binary(%s, %b) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       kPastQkv + R"(
%zero = const {data=i64[]{0}}
%one = const {data=i64[]{1}}
%past = dim_values {values=[P]}
%total = dim_values {values=[P + S]}
%two = const {data=i64[]{2}}
%tt = dim_values {values=[2*P + 2*S]}
%cols = range(%zero, %tt, %two)
%rows = range(%past, %total, %one)
%rowc = reshape(%rows) {dims=[S, 1]}
%vis = binary(%cols, %rowc) {kind=less_or_equal}
%y.mask_4d = reshape(%vis) {dims=[1, 1, S, P + S]}
%y, _ = sdpa(q=%q, k=%k, v=%v, mask=%y.mask_4d) @"y.sdpa"
output %y
)"},
  });
}

TEST_CASE("attention patterns: what is no attention of ours stays") {
  check({
      {"another axis", kQkv + kKt + R"(
%s = matmul(%q, %kt)
%p = softmax(%s) {axis=2}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"the logarithm", kQkv + kKt + R"(
%s = matmul(%q, %kt)
%p = softmax(%s) {axis=3, log=true}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"weights that leave", kQkv + kKt + R"(
%s = matmul(%q, %kt)
%p = softmax(%s) {axis=3}
%y = matmul(%p, %v)
output %y
output %p
)",
       ""},
      {"scores that something else reads", kQkv + kKt + R"(
%s = matmul(%q, %kt)
%p = softmax(%s) {axis=3}
%y = matmul(%p, %v)
output %y
output %s
)",
       ""},
      {"a bias that stretches the scores", std::string(R"(
input %q : f32[1, 4, S, 8]
input %k : f32[1, 4, T, 8]
input %v : f32[1, 4, T, 8]
input %m : f32[3, 1, S, T]
)") + kKt + R"(
%s = matmul(%q, %kt)
%z = binary(%s, %m) {kind=add}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"a factor for each column", kQkv + kKt + R"(
input %c : f32[T]
%s = matmul(%q, %kt)
%z = binary(%s, %c) {kind=mul}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"a factor that is data", kQkv + kKt + R"(
input %c : f32[]
%s = matmul(%q, %kt)
%z = binary(%s, %c) {kind=mul}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"a bias that is scaled with the scores", kQkv + kKt + R"(
input %m : f32[S, T]
%c = const {data=f32[]{0.25}}
%s = matmul(%q, %kt)
%x = binary(%s, %m) {kind=add}
%z = binary(%x, %c) {kind=mul}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"a bias inside the cap", kQkv + kKt + R"(
input %m : f32[S, T]
%s = matmul(%q, %kt)
%x = binary(%s, %m) {kind=add}
%z = unary(%x) {kind=tanh}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"a cap below zero", kQkv + kKt + R"(
%c = const {data=f32[]{-2}}
%s = matmul(%q, %kt)
%x = unary(%s) {kind=tanh}
%z = binary(%x, %c) {kind=mul}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"scores minus a mask", kQkv + kKt + R"(
input %m : f32[S, T]
%s = matmul(%q, %kt)
%z = binary(%s, %m) {kind=sub}
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"a number on the scores that hides nothing", kQkv + kKt + R"(
input %m : bool[S, T]
%low = const {data=f32[]{-100}}
%s = matmul(%q, %kt)
%z = where(%m, %s, %low)
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"f16's lowest number on the scores does not absorb them", kHalfQkv + kKt + R"(
input %m : bool[S, T]
%low = const {data=f16[]{-65504}}
%s = matmul(%q, %kt)
%z = where(%m, %s, %low)
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"a lowest number over a bias", kQkv + kKt + R"(
input %m : bool[S, T]
input %b : f32[S, T]
%low = const {data=f32[]{-3.4028234663852886e38}}
%s = matmul(%q, %kt)
%x = binary(%s, %b) {kind=add}
%z = where(%m, %x, %low)
%p = softmax(%z) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"narrowed between bias and softmax: a low number may become -inf", kQkv + kKt + R"(
input %m : f32[S, T]
%s = matmul(%q, %kt)
%x = binary(%s, %m) {kind=add}
%z = cast(%x) {to=f16}
%w = softmax(%z) {axis=3}
%p = cast(%w) {to=f32}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"f64", std::string(R"(
input %q : f64[B, 4, S, 8]
input %k : f64[B, 4, T, 8]
input %v : f64[B, 4, T, 8]
)") + kKt + R"(
%s = matmul(%q, %kt)
%p = softmax(%s) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"other dims of V", std::string(R"(
input %q : f32[B, 4, S, 8]
input %k : f32[B, 4, T, 8]
input %v : f32[B, 4, U, 8]
)") + kKt + R"(
%s = matmul(%q, %kt)
%p = softmax(%s) {axis=3}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"two axes",
       R"(
input %q : f32[S, 8]
input %k : f32[T, 8]
input %v : f32[T, 8]
%kt = transpose(%k) {perm=[1, 0]}
%s = matmul(%q, %kt)
%p = softmax(%s) {axis=1}
%y = matmul(%p, %v)
output %y
)",
       ""},
      {"NaN replaced by another number", kQkv + kKt + R"(
%one = const {data=f32[]{1}}
%s = matmul(%q, %kt)
%w = softmax(%s) {axis=3}
%nan = unary(%w) {kind=is_nan}
%p = where(%nan, %one, %w)
%y = matmul(%p, %v)
output %y
)",
       ""},
  });
}

TEST_CASE("attention patterns: heads that are not repeated one by one stay") {
  check({
      {"heads that were tiled, not repeated one by one", kGroupedQkv + R"(
%k5 = reshape(%k) {dims=[B, 1, 2, T, 8]}
%ke = expand(%k5) {dims=[B, 2, 2, T, 8]}
%kr = reshape(%ke) {dims=[B, 4, T, 8]}
%v5 = reshape(%v) {dims=[B, 1, 2, T, 8]}
%ve = expand(%v5) {dims=[B, 2, 2, T, 8]}
%vr = reshape(%ve) {dims=[B, 4, T, 8]}
%y, _ = sdpa(q=%q, k=%kr, v=%vr) {scale=0.25}
output %y
)",
       ""},
      {"K repeated and V not",
       R"(
input %q : f32[B, 4, S, 8]
input %k : f32[B, 2, T, 8]
input %v : f32[B, 4, T, 8]
%k5 = reshape(%k) {dims=[B, 2, 1, T, 8]}
%ke = expand(%k5) {dims=[B, 2, 2, T, 8]}
%kr = reshape(%ke) {dims=[B, 4, T, 8]}
%y, _ = sdpa(q=%q, k=%kr, v=%v) {scale=0.25}
output %y
)",
       ""},
  });
}
