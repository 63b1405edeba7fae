// Matrix products of the CPU backend against the reference kernels.
#include "tests/kernel_compare.h"

using namespace engine;
using namespace engine::test;

namespace {

TEST_CASE("cpu matmul: few rows") {
  for (const char *type : {"f32", "f16", "bf16"}) {
    const auto of = [&](const char *dims) { return std::string(type) + dims; };
    const std::string row = of("[1, 100]"), three = of("[3, 100]"), four = of("[2, 2, 37]");
    const std::string vector = of("[100]"), wide = of("[100, 4200]"), narrow = of("[100, 3]"),
                      uneven = of("[37, 77]"), one = of("[1, 1]"), flat = of("[1, 90]");
    checkKernels({
        {"one row", "few_rows", "matmul(%a, %b)", {row.c_str(), wide.c_str()}, 2e-5},
        {"three rows", "few_rows", "matmul(%a, %b)", {three.c_str(), wide.c_str()}, 2e-5},
        {"few columns", "few_rows", "matmul(%a, %b)", {three.c_str(), narrow.c_str()}, 2e-5},
        {"batch axes are rows",
         "few_rows",
         "matmul(%a, %b)",
         {four.c_str(), uneven.c_str()},
         2e-5,
         "%y",
         true},
        {"a vector", "few_rows", "matmul(%a, %b)", {vector.c_str(), wide.c_str()}, 2e-5},
        {"depth 1", "few_rows", "matmul(%a, %b)", {one.c_str(), flat.c_str()}, 2e-5, "%y", true},
    });
  }
  checkKernels({
      {"no depth", "few_rows", "matmul(%a, %b)", {"f32[2, 0]", "f32[0, 5]"}, 0, "%y", true},
      {"large", "few_rows", "matmul(%a, %b)", {"f32[4, 3000]", "f32[3000, 300]"}, 2e-4},
  });
}

TEST_CASE("cpu matmul: tiles") {
  for (const char *type : {"f32", "f16", "bf16"}) {
    const auto of = [&](const char *dims) { return std::string(type) + dims; };
    const std::string rows = of("[2, 9, 100]"), wide = of("[100, 530]");
    checkKernels({
        {"many rows", "onednn", "matmul(%a, %b)", {rows.c_str(), wide.c_str()}, 1e-4, "%y", true},
    });
  }
  checkKernels({
      {"a batch of matrices",
       "onednn",
       "matmul(%a, %b)",
       {"f32[3, 2, 9, 10]", "f32[2, 10, 7]"},
       1e-5,
       "%y",
       true},
  });
}

} // namespace
