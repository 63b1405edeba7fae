// Spelled-out norms that become RmsNorm, and near misses that stay.
#include "lowering/norm_patterns.h"

#include "pass_table.h"

using namespace engine;

TEST_CASE("norm patterns: spellings") {
  checkPass(
      {
          {"the reciprocal of the root, the weight first",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
%two = const {data=f32[]{2}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=mean, axes=[2]}
%e = const {data=f32[]{0.5}}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%i = unary(%r) {kind=reciprocal}
%n = binary(%x, %i) {kind=mul}
%y = binary(%w, %n) {kind=mul}
output %y
)",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
%y = rms_norm(%x, %w) {axis=2, epsilon=0.5}
output %y
)"},
          {"one over the root, the square a product, epsilon first",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
%e = const {data=f32[]{0.5}}
%sq = binary(%x, %x) {kind=mul}
%m = reduce(%sq) {kind=mean, axes=[2]}
%a = binary(%e, %m) {kind=add}
%r = unary(%a) {kind=sqrt}
%one = const {data=f32[]{1}}
%i = binary(%one, %r) {kind=div}
%n = binary(%i, %x) {kind=mul}
%y = binary(%n, %w) {kind=mul}
output %y
)",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
%y = rms_norm(%x, %w) {axis=2, epsilon=0.5}
output %y
)"},
          {"over the root, without a weight",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
%two = const {data=f32[]{2}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=mean, axes=[2]}
%e = const {data=f32[]{0.5}}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%y = binary(%x, %r) {kind=div}
output %y
)",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
%y.weight = const {data=f32[1]{1}}
%y = rms_norm(%x, %y.weight) {axis=2, epsilon=0.5}
output %y
)"},
          {"f16: computed in f32 between Casts",
           R"(
input %h : f16[B, S, 8]
input %w : f16[8]
%x = cast(%h) {to=f32}
%two = const {data=f32[]{2}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=mean, axes=[2]}
%e = const {data=f32[]{0.5}}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%n = binary(%x, %r) {kind=div}
%c = cast(%n) {to=f16}
%y = binary(%w, %c) {kind=mul}
output %y
)",
           R"(
input %h : f16[B, S, 8]
input %w : f16[8]
%y = rms_norm(%h, %w) {axis=2, epsilon=0.5}
output %y
)"},
      },
      lowering::recognizeNorms);
}

TEST_CASE("norm patterns: what stays") {
  checkPass(
      {
          {"the mean over another axis",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
%two = const {data=f32[]{2}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=mean, axes=[1]}
%e = const {data=f32[]{0.5}}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%y = binary(%x, %r) {kind=div}
output %y
)",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
%two = const {data=f32[]{2}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=mean, axes=[1]}
%e = const {data=f32[]{0.5}}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%y = binary(%x, %r) {kind=div}
output %y
)"},
          {"the sum, not the mean",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
%two = const {data=f32[]{2}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=sum, axes=[2]}
%e = const {data=f32[]{0.5}}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%y = binary(%x, %r) {kind=div}
output %y
)",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
%two = const {data=f32[]{2}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=sum, axes=[2]}
%e = const {data=f32[]{0.5}}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%y = binary(%x, %r) {kind=div}
output %y
)"},
          {"another power",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
%two = const {data=f32[]{3}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=mean, axes=[2]}
%e = const {data=f32[]{0.5}}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%y = binary(%x, %r) {kind=div}
output %y
)",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
%two = const {data=f32[]{3}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=mean, axes=[2]}
%e = const {data=f32[]{0.5}}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%y = binary(%x, %r) {kind=div}
output %y
)"},
          {"another operand over the root",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
input %z : f32[B, S, 8]
%two = const {data=f32[]{2}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=mean, axes=[2]}
%e = const {data=f32[]{0.5}}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%y = binary(%z, %r) {kind=div}
output %y
)",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
input %z : f32[B, S, 8]
%two = const {data=f32[]{2}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=mean, axes=[2]}
%e = const {data=f32[]{0.5}}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%y = binary(%z, %r) {kind=div}
output %y
)"},
          {"an epsilon that is data",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
input %e : f32[]
%two = const {data=f32[]{2}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=mean, axes=[2]}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%y = binary(%x, %r) {kind=div}
output %y
)",
           R"(
input %x : f32[B, S, 8]
input %w : f32[8]
input %e : f32[]
%two = const {data=f32[]{2}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=mean, axes=[2]}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%y = binary(%x, %r) {kind=div}
output %y
)"},
          {"squares in f16 may overflow",
           R"(
input %x : f16[B, S, 8]
input %w : f16[8]
%two = const {data=f16[]{2}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=mean, axes=[2]}
%e = const {data=f16[]{0.5}}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%y = binary(%x, %r) {kind=div}
output %y
)",
           R"(
input %x : f16[B, S, 8]
input %w : f16[8]
%two = const {data=f16[]{2}}
%sq = binary(%x, %two) {kind=pow}
%m = reduce(%sq) {kind=mean, axes=[2]}
%e = const {data=f16[]{0.5}}
%a = binary(%m, %e) {kind=add}
%r = unary(%a) {kind=sqrt}
%y = binary(%x, %r) {kind=div}
output %y
)"},
      },
      lowering::recognizeNorms);
}
