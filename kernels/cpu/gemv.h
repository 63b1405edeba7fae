// Products of few rows with a matrix of f32, f16 or bf16 that is read once, from where it lies:
// memory is what limits them.
#pragma once

#include "ir/dtype.h"
#include "kernels/isa.h"

#include <cstdint>

namespace engine::cpu {

// Rows that are multiplied at a time.
inline constexpr int kGemvRows = 4;

// `rows` (at most kGemvRows) rows of f32, `stride` elements apart.
template <class T> struct GemvMatrix {
  T *data;
  int64_t stride;
};

// y = x w, where w is [depth, columns].
struct GemvProblem {
  int rows;
  int64_t depth, columns;
  GemvMatrix<const float> x;
  DType type; // of w
  const void *w;
  int64_t wStride; // elements from one row of w (of its transpose) to the next
  GemvMatrix<float> y;
};

struct GemvOps {
  // w's columns are dense.
  void (*rowMajor)(const GemvProblem &problem);
  // w's rows are: columns stand wStride apart.
  void (*transposed)(const GemvProblem &problem);
};

const GemvOps &gemvOps(Isa isa);

} // namespace engine::cpu
