// Every function of kernels/cuda/prim.h against golden vectors and against its definition.
//
// usage: primitives_test GOLDEN          compare with the file
//        primitives_test --write GOLDEN  write the file; on a GPU that makes it the hardware's
#include "tests/cuda/primitives.h"

#include "ir/half.h"
#include "kernels/cuda/sim/executor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace engine;
using namespace engine::test;

extern "C" const sim::Kernel primitive;

namespace {

using Words = std::vector<uint32_t>;

constexpr int kRounds = 2;
constexpr int kLanes = 32;

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

struct Case {
  Primitive which;
  const char *name;
  double tolerance; // relative to 1 + |value|; 0 compares bits
  std::function<uint32_t(std::mt19937 &, int word)> input;
  std::function<Words(const Words &in)> definition; // or empty
};

uint32_t anyWord(std::mt19937 &random, int) { return static_cast<uint32_t>(random()); }

uint32_t normalPair(std::mt19937 &random, bool bf16) {
  std::normal_distribution<float> normal;
  const float low = normal(random);
  const float high = normal(random);
  const auto convert = [&](float x) { return bf16 ? floatToBFloat16(x) : floatToHalf(x); };
  return convert(low) | static_cast<uint32_t>(convert(high)) << 16;
}

std::function<uint32_t(std::mt19937 &, int)> mmaInput(bool bf16) {
  return [bf16](std::mt19937 &random, int word) {
    std::normal_distribution<float> normal;
    return word < 8 ? normalPair(random, bf16) : bitsOf(normal(random));
  };
}

// Around the values where rounding, overflow and underflow happen.
uint32_t roundingInput(std::mt19937 &random, int) {
  const int exponent = static_cast<int>(random() % 60) - 40;
  const float mantissa = 1 + static_cast<float>(random() % 8192) / 8192;
  return bitsOf(std::ldexp(random() % 2 ? mantissa : -mantissa, exponent));
}

uint32_t exponentInput(std::mt19937 &random, int word) {
  const float special[] = {
      0.0f, -std::numeric_limits<float>::infinity(), -126.0f, -127.5f, -149.0f, 100.0f};
  if (word < 6)
    return bitsOf(special[word]);
  return bitsOf(-static_cast<float>(random() % 100000) / 1000);
}

uint32_t tanhInput(std::mt19937 &random, int) {
  return bitsOf(static_cast<float>(random() % 20000) / 1000 - 10);
}

// PTX ISA, "Matrix Fragments for mma.m16n8k16": rows and columns by group = lane / 4 and t = lane
// % 4.
Words mmaDefinition(const Words &in, bool bf16) {
  const auto half = [&](int lane, int i) {
    const uint16_t bits = static_cast<uint16_t>(in[lane * kInWords + i / 2] >> (16 * (i % 2)));
    return static_cast<double>(bf16 ? bfloat16ToFloat(bits) : halfToFloat(bits));
  };
  const auto a = [&](int row, int column) {
    const int lane = row % 8 * 4 + column % 8 / 2;
    const int i = (column % 2) + (row >= 8 ? 2 : 0) + (column >= 8 ? 4 : 0);
    return half(lane, i);
  };
  const auto b = [&](int row, int column) {
    const int lane = column * 4 + row % 8 / 2;
    return half(lane, 8 + row % 2 + (row >= 8 ? 2 : 0));
  };
  Words out(kLanes * kOutWords);
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + (i >= 2 ? 8 : 0);
      const int column = lane % 4 * 2 + i % 2;
      double sum = floatOf(in[lane * kInWords + 8 + i]);
      for (int k = 0; k < 16; ++k)
        sum += a(row, k) * b(k, column);
      out[lane * kOutWords + i] = bitsOf(static_cast<float>(sum));
    }
  }
  return out;
}

// Matrix m has the rows whose addresses lanes 8 m .. 8 m + 7 gave; lane l holds elements 2 (l % 4)
// and the next of row l / 4.
Words ldmatrixDefinition(const Words &in, int matrices, bool transposed, int skippedWords) {
  const auto element = [&](int matrix, int row, int column) {
    const int lane = 8 * matrix + row;
    return in[lane * kInWords + skippedWords + column / 2] >> (16 * (column % 2)) & 0xffff;
  };
  Words out(kLanes * kOutWords);
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int m = 0; m < matrices; ++m) {
      const int row = lane / 4;
      const int column = lane % 4 * 2;
      const uint32_t low = transposed ? element(m, column, row) : element(m, row, column);
      const uint32_t high = transposed ? element(m, column + 1, row) : element(m, row, column + 1);
      out[lane * kOutWords + m] = low | high << 16;
    }
  }
  return out;
}

Words shuffleDefinition(const Words &in) {
  Words out(kLanes * kOutWords);
  const auto at = [&](int lane, int word) { return in[lane * kInWords + word]; };
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t *o = &out[lane * kOutWords];
    o[0] = at(lane ^ 5, 0);
    o[1] = at(at(lane, 2) & 31, 1);
    o[2] = at(lane + 3 < kLanes ? lane + 3 : lane, 0);
    o[3] = at(lane >= 9 ? lane - 9 : lane, 0);
    for (int i = 0; i < kLanes; ++i)
      o[4] |= (at(i, 0) & 1) << i;
    o[5] = at(lane ^ 16, 3);
    o[6] = at(31 - lane, 4);
  }
  return out;
}

Words copyDefinition(const Words &in) {
  Words out(kLanes * kOutWords);
  for (int lane = 0; lane < kLanes; ++lane) {
    const int from = 31 - lane;
    for (int i = 0; i < 4; ++i)
      out[lane * kOutWords + i] = from & 1 ? in[from * kInWords + i] : 0;
  }
  return out;
}

Words atomicDefinition(const Words &in) {
  Words out(kLanes * kOutWords);
  for (int lane = 0; lane < kLanes; ++lane)
    out[in[lane * kInWords] % 4 * kOutWords] += in[lane * kInWords + 1];
  return out;
}

Words exponentDefinition(const Words &in) {
  Words out(kLanes * kOutWords);
  for (int i = 0; i < kLanes * kOutWords; ++i) {
    const double y =
        std::exp2(static_cast<double>(floatOf(in[i / kOutWords * kInWords + i % kOutWords])));
    out[i] = bitsOf(y < std::numeric_limits<float>::min() ? 0.0f : static_cast<float>(y));
  }
  return out;
}

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
      {Primitive::kMmaF16, "mma f16", 1e-5, mmaInput(false),
       [](const Words &in) { return mmaDefinition(in, false); }},
      {Primitive::kMmaBf16, "mma bf16", 1e-5, mmaInput(true),
       [](const Words &in) { return mmaDefinition(in, true); }},
      {Primitive::kLdmatrix4, "ldmatrix4", 0, anyWord,
       [](const Words &in) { return ldmatrixDefinition(in, 4, false, 0); }},
      {Primitive::kLdmatrix4Transposed, "ldmatrix4Transposed", 0, anyWord,
       [](const Words &in) { return ldmatrixDefinition(in, 4, true, 0); }},
      {Primitive::kLdmatrix2Transposed, "ldmatrix2Transposed", 0, anyWord,
       [](const Words &in) { return ldmatrixDefinition(in, 2, true, 4); }},
      {Primitive::kShuffle, "shuffles and ballot", 0, anyWord, shuffleDefinition},
      {Primitive::kShufflePartial, "shuffles of a part of the warp", 0, anyWord, {}},
      {Primitive::kPackF16, "pack2 f16", 0, roundingInput, {}},
      {Primitive::kPackBf16, "pack2 bf16", 0, roundingInput, {}},
      {Primitive::kToFloat,
       "toFloat",
       0,
       [](std::mt19937 &random, int) { return static_cast<uint32_t>(random()) & 0x7bff7bffu; },
       {}},
      {Primitive::kExp2, "exp2Fast", 1e-6, exponentInput, exponentDefinition},
      {Primitive::kTanh, "tanhAccurate", 1e-6, tanhInput, {}},
      {Primitive::kCopyAsync, "copyAsync16", 0, anyWord, copyDefinition},
      {Primitive::kAtomic, "addAtomic", 0, anyWord, atomicDefinition},
  };
  return all;
}

Words run(Primitive which, const Words &in) {
  Words out(kLanes * kOutWords, 0xdeadbeefu);
  sim::MemoryMap memory;
  memory.add(in.data(), in.size() * sizeof in[0], "in");
  memory.add(out.data(), out.size() * sizeof out[0], "out");
  sim::Options options;
  options.memory = &memory;
  sim::launch(primitive, {{1, 1, 1}, {kLanes, 1, 1}, kPrimitiveShared}, options,
              PrimitiveArgs{in.data(), out.data(), which});
  return out;
}

double difference(uint32_t a, uint32_t b, double tolerance) {
  if (a == b)
    return 0;
  if (tolerance == 0)
    return 1;
  const double x = floatOf(a);
  const double y = floatOf(b);
  const double error = std::fabs(x - y) / (1 + std::fabs(y));
  return std::isnan(error) ? 1 : error;
}

bool agree(const Case &c, const Words &got, const Words &expected, const char *what) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (difference(got[i], expected[i], c.tolerance) <= c.tolerance)
      continue;
    std::printf("%s: lane %zu, word %zu is 0x%08x, %s says 0x%08x\n", c.name, i / kOutWords,
                i % kOutWords, got[i], what, expected[i]);
    return false;
  }
  return true;
}

// One line for each case and round: the name with _ for blanks, then the words.
std::string lineOf(const Case &c, const Words &words) {
  std::string line = c.name;
  std::replace(line.begin(), line.end(), ' ', '_');
  char text[16];
  for (const uint32_t word : words) {
    std::snprintf(text, sizeof text, " %x", word);
    line += text;
  }
  return line + "\n";
}

Words readLine(std::istream &file, const Case &c) {
  std::string name = c.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  std::string found;
  file >> found;
  Words words;
  for (int i = 0; i < kLanes * kOutWords && found == name; ++i) {
    uint32_t word = 0;
    file >> std::hex >> word;
    words.push_back(word);
  }
  return words;
}

} // namespace

int main(int argc, char **argv) {
  const bool write = argc == 3 && std::string(argv[1]) == "--write";
  if (!write && argc != 2) {
    std::cerr << "usage: primitives_test [--write] GOLDEN\n";
    return 2;
  }
  std::ofstream target;
  std::ifstream golden;
  if (write)
    target.open(argv[2]);
  else
    golden.open(argv[1]);
  std::mt19937 random(42);
  int passed = 0;
  int failed = 0;
  for (const Case &c : cases()) {
    for (int round = 0; round < kRounds; ++round) {
      Words in(kLanes * kInWords);
      for (size_t i = 0; i < in.size(); ++i)
        in[i] = c.input(random, static_cast<int>(i % kInWords));
      const Words out = run(c.which, in);
      if (write) {
        target << lineOf(c, out);
        continue;
      }
      const Words expected = readLine(golden, c);
      bool good = expected.size() == out.size() && agree(c, out, expected, "the golden file");
      if (c.definition)
        good = agree(c, out, c.definition(in), "the definition") && good;
      (good ? passed : failed) += 1;
    }
  }
  if (!write)
    std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
