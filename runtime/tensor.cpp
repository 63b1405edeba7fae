#include "runtime/engine.h"

#include <cstdlib>

namespace engine {

namespace {

constexpr size_t kAlignment = 64;

// Elements of a shape, or absent where it is negative or its bytes do not fit in memory's address
// range.
std::optional<int64_t> checkedCount(DType dtype, const std::vector<int64_t> &shape) {
  constexpr int64_t kMost = INT64_MAX / 16; // bytes of any element type, rounded up, still fit
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    empty = empty || dim == 0;
    if (!empty && __builtin_mul_overflow(count, dim, &count))
      return std::nullopt;
  }
  if (empty)
    return 0;
  if (dtype == DType::kUndefined || count > kMost)
    return std::nullopt;
  return count;
}

} // namespace

Tensor Tensor::zeros(DType dtype, std::vector<int64_t> shape) {
  const std::optional<int64_t> count = checkedCount(dtype, shape);
  if (!count)
    return {};
  const size_t bytes = static_cast<size_t>(byteSize(dtype, *count));
  // calloc: pages of a large tensor are not touched before they are used.
  void *block = std::calloc(bytes + kAlignment, 1);
  if (!block)
    return {};
  std::shared_ptr<void> owner(block, std::free);
  const auto address = reinterpret_cast<uintptr_t>(block);
  void *data = static_cast<char *>(block) + (kAlignment - address % kAlignment) % kAlignment;
  return adopt(dtype, std::move(shape), data, std::move(owner));
}

Tensor Tensor::borrow(DType dtype, std::vector<int64_t> shape, void *data) {
  return adopt(dtype, std::move(shape), data, nullptr);
}

Tensor Tensor::adopt(DType dtype, std::vector<int64_t> shape, void *data,
                     std::shared_ptr<void> owner) {
  if (!checkedCount(dtype, shape))
    return {};
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.data_ = data;
  tensor.owner_ = std::move(owner);
  return tensor;
}

int64_t Tensor::count() const {
  if (!defined())
    return 0;
  int64_t count = 1;
  for (int64_t dim : shape_)
    count *= dim;
  return count;
}

} // namespace engine
