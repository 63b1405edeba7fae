// Rows of f16 and bf16 to f32 and back.
#pragma once

#include "ir/dtype.h"

#include <cstdint>

namespace engine::cpu {

// `count` elements of `dtype` (f32, f16, bf16), from element `offset` on, `stride` apart, to dense
// f32.
void toFloat(DType dtype, const void *data, int64_t offset, int64_t stride, float *to,
             int64_t count);
// The reverse, rounding to nearest even.
void fromFloat(const float *from, int64_t count, DType dtype, void *data, int64_t offset,
               int64_t stride);

} // namespace engine::cpu
