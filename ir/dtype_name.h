// Names of element types in messages to users: ONNX's own (TensorProto), as numpy has them but for
// float and double. The IR's text has shorter ones (dtypeName).
#pragma once

#include "ir/dtype.h"

namespace engine {

constexpr const char *dtypeLongName(DType type) {
  switch (type) {
  case DType::kF32:
    return "float";
  case DType::kF16:
    return "float16";
  case DType::kBF16:
    return "bfloat16";
  case DType::kF64:
    return "double";
  case DType::kI8:
    return "int8";
  case DType::kU8:
    return "uint8";
  case DType::kI16:
    return "int16";
  case DType::kU16:
    return "uint16";
  case DType::kI32:
    return "int32";
  case DType::kU32:
    return "uint32";
  case DType::kI64:
    return "int64";
  case DType::kU64:
    return "uint64";
  case DType::kBool:
    return "bool";
  case DType::kI4:
    return "int4";
  case DType::kU4:
    return "uint4";
  case DType::kUndefined:
    break;
  }
  return "?";
}

} // namespace engine
