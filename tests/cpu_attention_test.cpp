#include "kernels/cpu/attention.h"

#include "kernels/cpu/attention_merge.h"
#include "kernels/cpu/parallel.h"
#include "tests/sdpa_naive.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>

using namespace engine;
using namespace engine::cpu;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLowestFloat = std::numeric_limits<float>::lowest();

std::vector<Isa> isasHere() {
  std::vector<Isa> isas;
  for (Isa isa : kAllIsas) {
    if (isa <= bestIsa())
      isas.push_back(isa);
  }
  return isas;
}

struct Sizes {
  int64_t batch = 1;
  int64_t kvHeads = 1;
  int64_t group = 1;
  int64_t queries = 1;
  int64_t keys = 1;
  int64_t added = 0; // rows of the second segment
  int64_t headSize = 16;
  int64_t vHeadSize = 16;
};

// An SdpaProblem with its memory. Rows of q, k, v and out are padded with NaN where `padding` > 0,
// and head and row axes are swapped in memory where `rowsFirst`.
class Case {
public:
  SdpaProblem p;
  Sizes sizes;

  Case(const Sizes &s, DType type, DType cache, unsigned seed, int64_t padding = 0,
       bool rowsFirst = false)
      : sizes(s), random_(seed), padding_(padding), rowsFirst_(rowsFirst) {
    const int64_t heads = s.kvHeads * s.group;
    const int64_t keyWidth = cache == DType::kU8 ? s.headSize / 2 : s.headSize;
    const int64_t valueWidth = cache == DType::kU8 ? s.vHeadSize / 2 : s.vHeadSize;
    p.q = rows(type, s.batch, heads, s.queries, s.headSize);
    p.k = rows(cache, s.batch, s.kvHeads, s.keys, keyWidth);
    p.v = rows(cache, s.batch, s.kvHeads, s.keys, valueWidth);
    if (s.added > 0) {
      p.kNew = rows(cache, s.batch, s.kvHeads, s.added, keyWidth);
      p.vNew = rows(cache, s.batch, s.kvHeads, s.added, valueWidth);
    }
    p.out = rows(type, s.batch, heads, s.queries, s.vHeadSize);
    p.scale = 1 / std::sqrt(static_cast<float>(s.headSize));
    if (!isFloat(cache))
      addScales(false);
  }

  int64_t heads() const { return sizes.kvHeads * sizes.group; }
  int64_t totalKeys() const { return sizes.keys + sizes.added; }

  void addScales(bool perChannel) {
    p.kScale = scales(perChannel ? sizes.kvHeads * sizes.headSize : 1);
    p.vScale = scales(perChannel ? sizes.kvHeads * sizes.vHeadSize : 1);
  }
  // Axes of one element of a bias or mask are broadcast.
  void addBias(DType type, int64_t b, int64_t h, int64_t i, int64_t columns) {
    p.bias = broadcast(type, b, h, i, columns);
  }
  void addMask(int64_t b, int64_t h, int64_t i, int64_t columns) {
    p.mask = broadcast(DType::kBool, b, h, i, columns);
    for (int64_t n = 0; n < b * h * i * columns; ++n)
      p.mask.as<uint8_t>()[n] = random_() % 3 != 0;
  }
  void addSink(DType type) {
    p.sink.dtype = type;
    p.sink.rank = 1;
    p.sink.dims[0] = heads();
    p.sink.setDenseStrides();
    p.sink.data = fill(type, heads());
  }
  const int64_t *lengths(std::vector<int64_t> values) {
    lengths_.push_back(std::make_unique<std::vector<int64_t>>(std::move(values)));
    return lengths_.back()->data();
  }

  static void set(const View &view, int64_t b, int64_t h, int64_t i, int64_t c, float value) {
    write(view.dtype, view.data, test::offsetOf(view, b, h, i, c), value);
  }
  static void setRow(const View &view, int64_t b, int64_t h, int64_t i, float value) {
    for (int64_t c = 0; c < view.dims[3]; ++c)
      set(view, b, h, i, c, value);
  }
  double result(int64_t b, int64_t h, int64_t i, int64_t c) const {
    return test::readElement(p.out, test::offsetOf(p.out, b, h, i, c));
  }

  void run(Isa isa, int threads) {
    REQUIRE(attentionWhyNot(p) == nullptr);
    for (int64_t n = 0; n < outCount_; ++n)
      write(p.out.dtype, p.out.data, n, kNan);
    const int64_t bytes = attentionScratchBytes(p, threads);
    scratch_.reset(static_cast<char *>(std::aligned_alloc(64, bytes + 64)));
    std::memset(scratch_.get(), 0xff, bytes + 64); // NaN everywhere
    attention(p, threads, scratch_.get(), isa);
    const char *behind = scratch_.get() + bytes;
    REQUIRE(std::all_of(behind, behind + 64, [](char byte) { return byte == '\xff'; }));
  }

  static double toleranceOf(DType type) {
    return type == DType::kF32 ? 2e-5 : type == DType::kF16 ? 2e-3 : 1.6e-2;
  }

  // The number of elements that differ from `expected`.
  int64_t countWrong(const std::vector<double> &expected) const {
    int64_t wrong = 0;
    int64_t n = 0;
    for (int64_t b = 0; b < sizes.batch; ++b) {
      for (int64_t h = 0; h < heads(); ++h) {
        for (int64_t i = 0; i < sizes.queries; ++i) {
          for (int64_t c = 0; c < sizes.vHeadSize; ++c)
            wrong += !matches(result(b, h, i, c), expected[n++]);
        }
      }
    }
    return wrong;
  }

  void check(int threads = 2) {
    const std::vector<double> expected = test::NaiveSdpa(p).run();
    for (Isa isa : isasHere()) {
      const std::string name = isaName(isa);
      CAPTURE(name);
      run(isa, threads);
      CHECK(countWrong(expected) == 0);
    }
  }

private:
  bool matches(double actual, double expected) const {
    if (std::isnan(expected) || std::isnan(actual))
      return std::isnan(expected) && std::isnan(actual);
    if (std::isinf(expected))
      return actual == expected;
    return std::abs(actual - expected) <= toleranceOf(p.out.dtype) * (1 + std::abs(expected));
  }

  static void write(DType type, void *data, int64_t n, float value) {
    switch (type) {
    case DType::kF32:
      static_cast<float *>(data)[n] = value;
      return;
    case DType::kF16:
      static_cast<Half *>(data)[n] = Half(value);
      return;
    case DType::kBF16:
      static_cast<BFloat16 *>(data)[n] = BFloat16(value);
      return;
    default:
      static_cast<int8_t *>(data)[n] = static_cast<int8_t>(value);
    }
  }

  void *fill(DType type, int64_t count) {
    memory_.push_back(std::make_unique<char[]>(count * 4 + 1));
    std::normal_distribution<float> normal;
    for (int64_t n = 0; n < count; ++n) {
      if (isFloat(type))
        write(type, memory_.back().get(), n, normal(random_));
      else
        memory_.back()[n] = static_cast<char>(random_());
    }
    return memory_.back().get();
  }

  View rows(DType type, int64_t b, int64_t h, int64_t i, int64_t c) {
    View view;
    view.dtype = type;
    view.rank = 4;
    const int64_t dims[] = {b, h, i, c};
    std::copy_n(dims, 4, view.dims);
    const int64_t width = c + padding_;
    view.strides[3] = 1;
    view.strides[2] = rowsFirst_ ? h * width : width;
    view.strides[1] = rowsFirst_ ? width : i * width;
    view.strides[0] = h * i * width;
    outCount_ = b * h * i * width;
    view.data = fill(type, outCount_);
    if (!isFloat(type))
      return view;
    for (int64_t n = 0; n < outCount_; ++n) {
      if (n % width >= c)
        write(type, view.data, n, kNan);
    }
    return view;
  }

  View broadcast(DType type, int64_t b, int64_t h, int64_t i, int64_t columns) {
    View view;
    view.dtype = type;
    view.rank = 4;
    const int64_t dims[] = {b, h, i, columns};
    std::copy_n(dims, 4, view.dims);
    view.setDenseStrides();
    view.data = fill(type, view.count());
    for (int axis = 0; axis < 3; ++axis) {
      if (view.dims[axis] == 1)
        view.strides[axis] = 0;
    }
    const int64_t full[] = {sizes.batch, heads(), sizes.queries};
    std::copy_n(full, 3, view.dims);
    return view;
  }

  View scales(int64_t count) {
    View view;
    view.dtype = DType::kF32;
    view.rank = 1;
    view.dims[0] = count;
    view.setDenseStrides();
    view.data = fill(DType::kF32, count);
    for (int64_t n = 0; n < count; ++n)
      view.as<float>()[n] = 0.02f + 0.01f * view.as<float>()[n];
    return view;
  }

  struct Free {
    void operator()(char *p) const { std::free(p); }
  };

  std::mt19937 random_;
  int64_t padding_;
  bool rowsFirst_;
  int64_t outCount_ = 0; // elements behind the view made last, which is `out`
  std::vector<std::unique_ptr<char[]>> memory_;
  std::vector<std::unique_ptr<std::vector<int64_t>>> lengths_;
  std::unique_ptr<char, Free> scratch_;
};

// Both paths: few query rows per key/value head, and many.
const Sizes kFew = {1, 2, 3, 4, 150, 0, 32, 32};
const Sizes kMany = {1, 2, 3, 40, 150, 0, 32, 32};

// --- Random configurations -----------------------------------------------------------------------

class Dice {
public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int64_t pick(std::initializer_list<int64_t> values) {
    return values.begin()[random_() % values.size()];
  }
  int64_t below(int64_t n) { return n <= 0 ? 0 : static_cast<int64_t>(random_() % n); }
  bool coin() { return random_() % 2 == 0; }

private:
  std::mt19937 random_;
};

Sizes randomSizes(Dice &dice, bool even) {
  Sizes s;
  s.batch = dice.pick({1, 1, 2, 3});
  s.kvHeads = dice.pick({1, 2, 3});
  s.group = dice.pick({1, 2, 3, 4, 8, 11, 70});
  s.queries = dice.pick({1, 1, 2, 5, 17, 33, 70});
  if (s.group == 70)
    s.queries = dice.pick({1, 3});
  s.keys = dice.pick({0, 1, 7, 16, 100, 128, 129, 300});
  s.added = dice.coin() ? 0 : dice.pick({1, 5, 33});
  s.headSize = even ? dice.pick({2, 16, 22, 64}) : dice.pick({1, 3, 8, 16, 33, 64, 80});
  s.vHeadSize = even ? dice.pick({2, 16, 30, 64}) : dice.pick({1, 5, 16, 40, 64, 96});
  return s;
}

std::vector<int64_t> randomLengths(Dice &dice, int64_t batch, int64_t low, int64_t high) {
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < batch; ++b)
    lengths.push_back(low + dice.below(high - low + 1));
  return lengths;
}

void randomLengthsInto(Dice &dice, Case &c) {
  const Sizes &s = c.sizes;
  if (dice.coin())
    c.p.queryLen = c.lengths(randomLengths(dice, s.batch, 0, s.queries));
  if (dice.coin())
    c.p.queryStart = c.lengths(randomLengths(dice, s.batch, -3, c.totalKeys() + 3));
  if (s.added == 0) {
    if (dice.coin())
      c.p.keyLen = c.lengths(randomLengths(dice, s.batch, 0, s.keys));
    return;
  }
  if (!dice.coin())
    return;
  const std::vector<int64_t> split = randomLengths(dice, s.batch, 0, s.keys);
  std::vector<int64_t> keyLen;
  for (int64_t rows : split)
    keyLen.push_back(rows + dice.below(s.added + 1));
  c.p.split = c.lengths(split);
  c.p.keyLen = c.lengths(keyLen);
}

void randomBandInto(Dice &dice, Case &c) {
  if (dice.coin())
    c.p.band.right = dice.pick({0, 0, 0, 2, -1});
  if (dice.below(3) == 0)
    c.p.band.left = dice.pick({0, 3, 40, 130, -1});
  c.p.anchor = dice.coin() ? QueryAnchor::kKeyEnd : QueryAnchor::kOffset;
  c.p.offset = dice.below(c.totalKeys() + 1);
}

void randomOperandsInto(Dice &dice, Case &c) {
  const Sizes &s = c.sizes;
  int64_t columns = c.totalKeys();
  if (dice.below(4) == 0) {
    const int64_t start = dice.below(20);
    c.p.keyStart = c.lengths(std::vector<int64_t>(s.batch, start));
    columns += start;
  }
  if (dice.below(5) == 0)
    columns = std::max<int64_t>(columns - 3, 1);
  const auto one = [&](int64_t n) { return dice.coin() ? 1 : n; };
  if (dice.below(3) == 0)
    c.addBias(dice.coin() ? DType::kF32 : c.p.q.dtype, one(s.batch), one(c.heads()), one(s.queries),
              columns);
  if (dice.below(3) == 0)
    c.addMask(one(s.batch), one(c.heads()), one(s.queries), columns);
  if (dice.below(3) == 0)
    c.addSink(dice.coin() ? DType::kF32 : c.p.q.dtype);
  if (dice.below(4) == 0)
    c.p.softcap = 1.5f;
}

// NaN in rows that no query sees.
void poisonHidden(Case &c) {
  const Sizes &s = c.sizes;
  if (!isFloat(c.p.k.dtype))
    return;
  for (int64_t b = 0; b < s.batch; ++b) {
    const SdpaEntry e = c.p.entry(b);
    const KeyRange seen = e.frame.unionRange(0, e.queryLen);
    for (int64_t h = 0; h < s.kvHeads; ++h) {
      for (int64_t j = 0; j < s.keys; ++j) {
        if (j < e.split && seen.contains(j))
          continue;
        Case::setRow(c.p.k, b, h, j, kNan);
        Case::setRow(c.p.v, b, h, j, kNan);
      }
      for (int64_t j = 0; j < s.added; ++j) {
        if (seen.contains(e.split + j))
          continue;
        Case::setRow(c.p.kNew, b, h, j, kNan);
        Case::setRow(c.p.vNew, b, h, j, kNan);
      }
    }
  }
}

void runRandom(unsigned seed, DType type, DType cache) {
  CAPTURE(seed);
  Dice dice(seed);
  Case c(randomSizes(dice, !isFloat(cache)), type, cache, seed, dice.pick({0, 0, 6}), dice.coin());
  if (!isFloat(cache))
    c.addScales(dice.coin());
  randomLengthsInto(dice, c);
  randomBandInto(dice, c);
  randomOperandsInto(dice, c);
  poisonHidden(c);
  c.check(static_cast<int>(1 + dice.below(3)));
}

} // namespace

TEST_SUITE_BEGIN("cpu attention");

TEST_CASE("random f32 problems agree with the loops") {
  for (unsigned seed = 0; seed < 150; ++seed)
    runRandom(seed, DType::kF32, DType::kF32);
}

TEST_CASE("random f16 problems agree with the loops") {
  for (unsigned seed = 1000; seed < 1080; ++seed)
    runRandom(seed, DType::kF16, DType::kF16);
}

TEST_CASE("random bf16 problems agree with the loops") {
  for (unsigned seed = 2000; seed < 2080; ++seed)
    runRandom(seed, DType::kBF16, DType::kBF16);
}

TEST_CASE("random problems on quantised caches agree with the loops") {
  for (unsigned seed = 3000; seed < 3040; ++seed) {
    runRandom(seed, DType::kF32, DType::kI8);
    runRandom(seed, DType::kF32, DType::kU8);
    runRandom(seed, DType::kF16, DType::kI8);
    runRandom(seed, DType::kBF16, DType::kU8);
  }
}

TEST_CASE("long keys are split over threads and merged") {
  for (int64_t group : {1, 4}) {
    Case c({1, 1, group, 2, 3000, 40, 64, 64}, DType::kF32, DType::kF32, 5);
    c.p.band = kCausalBand;
    c.p.anchor = QueryAnchor::kKeyEnd;
    c.check(4);
  }
}

TEST_CASE("a window skips whole tiles") {
  Case c({1, 1, 2, 300, 300, 0, 16, 16}, DType::kF32, DType::kF32, 6);
  c.p.band = {20, 0};
  c.check();
}

// --- The rules, one by one -----------------------------------------------------------------------

TEST_CASE("empty axes") {
  for (Sizes sizes : {Sizes{0, 2, 3, 4, 9, 0, 8, 8}, Sizes{1, 2, 3, 0, 9, 0, 8, 8},
                      Sizes{1, 2, 3, 4, 0, 0, 8, 8}, Sizes{1, 2, 3, 40, 0, 0, 8, 8}}) {
    Case c(sizes, DType::kF32, DType::kF32, 7);
    c.check();
  }
}

TEST_CASE("a row without a visible key is zero") {
  for (const Sizes &sizes : {kFew, kMany}) {
    Case c(sizes, DType::kF32, DType::kF32, 8);
    c.addMask(1, 1, sizes.queries, sizes.keys);
    std::memset(c.p.mask.as<uint8_t>() + sizes.keys, 0, sizes.keys); // query 1 sees nothing
    c.addSink(DType::kF32);
    c.check();
    CHECK(c.result(0, 0, 1, 0) == 0);
    c.p.sink = {};
    c.check();
    CHECK(c.result(0, 0, 1, 0) == 0);
    CHECK(c.result(0, 0, 0, 0) != 0);
  }
}

TEST_CASE("rows beyond the query length are zero") {
  for (const Sizes &sizes : {kFew, kMany}) {
    Case c(sizes, DType::kF32, DType::kF32, 9);
    c.p.queryLen = c.lengths({2});
    c.check();
    CHECK(c.result(0, 0, 2, 0) == 0);
  }
}

TEST_CASE("hidden keys and values may be NaN or infinite") {
  for (DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const Sizes &sizes : {kFew, kMany}) {
      for (float poison : {kNan, kInfinity, -kInfinity}) {
        Case c(sizes, type, type, 10);
        c.p.band = kCausalBand; // the last rows see what the first do not
        c.p.anchor = QueryAnchor::kKeyEnd;
        const int64_t last = sizes.keys - 1;
        Case::setRow(c.p.k, 0, 0, last, poison);
        Case::setRow(c.p.v, 0, 0, last - 1, poison);
        c.check();
        CHECK(std::isfinite(c.result(0, 0, 0, 0)));
      }
    }
  }
}

TEST_CASE("keys hidden by mask or bias may be NaN") {
  for (DType type : {DType::kF32, DType::kBF16}) {
    for (const Sizes &sizes : {kFew, kMany}) {
      Case c(sizes, type, type, 11);
      c.addMask(1, 1, sizes.queries, sizes.keys);
      c.addBias(DType::kF32, 1, 1, sizes.queries, sizes.keys);
      for (int64_t i = 1; i < sizes.queries; ++i) { // query 0 may see them
        c.p.mask.as<uint8_t>()[i * sizes.keys + 20] = 0;
        c.p.bias.as<float>()[i * sizes.keys + 21] = -kInfinity;
        c.p.bias.as<float>()[i * sizes.keys + 22] = -kInfinity;
      }
      c.p.mask.as<uint8_t>()[20] = c.p.mask.as<uint8_t>()[22] = 1;
      Case::setRow(c.p.v, 0, 0, 20, kNan);
      Case::setRow(c.p.v, 0, 0, 21, kInfinity);
      Case::setRow(c.p.k, 0, 0, 22, kNan);
      c.check();
      CHECK(std::isnan(c.result(0, 0, 0, 0)));
      CHECK(std::isfinite(c.result(0, 0, 1, 0)));
    }
  }
}

TEST_CASE("the lowest float as a bias hides nothing") {
  for (const Sizes &sizes : {kFew, kMany}) {
    Case c(sizes, DType::kF32, DType::kF32, 12);
    c.addBias(DType::kF32, 1, 1, sizes.queries, sizes.keys);
    std::fill_n(c.p.bias.as<float>() + sizes.keys, sizes.keys, kLowestFloat); // all of query 1
    c.p.bias.as<float>()[2 * sizes.keys] = kLowestFloat;                      // one key of query 2
    // Logits that agree in f32: the score is lost beside the bias.
    const double expected = [&] {
      double sum = 0;
      for (int64_t j = 0; j < sizes.keys; ++j)
        sum += test::readElement(c.p.v, test::offsetOf(c.p.v, 0, 0, j, 3));
      return sum / static_cast<double>(sizes.keys);
    }();
    for (Isa isa : isasHere()) {
      c.run(isa, 2);
      CHECK(c.result(0, 0, 1, 3) == doctest::Approx(expected).epsilon(1e-5));
    }
    std::fill_n(c.p.bias.as<float>() + sizes.keys, sizes.keys, -1e30f);
    c.p.scale = 0;
    c.check();
  }
}

TEST_CASE("infinite and NaN logits give a NaN row and touch no other") {
  for (float bad : {kInfinity, kNan}) {
    for (const Sizes &sizes : {kFew, kMany}) {
      for (int64_t key : {int64_t{2}, sizes.keys - 1}) {
        Case c(sizes, DType::kF32, DType::kF32, 13);
        c.addBias(DType::kF32, 1, 1, sizes.queries, sizes.keys);
        c.p.bias.as<float>()[sizes.keys + key] = bad; // of query 1
        c.check();
        CHECK(std::isnan(c.result(0, 0, 1, 0)));
        CHECK(std::isfinite(c.result(0, 0, 0, 0)));
      }
    }
  }
}

TEST_CASE("a NaN query row is a NaN row") {
  for (const Sizes &sizes : {kFew, kMany}) {
    Case c(sizes, DType::kF32, DType::kF32, 14);
    Case::setRow(c.p.q, 0, 1, 2, kNan);
    c.check();
    CHECK(std::isnan(c.result(0, 1, 2, 0)));
  }
}

TEST_CASE("visible logits that are all minus infinity give NaN") {
  for (const Sizes &sizes : {kFew, kMany}) {
    Case c(sizes, DType::kF32, DType::kF32, 15);
    for (int64_t j = 0; j < sizes.keys; ++j) {
      Case::setRow(c.p.k, 0, 0, j, 1);
      Case::set(c.p.k, 0, 0, j, 0, -kInfinity);
    }
    for (int64_t h = 0; h < c.heads(); ++h) {
      for (int64_t i = 0; i < sizes.queries; ++i)
        Case::setRow(c.p.q, 0, h, i, 1);
    }
    c.check();
    CHECK(std::isnan(c.result(0, 0, 0, 0)));
  }
}

TEST_CASE("large scores do not overflow") {
  Case c(kMany, DType::kF32, DType::kF32, 16);
  c.p.scale = 1000;
  for (Isa isa : isasHere()) {
    c.run(isa, 2);
    for (int64_t i = 0; i < kMany.queries; ++i)
      CHECK(std::isfinite(c.result(0, 0, i, 0)));
  }
}

TEST_CASE("softcap limits logits of any size") {
  for (const Sizes &sizes : {kFew, kMany}) {
    for (float scale : {0.001f, 1.0f, 100.0f}) {
      Case c(sizes, DType::kF32, DType::kF32, 17);
      c.p.softcap = 20;
      c.p.scale = scale;
      c.check();
    }
  }
}

TEST_CASE("zero and negative scale are used as given") {
  for (float scale : {0.0f, -0.5f}) {
    Case c(kMany, DType::kF32, DType::kF32, 18);
    c.p.scale = scale;
    c.check();
  }
}

TEST_CASE("a bias that is the same for all keys") {
  Case c(kMany, DType::kF32, DType::kF32, 19);
  c.addBias(DType::kF32, 1, 1, kMany.queries, kMany.keys);
  c.addMask(1, 1, kMany.queries, kMany.keys);
  c.p.bias.strides[3] = c.p.mask.strides[3] = 0;
  c.check();
}

TEST_CASE("f16 results round to nearest even and keep infinity") {
  Case c({1, 1, 1, 1, 1, 0, 16, 16}, DType::kF16, DType::kF16, 20);
  c.p.v.as<Half>()[0] = Half(65504.0f);
  c.p.v.as<Half>()[1] = Half(kInfinity);
  c.check();
}

TEST_CASE("types may be mixed") {
  Case c(kMany, DType::kF32, DType::kF16, 21);
  c.p.kScale = c.p.vScale = {};
  c.check();
}

TEST_CASE("the same threads and instruction set give the same bits") {
  for (DType type : {DType::kF32, DType::kBF16}) {
    for (const Sizes &sizes :
         {Sizes{1, 1, 2, 1, 4000, 0, 32, 32}, Sizes{1, 2, 2, 90, 400, 0, 32, 32}}) {
      Case c(sizes, type, type, 22);
      for (Isa isa : isasHere()) {
        c.run(isa, 3);
        const std::vector<char> first(c.p.out.as<char>(), c.p.out.as<char>() + c.p.out.bytes());
        for (int again = 0; again < 3; ++again) {
          c.run(isa, 3);
          CHECK(std::memcmp(first.data(), c.p.out.data, first.size()) == 0);
        }
      }
    }
  }
}

TEST_CASE("scratch does not shrink when an axis grows") {
  int64_t before = 0;
  for (int64_t queries = 1; queries < 40; ++queries) {
    Case c({2, 2, 4, queries, 700, 0, 16, 16}, DType::kF32, DType::kF32, 23);
    const int64_t bytes = attentionScratchBytes(c.p, 4);
    CHECK(bytes >= before);
    before = bytes;
  }
}

TEST_CASE("what the kernel does not take it says") {
  Case c(kFew, DType::kF32, DType::kF32, 24);
  CHECK(attentionWhyNot(c.p) == nullptr);
  const SdpaProblem good = c.p;
  c.p.scores = c.p.q;
  CHECK(std::string(attentionWhyNot(c.p)) == "the score output is left to the reference kernel");
  c.p = good;
  c.p.k.strides[3] = 2;
  CHECK(std::string(attentionWhyNot(c.p)) == "channels of keys and values must be contiguous");
  c.p = good;
  c.p.q.dtype = DType::kF64;
  CHECK(std::string(attentionWhyNot(c.p)) == "queries and output must be f32, f16 or bf16");
  c.p = good;
  c.p.k.dtype = DType::kI8;
  CHECK(std::string(attentionWhyNot(c.p)) ==
        "a scale goes with an i8 or u8 cache and with no other");
}

// --- Parts ---------------------------------------------------------------------------------------

TEST_CASE("merging parts of a softmax") {
  const float logits[] = {1.0f, -2.0f, 0.5f, 3.0f};
  const float values[] = {1.0f, 2.0f, 3.0f, 4.0f};
  const auto partOf = [&](int begin, int end, float *out) {
    SoftmaxPart part;
    part.out = out;
    *out = 0;
    for (int i = begin; i < end; ++i)
      part.max = std::max(part.max, logits[i]);
    for (int i = begin; i < end; ++i) {
      part.sum += std::exp(logits[i] - part.max);
      *out += std::exp(logits[i] - part.max) * values[i];
    }
    return part;
  };
  float outs[4];
  const SoftmaxPart all = partOf(0, 4, &outs[0]);
  SoftmaxPart merged = partOf(0, 2, &outs[1]);
  mergeParts(partOf(2, 4, &outs[2]), 1, merged);
  CHECK(merged.max == all.max);
  CHECK(merged.sum == doctest::Approx(all.sum));
  CHECK(outs[1] / merged.sum == doctest::Approx(outs[0] / all.sum));

  SUBCASE("with a part that saw no key, on either side") {
    SoftmaxPart empty = partOf(0, 0, &outs[3]);
    mergeParts(empty, 1, merged);
    CHECK(merged.sum == doctest::Approx(all.sum));
    mergeParts(merged, 1, empty);
    CHECK(empty.max == all.max);
    CHECK(outs[3] / empty.sum == doctest::Approx(outs[0] / all.sum));
    SoftmaxPart none = partOf(0, 0, &outs[0]);
    mergeParts(partOf(0, 0, &outs[1]), 1, none);
    CHECK(none.sum == 0);
    CHECK(outs[0] == 0);
  }
  SUBCASE("with a sink, which has no value") {
    const float before = outs[1] / merged.sum;
    mergeParts({3.0f, 1, nullptr}, 1, merged);
    CHECK(outs[1] / merged.sum == doctest::Approx(before * all.sum / (all.sum + 1)));
  }
  SUBCASE("with not-a-number") {
    float out = 0;
    mergeParts({-kInfinity, kNan, &out}, 1, merged);
    CHECK(std::isnan(merged.sum));
  }
}

TEST_CASE("parallelFor calls every item once, with its own worker") {
  for (Schedule schedule : {Schedule::kStatic, Schedule::kDynamic}) {
    std::vector<int> calls(100);
    std::vector<int> workers(100);
    parallelFor(
        100, 3,
        [&](int64_t i, int worker) {
          ++calls[i];
          workers[i] = worker;
        },
        schedule);
    for (int i = 0; i < 100; ++i) {
      CHECK(calls[i] == 1);
      CHECK(workers[i] >= 0);
      CHECK(workers[i] < 3);
    }
  }
  parallelFor(0, 3, [](int64_t) { FAIL("no item"); });
}

TEST_CASE("parallelFor rethrows after the region") {
  for (int threads : {1, 3}) {
    const auto body = [](int64_t i) {
      if (i == 7)
        throw std::runtime_error("item 7");
    };
    CHECK_THROWS_WITH(parallelFor(20, threads, body), "item 7");
  }
}

TEST_SUITE_END();
