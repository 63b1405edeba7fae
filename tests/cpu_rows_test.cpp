// Elementwise, norm, reduction and rotary kernels of the CPU backend against the reference kernels.
#include "tests/kernel_compare.h"

using namespace engine;
using namespace engine::test;

namespace {

const char *const kEdges =
    "f32[19]{0, -0, 1, -1, 0.5, -0.5, 1e-6, -1e-6, 3.9, -3.9, 12, -12, 90, -90, 1e4, "
    "inf, -inf, nan, -1e30}";

TEST_CASE("cpu rows: functions of one operand") {
  for (const char *kind : {"abs",       "ceil", "cos", "erf",        "exp",  "floor", "gelu",
                           "gelu_tanh", "log",  "neg", "reciprocal", "relu", "round", "sigmoid",
                           "sign",      "silu", "sin", "softplus",   "sqrt", "tanh"}) {
    const std::string op = std::string("unary(%a) {kind=") + kind + "}";
    checkKernels({
        {"f32 and uneven rows", "rows", op.c_str(), {"f32[3, 5, 37]"}},
        {"f16", "rows", op.c_str(), {"f16[2, 77]"}},
        {"bf16", "rows", op.c_str(), {"bf16[2, 77]"}},
        {"limits, and what is not a number", "rows", op.c_str(), {kEdges}},
        {"no elements", "rows", op.c_str(), {"f32[2, 0]"}},
        {"a scalar", "rows", op.c_str(), {"f32[]"}},
        {"more than one thread", "rows", op.c_str(), {"f32[9, 2111]"}},
    });
  }
}

TEST_CASE("cpu rows: functions of two operands") {
  for (const char *kind : {"add", "sub", "mul", "div", "min", "max", "equal", "less",
                           "less_or_equal", "greater", "greater_or_equal"}) {
    const std::string op = std::string("binary(%a, %b) {kind=") + kind + "}";
    checkKernels({
        {"same shape", "rows", op.c_str(), {"f32[3, 5, 37]", "f32[3, 5, 37]"}},
        {"a row for all", "rows", op.c_str(), {"f32[3, 5, 37]", "f32[37]"}},
        {"an element for each row", "rows", op.c_str(), {"f32[3, 5, 37]", "f32[3, 5, 1]"}},
        {"a scalar first", "rows", op.c_str(), {"f32[]", "f32[3, 5, 37]"}},
        {"both are broadcast", "rows", op.c_str(), {"f32[3, 1, 37]", "f32[5, 1]"}},
        {"f16", "rows", op.c_str(), {"f16[4, 70]", "f16[4, 70]"}},
        {"bf16 and a scalar", "rows", op.c_str(), {"bf16[4, 70]", "bf16[1]"}},
        {"limits", "rows", op.c_str(), {kEdges, kEdges}},
        {"limits against zero", "rows", op.c_str(), {kEdges, "f32[1]{0}"}},
        {"more than one thread", "rows", op.c_str(), {"f32[70, 1021]", "f32[1021]"}},
    });
  }
  checkKernels({
      {"squares", "rows", "binary(%a, %b) {kind=pow}", {"f32[3, 70]", "f32[]{2}"}},
      {"other powers", "rows", "binary(%a, %b) {kind=pow}", {"f32[3, 70]", "f32[]{3}"}, 1e-5},
      {"powers of a scalar",
       "rows",
       "binary(%a, %b) {kind=pow}",
       {"f32[1]{2}", "f32[3, 70]"},
       1e-5},
  });
}

TEST_CASE("cpu rows: integers and bool") {
  for (const char *kind : {"add", "sub", "mul", "min", "max", "equal", "less", "less_or_equal",
                           "greater", "greater_or_equal"}) {
    const std::string op = std::string("binary(%a, %b) {kind=") + kind + "}";
    checkKernels({
        {"i64", "elements", op.c_str(), {"i64[3, 5, 7]", "i64[3, 5, 7]"}},
        {"i64 column against row", "elements", op.c_str(), {"i64[5, 1]", "i64[9]"}},
        {"i32 and a scalar", "elements", op.c_str(), {"i32[5, 9]", "i32[]"}},
        {"wrapping",
         "elements",
         op.c_str(),
         {"i64[3]{9223372036854775807, -9223372036854775808, -1}", "i64[3]{2, -1, -1}"}},
    });
  }
  checkKernels({
      {"and", "elements", "binary(%a, %b) {kind=and}", {"bool[4, 9]", "bool[9]"}},
      {"or", "elements", "binary(%a, %b) {kind=or}", {"bool[4, 9]", "bool[4, 1]"}},
      {"where f32", "elements", "where(%a, %b, %c)", {"bool[4, 9]", "f32[4, 9]", "f32[]"}},
      {"where f16, condition for columns",
       "elements",
       "where(%a, %b, %c)",
       {"bool[9]", "f16[1]", "f16[4, 9]"}},
      {"where i64", "elements", "where(%a, %b, %c)", {"bool[4, 1]", "i64[9]", "i64[4, 9]"}},
      {"where bool", "elements", "where(%a, %b, %c)", {"bool[4, 1]", "bool[9]", "bool[4, 9]"}},
      {"bool to f32", "elements", "cast(%a) {to=f32}", {"bool[4, 9]"}},
      {"i64 to f32", "elements", "cast(%a) {to=f32}", {"i64[4, 9]"}},
      {"i64 to f32 rounds once",
       "elements",
       "cast(%a) {to=f32}",
       {"i64[2]{16777217, 9007199254740993}"}},
      {"i64 to i32 keeps the low bits",
       "elements",
       "cast(%a) {to=i32}",
       {"i64[3]{4294967297, -1, 2147483648}"}},
      {"i32 to i64", "elements", "cast(%a) {to=i64}", {"i32[4, 9]"}},
      {"f32 to f16", "rows", "cast(%a) {to=f16}", {"f32[4, 77]"}},
      {"f32 to bf16, limits", "rows", "cast(%a) {to=bf16}", {kEdges}},
      {"f32 to f16, limits", "rows", "cast(%a) {to=f16}", {kEdges}},
      {"f16 to f32", "rows", "cast(%a) {to=f32}", {"f16[4, 77]"}},
      {"bf16 to f16", "rows", "cast(%a) {to=f16}", {"bf16[4, 77]"}},
  });
}

TEST_CASE("cpu rows: norms and softmax") {
  checkKernels({
      {"rms", "rows", "rms_norm(%a, %b) {axis=2}", {"f32[2, 3, 100]", "f32[100]"}},
      {"rms of heads", "rows", "rms_norm(%a, %b)", {"f32[2, 5, 3, 64]", "f32[64]"}},
      {"rms of two axes",
       "rows",
       "rms_norm(%a, %b) {axis=1}",
       {"f32[2, 5, 7]", "f32[5, 7]"},
       2e-6,
       "%y",
       true},
      {"rms, f16", "rows", "rms_norm(%a, %b)", {"f16[7, 100]", "f16[100]"}},
      {"rms, bf16 with a scale of f32", "rows", "rms_norm(%a, %b)", {"bf16[7, 100]", "f32[100]"}},
      {"rms on threads", "rows", "rms_norm(%a, %b)", {"f32[70, 1000]", "f32[1000]"}},
      {"layer",
       "rows",
       "layer_norm(x=%a, scale=%b, bias=%c)",
       {"f32[5, 77]", "f32[77]", "f32[77]"},
       4e-6,
       "%y, %mean, %inv"},
      {"layer without bias",
       "rows",
       "layer_norm(x=%a, scale=%b)",
       {"f16[5, 77]", "f16[77]"},
       2e-6,
       "%y, _, _"},
      {"softmax", "rows", "softmax(%a)", {"f32[3, 2, 77]"}},
      {"log softmax", "rows", "softmax(%a) {log=true}", {"f32[3, 2, 77]"}},
      {"softmax, bf16", "rows", "softmax(%a)", {"bf16[3, 200]"}},
      {"softmax of what is not finite",
       "rows",
       "softmax(%a)",
       {"f32[3, 3]{1, inf, 2, -inf, -inf, -inf, -inf, 0, 1}"}},
      {"softmax on threads", "rows", "softmax(%a)", {"f32[50, 1000]"}},
  });
}

TEST_CASE("cpu rows: reductions of the last axes") {
  for (const char *kind : {"sum", "mean", "max", "min", "sum_square", "l2"}) {
    const std::string last = std::string("reduce(%a) {kind=") + kind + ", axes=[2]}";
    const std::string two =
        std::string("reduce(%a) {kind=") + kind + ", axes=[1, 2], keep_dims=false}";
    checkKernels({
        {"last axis", "rows", last.c_str(), {"f32[2, 3, 131]"}, 1e-5},
        {"two axes", "rows", two.c_str(), {"f32[4, 3, 50]"}, 1e-5, "%y", true},
        {"f16", "rows", last.c_str(), {"f16[2, 3, 33]"}, 1e-5},
        {"limits", "rows", last.c_str(), {"f32[1, 2, 2]{nan, 1, inf, 2}"}},
    });
  }
  checkKernels({
      {"first of the largest", "rows", "arg_reduce(%a) {axis=1}", {"f32[7, 1000]"}},
      {"last of the largest", "rows", "arg_reduce(%a) {axis=1, last_index=true}", {"f16[7, 1000]"}},
      {"first of the smallest",
       "rows",
       "arg_reduce(%a) {axis=1, largest=false, keep_dims=false}",
       {"bf16[7, 1000]"}},
      {"what is not a number",
       "rows",
       "arg_reduce(%a) {axis=1}",
       {"f32[3, 3]{nan, 1, 2, 1, nan, 2, 3, 2, nan}"}},
  });
}

TEST_CASE("cpu rows: rotary embedding") {
  for (const char *order : {"false", "true"}) {
    const auto op = [&](const char *operands, const char *fields = "") {
      return std::string("apply_rope(x=%a, cos=%b, sin=%c") + operands + ") {interleaved=" + order +
             fields + "}";
    };
    const std::string counted = op("", ", offset=3");
    const std::string positions = op(", positions=%d");
    const std::string ragged = op(", start=%d, len=%e");
    checkKernels({
        {"positions that count",
         "rows",
         counted.c_str(),
         {"f32[2, 3, 5, 16]", "f32[9, 8]", "f32[9, 8]"},
         2e-6,
         "%y",
         true},
        {"a part of the channels",
         "rows",
         counted.c_str(),
         {"f32[2, 3, 5, 40]", "f32[9, 10]", "f32[9, 10]"},
         2e-6,
         "%y",
         true},
        {"f16",
         "rows",
         counted.c_str(),
         {"f16[2, 3, 5, 40]", "f16[9, 18]", "f16[9, 18]"},
         2e-6,
         "%y",
         true},
        {"bf16 with angles of f32",
         "rows",
         counted.c_str(),
         {"bf16[1, 3, 5, 40]", "f32[9, 20]", "f32[9, 20]"},
         2e-6,
         "%y",
         true},
        {"given positions",
         "rows",
         positions.c_str(),
         {"f32[2, 3, 2, 16]", "f32[9, 8]", "f32[9, 8]", "i64[2, 2]{0, 8, 3, 1}"},
         2e-6,
         "%y",
         true},
        {"angles of each entry",
         "rows",
         op("").c_str(),
         {"f32[2, 3, 5, 16]", "f32[2, 5, 8]", "f32[2, 5, 8]"},
         2e-6,
         "%y",
         true},
        {"ragged",
         "rows",
         ragged.c_str(),
         {"f32[2, 3, 5, 16]", "f32[9, 8]", "f32[9, 8]", "i64[2]{4, 7}", "i64[2]{5, 2}"},
         2e-6,
         "%y",
         true},
        {"on threads",
         "rows",
         op("").c_str(),
         {"f32[1, 8, 60, 128]", "f32[60, 64]", "f32[60, 64]"},
         2e-6,
         "%y",
         true},
    });
  }
}

} // namespace
