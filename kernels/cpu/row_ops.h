// Operations on dense rows of f32, once per instruction set: what the elementwise, norm, reduction
// and rotary kernels are made of. Everything around them is plain C++.
#pragma once

#include "ir/dtype.h"
#include "ir/ops.h"
#include "kernels/isa.h"

#include <cstdint>

namespace engine::cpu {

inline constexpr int kNumUnaryKinds = static_cast<int>(ir::UnaryKind::kTanh) + 1;
inline constexpr int kNumBinaryKinds = static_cast<int>(ir::BinaryKind::kGreaterOrEqual) + 1;

// An operand of a row: dense, or one element for all.
struct RowOperand {
  const float *data;
  bool single;
};

// y may be any of the operands; `count` may be zero.
struct RowOps {
  using Unary = void (*)(const float *x, int64_t count, float *y);
  using Binary = void (*)(RowOperand a, RowOperand b, int64_t count, float *y);
  using Compare = void (*)(RowOperand a, RowOperand b, int64_t count, uint8_t *y);

  // f32, f16 or bf16 to f32 and back, rounding to nearest even.
  void (*widen)(DType type, const void *from, int64_t count, float *to);
  void (*narrow)(const float *from, int64_t count, DType type, void *to);

  // Null where there is none. At most 4 ulp from the exact value, save that erf and what is made
  // of it are so in relation to 1.
  Unary unary[kNumUnaryKinds];
  Binary binary[kNumBinaryKinds];
  Compare compare[kNumBinaryKinds];

  float (*sum)(const float *x, int64_t count);
  float (*sumSquares)(const float *x, float center, int64_t count); // of x - center
  // NaN where any element is; the infinity of no elements.
  float (*maximum)(const float *x, int64_t count);
  float (*minimum)(const float *x, int64_t count);

  // y = (x - center) * factor * scale + bias; bias may be null.
  void (*normalize)(const float *x, float center, float factor, const float *scale,
                    const float *bias, int64_t count, float *y);
  // y = exp(x - maximum); returns the sum. x <= maximum.
  float (*expMinus)(const float *x, float maximum, int64_t count, float *y);

  // Rotates pairs (a[i], b[i]), or (x[2i], x[2i + 1]), by the angle of cos[i] and sin[i].
  void (*rotateHalves)(const float *a, const float *b, const float *cos, const float *sin,
                       int64_t count, float *ya, float *yb);
  void (*rotatePairs)(const float *x, const float *cos, const float *sin, int64_t count, float *y);
};

const RowOps &rowOps(Isa isa);

// The parts of it (row_unary.cpp, row_binary.cpp, row_reduce.cpp).
void setUnaryOps(Isa isa, RowOps &ops);
void setBinaryOps(Isa isa, RowOps &ops);
void setReduceOps(Isa isa, RowOps &ops);

} // namespace engine::cpu
