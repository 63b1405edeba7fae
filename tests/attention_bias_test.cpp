// makeAttentionBias: each row of the table is one rule of AttentionBiasSpec.
#include "runtime/engine.h"

#include "doctest/doctest.h"

#include <cmath>

using namespace engine;

namespace {

// One string a query: '#' visible, '.' hidden.
std::vector<std::string> picture(const Tensor &bias) {
  std::vector<std::string> rows;
  const int64_t columns = bias.shape()[3];
  for (int64_t i = 0; i < bias.count(); i += columns) {
    std::string row;
    for (int64_t j = 0; j < columns; ++j)
      row += bias.as<float>()[i + j] == 0 ? '#' : std::isinf(bias.as<float>()[i + j]) ? '.' : '?';
    rows.push_back(row);
  }
  return rows;
}

AttentionBiasSpec spec(std::vector<int64_t> positions, int64_t valid, int64_t maxRows = 6) {
  AttentionBiasSpec s;
  s.maxRows = maxRows;
  const auto count = static_cast<int64_t>(positions.size());
  s.positions = Tensor::of<int64_t>({1, count}, positions);
  s.valid = Tensor::of<int64_t>({1}, {valid});
  return s;
}

} // namespace

TEST_CASE("attention bias: which rows a query sees") {
  AttentionBiasSpec window = spec({3, 4}, 5);
  window.window = 2;
  AttentionBiasSpec block = spec({1, 2, 3}, 5);
  block.blocks = Tensor::of<int64_t>({1, 6}, {-1, 7, 7, -1, 7, 7});
  block.window = 3;
  AttentionBiasSpec narrow = spec({2}, 5);
  narrow.window = 1;
  narrow.blocks = block.blocks;
  AttentionBiasSpec wide = narrow;
  wide.blocksIgnoreWindow = true;
  AttentionBiasSpec padded = spec({2}, 3);
  padded.padding = Tensor::zeros(DType::kBool, {1, 6});
  padded.padding.as<uint8_t>()[1] = 1;
  AttentionBiasSpec twoWay = spec({0}, 4);
  twoWay.causal = false;

  // The second entry of test_cases/gemma4_external_bias, where transformers gave the mask.
  AttentionBiasSpec gemma = spec({7, 8, 9, 10}, 11, 12);
  gemma.window = 4;
  gemma.blocks = Tensor::of<int64_t>({1, 12}, {-1, -1, 0, 0, 0, -1, -1, 1, 1, 1, -1, -1});
  gemma.padding = Tensor::zeros(DType::kBool, {1, 12});
  gemma.padding.as<uint8_t>()[9] = gemma.padding.as<uint8_t>()[10] = 1;

  struct Row {
    const char *why;
    AttentionBiasSpec spec;
    std::vector<std::string> expected;
  };
  const Row rows[] = {
      {"a prefill chunk is causal", spec({0, 1, 2}, 3), {"#.....", "##....", "###..."}},
      {"a decode step sees what is filled", spec({4}, 5), {"#####."}},
      {"rows beyond valid are hidden, even below the position", spec({4}, 2), {"##...."}},
      {"a window counts the query itself", window, {"..##..", "...##."}},
      {"rows of one block see each other both ways, valid rows only", block,
       {"###.#.", "###.#.", ".###.."}},
      {"a window holds inside a block", narrow, {"..#.#."}},
      {"unless blocks ignore it", wide, {".##.#."}},
      {"all of it, as Gemma-4 masks", gemma,
       {"....#####...", ".....####...", "......###...", ".......##..."}},
      {"padding hides", padded, {"#.#..."}},
      {"without causal all valid rows are seen", twoWay, {"####.."}},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    const Result<Tensor> bias = makeAttentionBias(row.spec);
    REQUIRE(bias.ok());
    CHECK(picture(*bias) == row.expected);
  }
}

TEST_CASE("attention bias: the hidden value is minus infinity in the model's type") {
  struct Row {
    DType dtype;
    uint16_t hidden;
  };
  for (const Row &row : {Row{DType::kF16, 0xfc00}, Row{DType::kBF16, 0xff80}}) {
    AttentionBiasSpec s = spec({0}, 1, 2);
    s.dtype = row.dtype;
    const Result<Tensor> bias = makeAttentionBias(s);
    REQUIRE(bias.ok());
    CHECK(bias->as<uint16_t>()[0] == 0);
    CHECK(bias->as<uint16_t>()[1] == row.hidden);
  }
}

TEST_CASE("attention bias: what does not fit is refused by name") {
  AttentionBiasSpec far = spec({6}, 3);
  AttentionBiasSpec long_ = spec({0}, 7);
  AttentionBiasSpec blocks = spec({0}, 1);
  blocks.blocks = Tensor::of<int64_t>({1, 2}, {0, 0});
  struct Row {
    AttentionBiasSpec spec;
    const char *message;
  };
  const Row rows[] = {
      {far, "positions: value 6 at index 0 is out of range [0, 6)"},
      {long_, "valid: value 7 of entry 0 is out of range [0, 6]"},
      {blocks, "blocks: must be i64 [1, 6]"},
  };
  for (const Row &row : rows) {
    const Result<Tensor> bias = makeAttentionBias(row.spec);
    REQUIRE(!bias.ok());
    CHECK(bias.error().message == row.message);
  }
}
