// Quantised weights on the CPU backend: exact kernels against the reference, 8-bit activations
// against what they round.
#include "tests/kernel_compare.h"

using namespace engine;
using namespace engine::test;

namespace {

struct Weights {
  const char *why;
  int64_t bits, block, rows, depth, columns;
  const char *type = "f32";
  const char *zeros = ""; // "u8" packed, "x" of the scales' type
  bool bias = false;
};

constexpr Weights kWeights[] = {
    {"one row", 4, 32, 1, 256, 70},
    {"depth no multiple of the block", 4, 32, 2, 100, 9},
    {"narrow blocks", 4, 16, 3, 80, 33},
    {"blocks of 64", 4, 64, 1, 200, 12},
    {"blocks of 128", 4, 128, 5, 400, 12},
    {"blocks of 256", 4, 256, 4, 700, 8},
    {"packed zero points, an odd number of blocks", 4, 32, 4, 96, 10, "f32", "u8"},
    {"zero points of the scales' type", 4, 32, 4, 96, 10, "f32", "x"},
    {"bias", 4, 32, 2, 96, 10, "f32", "u8", true},
    {"f16", 4, 32, 3, 96, 10, "f16", "u8", true},
    {"bf16", 4, 32, 13, 96, 300, "bf16", "x", true},
    {"8 bits", 8, 32, 3, 100, 9},
    {"8 bits, narrow blocks and zero points", 8, 16, 5, 100, 9, "f32", "u8"},
    {"8 bits, wide blocks", 8, 256, 2, 600, 6, "f16", "x"},
    {"2 bits", 2, 32, 3, 100, 9},
    {"2 bits, blocks of 4 bytes", 2, 16, 2, 90, 9, "f32", "u8"},
    {"2 bits, blocks of 256", 2, 256, 2, 300, 9},
    {"many rows", 4, 32, 70, 160, 131, "f32", "u8", true},
    {"many rows of f16", 4, 32, 20, 96, 140, "f16", "", true},
    {"more rows than a block of them", 8, 32, 600, 64, 20},
};

// Sums in f32 of many products of up to 4 * 4 * 2^bits, of which little may be left.
constexpr double kTolerance = 1e-3;

// The node's text and operands.
struct QuantCase {
  std::string op;
  std::vector<std::string> operands;

  explicit QuantCase(const Weights &w, const std::string &mark = "") {
    const std::string type = w.type;
    const int64_t blocks = (w.depth + w.block - 1) / w.block;
    const auto shape = [](const std::string &type, std::initializer_list<int64_t> dims) {
      std::string text = type + "[";
      for (int64_t dim : dims)
        text += (text.back() == '[' ? "" : ", ") + std::to_string(dim);
      return text + "]";
    };
    op = "quant_matmul(x=%a, w=%b, scales=%c";
    operands = {mark + shape(type, {w.rows, w.depth}),
                shape("u8", {w.columns, blocks, w.block * w.bits / 8}),
                shape(type, {w.columns * blocks})};
    const auto next = [&] { return std::string("%") + static_cast<char>('a' + operands.size()); };
    if (std::string(w.zeros) == "u8") {
      op += ", zeroPoints=" + next();
      operands.push_back(shape("u8", {w.columns, (blocks * w.bits + 7) / 8}));
    } else if (std::string(w.zeros) == "x") {
      op += ", zeroPoints=" + next();
      operands.push_back(shape(type, {w.columns, blocks}));
    }
    if (w.bias) {
      op += ", bias=" + next();
      operands.push_back(shape(type, {w.columns}));
    }
    op += ") {k=" + std::to_string(w.depth) + ", n=" + std::to_string(w.columns) +
          ", bits=" + std::to_string(w.bits) + ", block=" + std::to_string(w.block) +
          ", accuracy_level=4}";
  }

  KernelCase of(const Weights &w, const char *row, double tolerance) const {
    KernelCase c = {w.why, row, op.c_str(), {}, tolerance};
    for (const std::string &operand : operands)
      c.operands.push_back(operand.c_str());
    return c;
  }
};

TEST_CASE("cpu quant: exact") {
  for (const Weights &w : kWeights) {
    const QuantCase text(w);
    checkKernels({text.of(w, "exact", kTolerance)});
  }
}

// Activations that 8 bits hold exactly.
TEST_CASE("cpu quant: 8-bit activations") {
  for (const Weights &w : kWeights) {
    const QuantCase text(w, "~");
    KernelCase c = text.of(w, "int8", kTolerance);
    c.exact = false;
    c.least = Isa::kAvx512Bf16;
    checkKernels({c});
  }
}

TEST_CASE("cpu quant: rows of a table") {
  for (const char *type : {"f32", "f16"}) {
    const std::string scales = std::string(type) + "[9, 4]";
    checkKernels({
        {"4 bits",
         "rows",
         "quant_gather(data=%a, indices=%b, scales=%c)",
         {"u8[9, 64]", "i64[2, 2]{0, 8, -1, 3}", scales.c_str()}},
        {"8 bits with zero points",
         "rows",
         "quant_gather(data=%a, indices=%b, scales=%c, zeroPoints=%d) {bits=8}",
         {"u8[9, 128]", "i64[1]{5}", scales.c_str(), "u8[9, 4]"}},
    });
  }
}

} // namespace
