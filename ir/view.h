// A strided view of memory that somebody else owns. A plain header.
#pragma once

#include "ir/dtype.h"

#include <cstdint>

namespace engine {

inline constexpr int kMaxRank = 8;

// `strides` count elements, not bytes, and may be zero (broadcast). Sub-byte types are always
// dense (see isDense); their strides are those of the unpacked shape.
struct View {
  void *data = nullptr;
  DType dtype = DType::kUndefined;
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};

  // An absent optional operand is a view without a type.
  bool present() const { return dtype != DType::kUndefined; }
  int64_t dim(int axis) const { return dims[axis]; }
  int64_t stride(int axis) const { return strides[axis]; }

  int64_t count() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i)
      n *= dims[i];
    return n;
  }
  int64_t bytes() const { return byteSize(dtype, count()); }

  // Row-major without gaps. Axes of one element may carry any stride.
  bool isDense() const {
    int64_t expected = 1;
    for (int i = rank - 1; i >= 0; --i) {
      if (dims[i] == 0)
        return true;
      if (dims[i] != 1 && strides[i] != expected)
        return false;
      expected *= dims[i];
    }
    return true;
  }

  template <class T> T *as() const { return static_cast<T *>(data); }

  void setDenseStrides() {
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; --i) {
      strides[i] = stride;
      stride *= dims[i];
    }
  }
};

} // namespace engine
