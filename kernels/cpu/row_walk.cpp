#include "kernels/cpu/row_walk.h"

#include "kernels/cpu/convert.h"

namespace engine::cpu {

RowWalk::RowWalk(llvm::ArrayRef<View> views) : views_(views.size()) {
  for (size_t i = 0; i < views_; ++i) {
    sizes_[i] = dtypeInfo(views[i].dtype).bits / 8;
    data_[i] = static_cast<char *>(views[i].data);
  }
  const View &shape = views.front();
  count_ = shape.count();
  for (int axis = 0; axis < shape.rank; ++axis) {
    const int64_t dim = shape.dims[axis];
    if (dim == 1)
      continue;
    const auto continues = [&](const View &view) {
      return strides_[rank_ - 1][&view - views.data()] == view.strides[axis] * dim;
    };
    const bool merges = rank_ > 0 && std::all_of(views.begin(), views.end(), continues);
    if (!merges)
      dims_[rank_++] = 1;
    dims_[rank_ - 1] *= dim;
    for (size_t i = 0; i < views_; ++i)
      strides_[rank_ - 1][i] = views[i].strides[axis];
  }
  if (rank_ > 0)
    return;
  rank_ = 1;
  dims_[0] = 1;
  std::fill_n(strides_[0], views_, 0);
}

void RowWalk::locate(int64_t element, char **pointers) const {
  int64_t offsets[kMaxViews] = {};
  for (int axis = rank_ - 1; axis > 0; --axis) {
    const int64_t index = element % dims_[axis];
    element /= dims_[axis];
    for (size_t i = 0; i < views_; ++i)
      offsets[i] += index * strides_[axis][i];
  }
  for (size_t i = 0; i < views_; ++i)
    pointers[i] = data_[i] + (offsets[i] + element * strides_[0][i]) * sizes_[i];
}

RowOperand floatOperand(const RowOps &ops, DType type, const void *data, int64_t stride,
                        int64_t count, float *temp) {
  const bool single = stride == 0 && count > 1;
  return {floatRow(ops, type, data, stride, single ? 1 : count, temp), single};
}

const float *floatRow(const RowOps &ops, DType type, const void *data, int64_t stride,
                      int64_t count, float *temp) {
  const bool dense = stride == 1 || count == 1;
  if (dense && type == DType::kF32)
    return static_cast<const float *>(data);
  if (dense)
    ops.widen(type, data, count, temp);
  else
    toFloat(type, data, 0, stride, temp, count);
  return temp;
}

void copyFloatRow(const RowOps &ops, DType type, const void *data, int64_t stride, int64_t count,
                  float *to) {
  const float *floats = floatRow(ops, type, data, stride, count, to);
  if (floats != to)
    std::copy_n(floats, count, to);
}

void storeFloatRow(const RowOps &ops, const float *from, int64_t count, DType type, void *data,
                   int64_t stride) {
  if (stride == 1 || count == 1)
    ops.narrow(from, count, type, data);
  else
    fromFloat(from, count, type, data, 0, stride);
}

View outerAxes(const View &view, int axes) {
  View outer = view;
  outer.rank = axes;
  return outer;
}

std::optional<int64_t> innerStride(const View &view, int axis) {
  std::optional<int64_t> stride;
  int64_t expected = 0;
  for (int i = view.rank - 1; i >= axis; --i) {
    if (view.dims[i] == 1)
      continue;
    if (stride && view.strides[i] != expected)
      return std::nullopt;
    if (!stride)
      stride = view.strides[i];
    expected = view.strides[i] * view.dims[i];
  }
  return stride.value_or(1);
}

int64_t innerCount(const View &view, int axis) {
  int64_t count = 1;
  for (int i = axis; i < view.rank; ++i)
    count *= view.dims[i];
  return count;
}

} // namespace engine::cpu
