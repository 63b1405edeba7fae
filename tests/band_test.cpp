// ir/band.h against the definition, row by row and key by key.
#include "ir/band.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <vector>

using namespace engine;

namespace {

constexpr int64_t kOpen = Band::kOpen;
using Wide = __int128;

// Whether query row i sees key row j: the sentence at the top of band.h.
bool sees(const BandFrame &f, int64_t i, int64_t j) {
  if (j < 0 || j >= f.keyCount)
    return false;
  const Wide query = static_cast<Wide>(f.queryStart) + i;
  const Wide key = static_cast<Wide>(f.keyStart) + j;
  const bool leftOk = f.band.left == kOpen || key >= query - f.band.left;
  const bool rightOk = f.band.right == kOpen || key <= query + f.band.right;
  return leftOk && rightOk;
}

// The keys of [0, keyCount) for which `visible` holds, as a range; wrong() if they are not one.
template <class Visible> KeyRange rangeOf(const BandFrame &f, Visible visible) {
  KeyRange range;
  for (int64_t j = 0; j < f.keyCount; ++j) {
    if (!visible(j))
      continue;
    if (range.empty())
      range = {j, j + 1};
    else if (range.hi == j)
      range.hi = j + 1;
    else
      return {-1, -1};
  }
  return range;
}

KeyRange expectedRow(const BandFrame &f, int64_t i) {
  return rangeOf(f, [&](int64_t j) { return sees(f, i, j); });
}

KeyRange expectedUnion(const BandFrame &f, int64_t i0, int64_t i1) {
  return rangeOf(f, [&](int64_t j) {
    for (int64_t i = i0; i < i1; ++i)
      if (sees(f, i, j))
        return true;
    return false;
  });
}

KeyRange expectedCommon(const BandFrame &f, int64_t i0, int64_t i1) {
  return rangeOf(f, [&](int64_t j) {
    for (int64_t i = i0; i < i1; ++i)
      if (!sees(f, i, j))
        return false;
    return i0 < i1;
  });
}

std::string describe(const BandFrame &f, int64_t i0, int64_t i1) {
  return "left " + std::to_string(f.band.left) + ", right " + std::to_string(f.band.right) +
         ", queryStart " + std::to_string(f.queryStart) + ", keyStart " +
         std::to_string(f.keyStart) + ", keyCount " + std::to_string(f.keyCount) + ", rows " +
         std::to_string(i0) + " to " + std::to_string(i1);
}

// Compares all three ranges; counts the faults and tells of the first few.
int faults(const BandFrame &f, int64_t i0, int64_t i1) {
  int wrong = 0;
  for (int64_t i = i0; i < i1; ++i)
    wrong += f.rowRange(i) != expectedRow(f, i);
  wrong += f.unionRange(i0, i1) != expectedUnion(f, i0, i1);
  wrong += f.commonRange(i0, i1) != expectedCommon(f, i0, i1);
  static int told = 0;
  if (wrong != 0 && ++told <= 5)
    MESSAGE(describe(f, i0, i1));
  return wrong;
}

const std::vector<int64_t> kEnds = {-3, -2, -1, 0, 1, 2, 3, kOpen};

} // namespace

TEST_CASE("band: every small frame agrees with the definition") {
  int wrong = 0;
  for (const int64_t left : kEnds)
    for (const int64_t right : kEnds)
      for (int64_t queryStart = -6; queryStart <= 6; ++queryStart)
        for (int64_t keyStart = 0; keyStart <= 4; ++keyStart)
          for (int64_t keyCount = 0; keyCount <= 6; ++keyCount)
            for (int64_t rows = 0; rows <= 4; ++rows)
              wrong += faults({{left, right}, queryStart, keyStart, keyCount}, 0, rows);
  CHECK(wrong == 0);
}

TEST_CASE("band: rows in the middle of a frame") {
  int wrong = 0;
  for (const int64_t left : kEnds)
    for (const int64_t right : kEnds)
      for (int64_t i0 = -2; i0 <= 3; ++i0)
        wrong += faults({{left, right}, 1, 2, 6}, i0, i0 + 3);
  CHECK(wrong == 0);
}

TEST_CASE("band: named cases") {
  struct Row {
    const char *why;
    BandFrame frame;
    int64_t i;
    KeyRange expected;
  };
  const Row rows[] = {
      {"no band: all keys", {{}, 0, 0, 5}, 2, {0, 5}},
      {"causal prompt: itself and before", {kCausalBand, 0, 0, 5}, 2, {0, 3}},
      {"causal decode over 4 past keys", {kCausalBand, 4, 0, 5}, 0, {0, 5}},
      {"causal with a negative start: a row before the first key",
       {kCausalBand, -2, 0, 5},
       1,
       {0, 0}},
      {"window of 2: itself and the key before", {{1, 0}, 3, 0, 5}, 0, {2, 4}},
      {"window of 0 sees nothing", {{-1, 0}, 3, 0, 5}, 0, {0, 0}},
      {"both sides", {{1, 1}, 3, 0, 9}, 0, {2, 5}},
      {"only keys after the query", {{-1, kOpen}, 3, 0, 6}, 0, {4, 6}},
      {"windowed cache: row 0 is position 10", {{2, 0}, 12, 10, 4}, 0, {0, 3}},
      {"keys end before the window", {{1, 0}, 9, 0, 5}, 0, {0, 0}},
      {"no keys", {{}, 0, 0, 0}, 0, {0, 0}},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    CHECK(row.frame.rowRange(row.i) == row.expected);
  }
}

TEST_CASE("band: intersection keeps the tighter end on each side") {
  CHECK(Band{3, kOpen}.intersect(kCausalBand) == Band{3, 0});
  CHECK(Band{}.intersect(Band{2, 5}) == Band{2, 5});
  CHECK(Band{-1, 4}.intersect(Band{2, 0}) == Band{-1, 0});
  CHECK(Band{}.open());
  CHECK_FALSE(kCausalBand.open());
}

TEST_CASE("band: values up to 2^60 are exact") {
  const int64_t big = int64_t{1} << 60;
  const int64_t starts[] = {-big, -big + 3, -1, 0, 2, big - 3, big};
  const int64_t ends[] = {-big, -2, 0, 3, big, kOpen};
  int wrong = 0;
  for (const int64_t queryStart : starts)
    for (const int64_t keyStart : starts)
      for (const int64_t left : ends)
        for (const int64_t right : ends)
          wrong += faults({{left, right}, queryStart, keyStart, 5}, 0, 3);
  CHECK(wrong == 0);
}

// Beyond that sums saturate: no overflow (the sanitizer build looks), and never a key that does not
// exist.
TEST_CASE("band: extreme values stay in range") {
  const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
  int wrong = 0;
  for (const int64_t left : extremes)
    for (const int64_t right : extremes)
      for (const int64_t queryStart : extremes)
        for (const int64_t keyStart : extremes)
          for (const int64_t keyCount : extremes)
            for (const int64_t i : {int64_t{0}, int64_t{7}, INT64_MAX - 1}) {
              const BandFrame f{{left, right}, queryStart, keyStart, keyCount};
              for (const KeyRange r :
                   {f.rowRange(i), f.unionRange(i, i + 1), f.commonRange(i, i + 1)}) {
                const bool isEmpty = r == KeyRange{};
                wrong += !isEmpty && !(0 <= r.lo && r.lo < r.hi && r.hi <= keyCount);
              }
            }
  CHECK(wrong == 0);
}
