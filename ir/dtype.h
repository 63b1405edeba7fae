// Element types of tensors. A plain header: host and device code include it.
#pragma once

#include <cstdint>

namespace engine {

enum class DType : uint8_t {
  kUndefined,
  kF32,
  kF16,
  kBF16,
  kF64,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool,
  kI4, // two elements a byte, the first in the low nibble
  kU4,
};

inline constexpr int kNumDTypes = static_cast<int>(DType::kU4) + 1;

struct DTypeInfo {
  const char *name; // as it prints in the IR and in messages
  int bits;
  bool isFloat;
  bool isSigned;
};

constexpr DTypeInfo dtypeInfo(DType t) {
  switch (t) {
  case DType::kF32:
    return {"f32", 32, true, true};
  case DType::kF16:
    return {"f16", 16, true, true};
  case DType::kBF16:
    return {"bf16", 16, true, true};
  case DType::kF64:
    return {"f64", 64, true, true};
  case DType::kI8:
    return {"i8", 8, false, true};
  case DType::kU8:
    return {"u8", 8, false, false};
  case DType::kI16:
    return {"i16", 16, false, true};
  case DType::kU16:
    return {"u16", 16, false, false};
  case DType::kI32:
    return {"i32", 32, false, true};
  case DType::kU32:
    return {"u32", 32, false, false};
  case DType::kI64:
    return {"i64", 64, false, true};
  case DType::kU64:
    return {"u64", 64, false, false};
  case DType::kBool:
    return {"bool", 8, false, false};
  case DType::kI4:
    return {"i4", 4, false, true};
  case DType::kU4:
    return {"u4", 4, false, false};
  case DType::kUndefined:
    break;
  }
  return {"?", 0, false, false};
}

constexpr const char *dtypeName(DType t) { return dtypeInfo(t).name; }
constexpr bool isFloat(DType t) { return dtypeInfo(t).isFloat; }
constexpr bool isInteger(DType t) {
  return t != DType::kUndefined && t != DType::kBool && !dtypeInfo(t).isFloat;
}
constexpr bool isSubByte(DType t) { return dtypeInfo(t).bits == 4; }

// Bytes of `count` densely packed elements; `count` must be small enough not to overflow
// (loaders check dims first, see frontend/load.h).
constexpr int64_t byteSize(DType t, int64_t count) {
  return isSubByte(t) ? (count + 1) / 2 : count * (dtypeInfo(t).bits / 8);
}

} // namespace engine
