// Single elements of a tensor as numbers, whatever its type.
#pragma once

#include "ir/half.h"
#include "runtime/engine.h"

#include <type_traits>

namespace engine {

// Calls fn(load), where load(data, i) is element i as float, double, int64_t or uint64_t. Undefined
// types: not called.
template <class Fn> void withLoader(DType dtype, Fn &&fn) {
  auto plain = [&]<class T, class As>(T, As) {
    fn([](const void *data, int64_t i) {
      return static_cast<As>(static_cast<const T *>(data)[i]);
    });
  };
  switch (dtype) {
  case DType::kF32:
    return plain(float(), float());
  case DType::kF64:
    return plain(double(), double());
  case DType::kF16:
    return fn([](const void *data, int64_t i) {
      return halfToFloat(static_cast<const uint16_t *>(data)[i]);
    });
  case DType::kBF16:
    return fn([](const void *data, int64_t i) {
      return bfloat16ToFloat(static_cast<const uint16_t *>(data)[i]);
    });
  case DType::kI8:
    return plain(int8_t(), int64_t());
  case DType::kI16:
    return plain(int16_t(), int64_t());
  case DType::kI32:
    return plain(int32_t(), int64_t());
  case DType::kI64:
    return plain(int64_t(), int64_t());
  case DType::kU8:
  case DType::kBool:
    return plain(uint8_t(), int64_t());
  case DType::kU16:
    return plain(uint16_t(), int64_t());
  case DType::kU32:
    return plain(uint32_t(), int64_t());
  case DType::kU64:
    return plain(uint64_t(), uint64_t());
  case DType::kI4:
    return fn([](const void *data, int64_t i) -> int64_t {
      const int code = (static_cast<const uint8_t *>(data)[i / 2] >> (i % 2 * 4)) & 15;
      return code > 7 ? code - 16 : code;
    });
  case DType::kU4:
    return fn([](const void *data, int64_t i) -> int64_t {
      return (static_cast<const uint8_t *>(data)[i / 2] >> (i % 2 * 4)) & 15;
    });
  case DType::kUndefined:
    return;
  }
}

// Stores a number as element i; `dtype` is no sub-byte type.
template <class Number> void storeElement(DType dtype, void *data, int64_t i, Number value) {
  auto put = [&](auto as) {
    static_cast<decltype(as) *>(data)[i] = static_cast<decltype(as)>(value);
  };
  switch (dtype) {
  case DType::kF32:
    return put(float());
  case DType::kF64:
    return put(double());
  case DType::kF16:
    static_cast<uint16_t *>(data)[i] = floatToHalf(static_cast<float>(value));
    return;
  case DType::kBF16:
    static_cast<uint16_t *>(data)[i] = floatToBFloat16(static_cast<float>(value));
    return;
  case DType::kI8:
    return put(int8_t());
  case DType::kI16:
    return put(int16_t());
  case DType::kI32:
    return put(int32_t());
  case DType::kI64:
    return put(int64_t());
  case DType::kU8:
  case DType::kBool:
    return put(uint8_t());
  case DType::kU16:
    return put(uint16_t());
  case DType::kU32:
    return put(uint32_t());
  case DType::kU64:
    return put(uint64_t());
  case DType::kI4:
  case DType::kU4:
  case DType::kUndefined:
    return;
  }
}

} // namespace engine
