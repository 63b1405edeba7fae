#include "kernels/cpu/convert.h"

#include "ir/half.h"

namespace engine::cpu {

namespace {

template <class T, class Convert>
void load(const void *data, int64_t offset, int64_t stride, float *to, int64_t count,
          Convert convert) {
  const T *from = static_cast<const T *>(data) + offset;
  for (int64_t i = 0; i < count; ++i)
    to[i] = convert(from[i * stride]);
}

template <class T, class Convert>
void store(const float *from, int64_t count, void *data, int64_t offset, int64_t stride,
           Convert convert) {
  T *to = static_cast<T *>(data) + offset;
  for (int64_t i = 0; i < count; ++i)
    to[i * stride] = convert(from[i]);
}

float same(float value) { return value; }

} // namespace

void toFloat(DType dtype, const void *data, int64_t offset, int64_t stride, float *to,
             int64_t count) {
  if (dtype == DType::kF16)
    load<uint16_t>(data, offset, stride, to, count, halfToFloat);
  else if (dtype == DType::kBF16)
    load<uint16_t>(data, offset, stride, to, count, bfloat16ToFloat);
  else
    load<float>(data, offset, stride, to, count, same);
}

void fromFloat(const float *from, int64_t count, DType dtype, void *data, int64_t offset,
               int64_t stride) {
  if (dtype == DType::kF16)
    store<uint16_t>(from, count, data, offset, stride, floatToHalf);
  else if (dtype == DType::kBF16)
    store<uint16_t>(from, count, data, offset, stride, floatToBFloat16);
  else
    store<float>(from, count, data, offset, stride, same);
}

} // namespace engine::cpu
