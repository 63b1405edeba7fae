#include "ir/half.h"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

using namespace engine;

namespace {

// The two storage types, as the tests see them.
struct Format {
  const char *name;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);
  uint16_t infinity;
};

constexpr Format kFormats[] = {
    {"f16", halfToFloat, floatToHalf, 0x7c00},
    {"bf16", bfloat16ToFloat, floatToBFloat16, 0x7f80},
};

bool isNan(const Format &format, uint16_t bits) { return (bits & 0x7fff) > format.infinity; }

} // namespace

TEST_CASE("half: every bit pattern survives f32 and back") {
  for (const Format &format : kFormats) {
    int wrong = 0;
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
      const uint16_t narrow = static_cast<uint16_t>(bits);
      const float wide = format.widen(narrow);
      const uint16_t back = format.narrow(wide);
      if (isNan(format, narrow))
        wrong += !std::isnan(wide) || !isNan(format, back) || (back & 0x8000) != (narrow & 0x8000);
      else
        wrong += std::isnan(wide) || back != narrow;
    }
    CAPTURE(format.name);
    CHECK(wrong == 0);
  }
}

// Between every two neighbours: the middle goes to the even one, the next float on either side to
// the nearer one.
TEST_CASE("half: rounds to nearest and ties to even") {
  for (const Format &format : kFormats) {
    int wrong = 0;
    for (uint16_t below = 0; below + 1 < format.infinity; ++below) {
      const uint16_t above = static_cast<uint16_t>(below + 1);
      const float middle = static_cast<float>(
          (static_cast<double>(format.widen(below)) + static_cast<double>(format.widen(above))) /
          2);
      const uint16_t even = below % 2 == 0 ? below : above;
      wrong += format.narrow(middle) != even;
      wrong += format.narrow(-middle) != (even | 0x8000);
      wrong += format.narrow(std::nextafterf(middle, 0)) != below;
      wrong += format.narrow(std::nextafterf(middle, INFINITY)) != above;
    }
    CAPTURE(format.name);
    CHECK(wrong == 0);
  }
}

TEST_CASE("half: single values") {
  struct Row {
    const char *why;
    float value;
    uint16_t f16, bf16;
  };
  const Row rows[] = {
      {"zero", 0.0f, 0x0000, 0x0000},
      {"negative zero", -0.0f, 0x8000, 0x8000},
      {"one", 1.0f, 0x3c00, 0x3f80},
      {"largest f16", 65504.0f, 0x7bff, 0x4780},
      {"below the middle to the next power", 65519.996f, 0x7bff, 0x4780},
      {"the middle overflows", 65520.0f, 0x7c00, 0x4780},
      {"largest f32 overflows in bf16 too", std::numeric_limits<float>::max(), 0x7c00, 0x7f80},
      {"infinity", INFINITY, 0x7c00, 0x7f80},
      {"negative infinity", -INFINITY, 0xfc00, 0xff80},
      {"smallest normal f16", 0x1p-14f, 0x0400, 0x3880},
      {"smallest subnormal f16", 0x1p-24f, 0x0001, 0x3380},
      {"half of it ties to zero", 0x1p-25f, 0x0000, 0x3300},
      {"just above half of it", 0x1.000002p-25f, 0x0001, 0x3300},
      {"smallest f32", std::numeric_limits<float>::denorm_min(), 0x0000, 0x0000},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    CHECK(floatToHalf(row.value) == row.f16);
    CHECK(floatToBFloat16(row.value) == row.bf16);
    CHECK(Half(row.value).bits == row.f16);
    CHECK(BFloat16(row.value).bits == row.bf16);
  }
}

// A NaN whose payload lies in the low bits only must not become an infinity.
TEST_CASE("half: NaN stays NaN") {
  for (const uint32_t bits : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u}) {
    CAPTURE(bits);
    const float nan = detail::floatOf(bits);
    CHECK(std::isnan(halfToFloat(floatToHalf(nan))));
    CHECK(std::isnan(bfloat16ToFloat(floatToBFloat16(nan))));
    CHECK(std::signbit(halfToFloat(floatToHalf(nan))) == std::signbit(nan));
    CHECK(std::signbit(bfloat16ToFloat(floatToBFloat16(nan))) == std::signbit(nan));
  }
}
