#include "ir/error.h"
#include "ir/half.h"
#include "runtime/bundle.h"
#include "runtime/compare.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace engine;

namespace {

Tensor floats(std::vector<float> values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
}

Tensor bits16(DType dtype, std::vector<float> values) {
  Tensor tensor = Tensor::zeros(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    tensor.as<uint16_t>()[i] =
        dtype == DType::kF16 ? floatToHalf(values[i]) : floatToBFloat16(values[i]);
  return tensor;
}

std::string compared(const Tensor &got, const Tensor &expected, const char *approx = "close") {
  return compareTensors("y", got, expected, Tolerances::parse(approx));
}

std::vector<ValueInfo> infos(std::initializer_list<std::pair<const char *, DType>> list) {
  std::vector<ValueInfo> values;
  for (const auto &[name, dtype] : list) {
    ValueInfo info;
    info.name = name;
    info.dtype = dtype;
    values.push_back(info);
  }
  return values;
}

} // namespace

TEST_CASE("close, by element type") {
  CHECK(compared(floats({1}), floats({1.000019f})).empty());
  CHECK_FALSE(compared(floats({1}), floats({1.00003f})).empty());
  CHECK(compared(floats({1}), floats({1.00003f}), "approximate").empty());
  CHECK_FALSE(compared(floats({1}), floats({1.000019f}), "exact").empty());
  CHECK(compared(floats({1}), floats({1.5f}), "0.25,0.25").empty());
  CHECK_FALSE(compared(floats({1}), floats({1.5f}), "0.25,0.1").empty());
  CHECK(compared(bits16(DType::kF16, {1}), bits16(DType::kF16, {1.007f})).empty());
  CHECK_FALSE(compared(bits16(DType::kF16, {1}), bits16(DType::kF16, {1.01f})).empty());
  CHECK(compared(bits16(DType::kBF16, {1}), bits16(DType::kBF16, {1.05f})).empty());
  // Never stricter than close.
  CHECK(compared(bits16(DType::kBF16, {1}), bits16(DType::kBF16, {1.05f}), "approximate").empty());
  CHECK(compared(Tensor::of<int64_t>({1}, {5}), Tensor::of<int64_t>({1}, {6}), "100,100") != "");
}

TEST_CASE("NaN equals NaN, infinity only itself") {
  for (const char *approx : {"exact", "close", "1e9,1e9"}) {
    CAPTURE(approx);
    CHECK(compared(floats({NAN, INFINITY, -INFINITY, 0.f}),
                   floats({NAN, INFINITY, -INFINITY, -0.f}), approx)
              .empty());
    CHECK_FALSE(compared(floats({NAN}), floats({1}), approx).empty());
    CHECK_FALSE(compared(floats({1}), floats({NAN}), approx).empty());
    CHECK_FALSE(compared(floats({INFINITY}), floats({-INFINITY}), approx).empty());
    CHECK_FALSE(compared(floats({1}), floats({INFINITY}), approx).empty());
    CHECK_FALSE(compared(floats({INFINITY}), floats({1}), approx).empty());
  }
}

TEST_CASE("the message names the output, how many, the first and the largest error") {
  const std::string message =
      compareTensors("logits", Tensor::of<float>({2, 2}, {1, 2, 3, 4}),
                     Tensor::of<float>({2, 2}, {1, 2.5, 3, 6}), Tolerances());
  CHECK(message == "output 'logits': 2 of 4 elements are off; the first: [0, 1] is 2, expected "
                   "2.5; the largest error "
                   "is 2: [1, 1] is 4, expected 6 (allowed: 1e-05 + 1e-05 * |expected|)");
  CHECK(compared(floats({1, NAN}), floats({5, 0})).find("the largest error is nan") !=
        std::string::npos);
  CHECK(compared(floats({1}), Tensor::of<double>({1}, {1})) ==
        "output 'y': it is f32[1], expected f64[1]");
  CHECK(compared(floats({1}), Tensor::of<float>({1, 1}, {1})) ==
        "output 'y': it is f32[1], expected f32[1, 1]");
}

TEST_CASE("masks choose the elements that count") {
  Tensor mask = Tensor::zeros(DType::kBool, {2});
  mask.as<uint8_t>()[0] = 1;
  CHECK(compareTensors("y", floats({1, 2}), floats({1, 9}), Tolerances(), mask).empty());
  CHECK_FALSE(compareTensors("y", floats({3, 2}), floats({1, 2}), Tolerances(), mask).empty());
  CHECK_FALSE(compareTensors("y", floats({1}), floats({1}), Tolerances(), mask).empty());
}

TEST_CASE("every output is wanted") {
  const auto outputs = infos({{"a", DType::kF32}, {"b", DType::kF32}});
  const Tensors got{{"a", floats({1})}, {"b", floats({2})}};
  CHECK(compareOutputs(outputs, got, got, {}, Tolerances()).empty());
  CHECK(compareOutputs(outputs, got, {{"a", floats({1})}}, {}, Tolerances()).size() == 1);
  CHECK(compareOutputs(outputs, {}, got, {}, Tolerances()).size() == 2);
}

TEST_CASE("tolerances that are refused") {
  for (const char *text : {"", "closer", "1", "1,", ",1", "1,-1", "nan,1", "1,inf", "1,2,3"})
    CHECK_THROWS_AS(Tolerances::parse(text), Error);
}

TEST_CASE("bundles: prefixes and plain names") {
  const auto inputs = infos({{"x", DType::kF32}, {"ids", DType::kI64}, {"in:odd", DType::kF32}});
  const auto outputs = infos({{"y", DType::kF32}, {"x", DType::kF32}});
  auto sorted = [&](std::vector<NamedTensor> arrays, bool cast = false) {
    return sortBundle(arrays, inputs, outputs, cast);
  };
  Bundle bundle = sorted({{"in:x", floats({1})},
                          {"out:y", floats({2})},
                          {"out:x", floats({4})},
                          {"cmp:y", Tensor::zeros(DType::kBool, {1})},
                          {"in:odd", floats({3})}});
  CHECK(bundle.inputs.size() == 2);
  CHECK(*bundle.inputs["in:odd"].as<float>() == 3);
  CHECK(*bundle.expected["x"].as<float>() == 4);
  CHECK(bundle.masks.count("y") == 1);

  bundle = sorted({{"x", floats({1})}, {"y", floats({2})}});
  CHECK(bundle.inputs.size() == 1);
  CHECK(bundle.expected.size() == 2); // "x" is both

  CHECK_THROWS_WITH_AS(sorted({{"z", floats({1})}}), doctest::Contains("'z'"), Error);
  CHECK_THROWS_WITH_AS(sorted({{"in:y", floats({1})}}), doctest::Contains("'in:y'"), Error);
  CHECK_THROWS_WITH_AS(sorted({{"out:ids", floats({1})}}), doctest::Contains("'out:ids'"), Error);
  CHECK_THROWS_WITH_AS(sorted({{"x", floats({1})}, {"in:x", floats({1})}}),
                       doctest::Contains("two arrays"), Error);
  CHECK_THROWS_WITH_AS(sorted({{"ids", Tensor::of<int32_t>({1}, {1})}}),
                       doctest::Contains("expected int64"), Error);
  CHECK_THROWS_WITH_AS(sorted({{"in:x", Tensor::of<double>({1}, {1})}}),
                       doctest::Contains("--cast-inputs"), Error);
  CHECK(*sorted({{"in:x", Tensor::of<double>({1}, {1.5})}}, true).inputs["x"].as<float>() == 1.5f);
  // Integers are never cast.
  CHECK_THROWS_AS(sorted({{"in:x", Tensor::of<int64_t>({1}, {1})}}, true), Error);
}

TEST_CASE("bundles: half bytes come one a byte") {
  const Tensor packed = fitInput(Tensor::of<int8_t>({3}, {-8, 7, -1}), DType::kI4, false);
  CHECK(packed.dtype() == DType::kI4);
  CHECK(packed.as<uint8_t>()[0] == 0x78);
  CHECK(packed.as<uint8_t>()[1] == 0x0f);
  CHECK_THROWS_AS(fitInput(Tensor::of<int8_t>({1}, {8}), DType::kI4, false), Error);
  CHECK_THROWS_AS(fitInput(Tensor::of<uint8_t>({1}, {16}), DType::kU4, false), Error);
}
