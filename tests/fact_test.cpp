#include "ir/error.h"
#include "ir/fact.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace engine;
using namespace engine::ir;

TEST_CASE("fact: integers of every type read back") {
  struct Row {
    DType dtype;
    std::vector<int64_t> values;
  };
  const Row rows[] = {
      {DType::kI8, {-128, -1, 0, 127}},
      {DType::kU8, {0, 1, 255}},
      {DType::kI16, {-32768, 32767}},
      {DType::kU16, {0, 65535}},
      {DType::kI32, {INT32_MIN, INT32_MAX}},
      {DType::kU32, {0, UINT32_MAX}},
      {DType::kI64, {INT64_MIN, -1, INT64_MAX}},
      {DType::kU64, {0, INT64_MAX}},
      {DType::kBool, {0, 1}},
      {DType::kI4, {-8, 7, -1}}, // an odd count: the last byte is half used
      {DType::kU4, {0, 15, 9}},
  };
  for (const Row &row : rows) {
    CAPTURE(dtypeName(row.dtype));
    const int64_t count = static_cast<int64_t>(row.values.size());
    const ConstRef data = makeIntConst(row.dtype, {count}, row.values);
    CHECK(data->count() == count);
    CHECK(static_cast<int64_t>(data->bytes) == byteSize(row.dtype, count));
    for (int64_t i = 0; i < count; ++i) {
      CHECK(data->intAt(i) == row.values[static_cast<size_t>(i)]);
      CHECK(data->floatAt(i) == static_cast<double>(row.values[static_cast<size_t>(i)]));
    }
  }
}

TEST_CASE("fact: floats of every type read back") {
  // 1/3 to the precision of each.
  struct Row {
    DType dtype;
    double third;
  };
  const Row rows[] = {{DType::kF16, 0.333251953125},
                      {DType::kBF16, 0.333984375},
                      {DType::kF32, static_cast<double>(1.0f / 3)},
                      {DType::kF64, 1.0 / 3}};
  for (const Row &row : rows) {
    CAPTURE(dtypeName(row.dtype));
    const ConstRef data = makeFloatConst(row.dtype, {2, 2}, {1.0 / 3, -0.0, INFINITY, NAN});
    CHECK(data->floatAt(0) == row.third);
    CHECK(std::signbit(data->floatAt(1)));
    CHECK(std::isinf(data->floatAt(2)));
    CHECK(std::isnan(data->floatAt(3)));
    CHECK_THROWS_AS((void)data->intAt(0), Error);
  }
}

TEST_CASE("fact: constants are compared by type and shape and bytes") {
  const ConstRef base = makeIntConst(DType::kI32, {2}, {1, 2});
  CHECK(*base == *makeIntConst(DType::kI32, {2}, {1, 2}));
  CHECK_FALSE(*base == *makeIntConst(DType::kI32, {2}, {1, 3}));
  CHECK_FALSE(*base == *makeIntConst(DType::kI32, {1, 2}, {1, 2}));
  CHECK_FALSE(*base == *makeIntConst(DType::kU32, {2}, {1, 2}));
  CHECK(*makeFloatConst(DType::kF32, {}, {NAN}) == *makeFloatConst(DType::kF32, {}, {NAN}));
  CHECK_FALSE(*makeFloatConst(DType::kF32, {}, {0.0}) == *makeFloatConst(DType::kF32, {}, {-0.0}));
  CHECK(*makeFloatConst(DType::kF32, {0}, {}) == *makeFloatConst(DType::kF32, {0}, {}));
}

TEST_CASE("fact: a constant whose bytes do not fit its shape is our own mistake") {
  const char bytes[8] = {};
  CHECK_THROWS_AS((void)makeConst(DType::kF32, {3}, bytes, 8), Error);
  CHECK_THROWS_AS((void)makeConst(DType::kUndefined, {0}, bytes, 0), Error);
  CHECK_THROWS_AS((void)makeConst(DType::kF32, {-1}, bytes, 4), Error);
  CHECK_THROWS_AS((void)makeConst(DType::kF32, {INT64_MAX, 4}, bytes, 8), Error);
  CHECK_THROWS_AS((void)makeIntConst(DType::kI64, {2}, {1}), Error);
  CHECK_THROWS_AS((void)makeIntConst(DType::kF32, {1}, {1}), Error);
  CHECK_THROWS_AS((void)makeFloatConst(DType::kI32, {1}, {1.0}), Error);
}

TEST_CASE("fact: text and contents") {
  const Dim batch = Dim::symbol("batch");
  Fact shape = makeFact(DType::kI64, {2});
  shape.contents = {batch, 8};

  struct Row {
    const char *why;
    Fact fact;
    const char *text;
  };
  const Row rows[] = {
      {"nothing known", Fact(), "?"},
      {"a symbolic shape", makeFact(DType::kF32, {batch, 8}), "f32[batch, 8]"},
      {"a scalar", makeFact(DType::kBF16, {}), "bf16[]"},
      {"contents as dims", shape, "i64[2]={batch, 8}"},
      {"a small integer constant", factOf(makeIntConst(DType::kI32, {2}, {3, -4})),
       "i32[2]={3, -4}"},
      {"an empty one", factOf(makeIntConst(DType::kI64, {0}, {})), "i64[0]={}"},
      {"floats have no contents", factOf(makeFloatConst(DType::kF32, {1}, {1.0})), "f32[1]"},
      {"nor have bools", factOf(makeIntConst(DType::kBool, {1}, {1})), "bool[1]"},
      {"nor what no dim holds", factOf(makeIntConst(DType::kU64, {1}, {-1})), "u64[1]"},
      {"nor more than 64 elements",
       factOf(makeIntConst(DType::kI64, {65}, std::vector<int64_t>(65))), "i64[65]"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    CHECK(row.fact.str() == row.text);
    CHECK(row.fact == row.fact);
  }
}

TEST_CASE("fact: equality") {
  const Dim s = Dim::symbol("S");
  const Fact base = makeFact(DType::kF32, {s, 4});
  Fact unknownWithType = base;
  unknownWithType.known = false;
  Fact withContents = makeFact(DType::kI64, {1});
  withContents.contents = {s};

  CHECK(base == makeFact(DType::kF32, {Dim::symbol("S"), 4}));
  CHECK(base != makeFact(DType::kF16, {s, 4}));
  CHECK(base != makeFact(DType::kF32, {4, s}));
  CHECK(base != Fact());
  CHECK(unknownWithType == Fact());
  CHECK(withContents != makeFact(DType::kI64, {1}));
  const Fact one = factOf(makeFloatConst(DType::kF32, {1}, {1.0}));
  CHECK(one == factOf(makeFloatConst(DType::kF32, {1}, {1.0})));
  CHECK(one != factOf(makeFloatConst(DType::kF32, {1}, {2.0})));
  CHECK(one != makeFact(DType::kF32, {1}));
}
