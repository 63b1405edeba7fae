// Views: made, reinterpreted by layout operators, copied.
#include "ir/error.h"
#include "kernels/check_dims.h"
#include "kernels/kernel.h"

#include <cstring>

namespace engine {

View makeView(void *data, DType dtype, llvm::ArrayRef<int64_t> dims) {
  if (dims.size() > static_cast<size_t>(kMaxRank))
    throw Error("a tensor of rank " + std::to_string(dims.size()) + ", at most " +
                std::to_string(kMaxRank) + " is supported");
  View view;
  view.data = data;
  view.dtype = dtype;
  view.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), view.dims);
  view.setDenseStrides();
  return view;
}

View viewOf(const ir::ConstData &constant) {
  return makeView(const_cast<void *>(constant.data), constant.dtype, constant.dims);
}

namespace {

using Dims = llvm::SmallVector<int64_t, kMaxRank>;

Dims evaluated(llvm::ArrayRef<ir::Dim> dims, const ir::SymbolValues &symbols) {
  Dims values;
  for (const ir::Dim &dim : dims)
    values.push_back(dim.evaluate(symbols));
  return values;
}

View withData(const View &operand, int64_t offset) {
  View view = operand;
  view.data = static_cast<char *>(operand.data) + offset * (dtypeInfo(operand.dtype).bits / 8);
  return view;
}

// Runs of axes that lie dense within each other: the units that a reshape may cut anew.
struct Run {
  int64_t count, stride; // elements, and the distance between neighbours
};

llvm::SmallVector<Run, kMaxRank> denseRuns(const View &view) {
  llvm::SmallVector<Run, kMaxRank> runs;
  for (int i = 0; i < view.rank; ++i) {
    if (view.dims[i] == 1)
      continue;
    const bool joins = !runs.empty() && runs.back().stride == view.strides[i] * view.dims[i];
    if (joins)
      runs.back() = {runs.back().count * view.dims[i], view.strides[i]};
    else
      runs.push_back({view.dims[i], view.strides[i]});
  }
  return runs;
}

// Strides of `dims` over the runs; absent where an axis would have to span two of them.
std::optional<View> cut(const View &operand, llvm::ArrayRef<int64_t> dims) {
  const auto runs = denseRuns(operand);
  View view = makeView(operand.data, operand.dtype, dims);
  size_t run = runs.size();
  int64_t left = 1, stride = 1; // of the current run, from its end
  for (int i = view.rank - 1; i >= 0; --i) {
    if (dims[i] == 1)
      continue;
    if (left == 1) {
      if (run == 0)
        return std::nullopt;
      --run;
      left = runs[run].count;
      stride = runs[run].stride;
    }
    if (left % dims[i] != 0)
      return std::nullopt;
    view.strides[i] = stride;
    stride *= dims[i];
    left /= dims[i];
  }
  return run == 0 && left == 1 ? std::optional<View>(view) : std::nullopt;
}

std::optional<View> reshapeView(const ir::Reshape &op, const View &operand,
                                const ir::SymbolValues &symbols) {
  const Dims dims = evaluated(op.dims, symbols);
  const View dense = makeView(operand.data, operand.dtype, dims);
  if (dense.count() != operand.count())
    return std::nullopt;
  if (operand.isDense())
    return dense;
  return cut(operand, dims);
}

std::optional<View> transposeView(const ir::Transpose &op, const View &operand) {
  if (isSubByte(operand.dtype))
    return std::nullopt;
  View view = operand;
  for (size_t i = 0; i < op.perm.size(); ++i) {
    view.dims[i] = operand.dims[op.perm[i]];
    view.strides[i] = operand.strides[op.perm[i]];
  }
  return view;
}

// Importers clamp; a graph from elsewhere need not have.
void requireInside(const ir::Slice &op, int64_t start, int64_t length, int64_t size) {
  if (length == 0)
    return;
  int64_t last = 0;
  const bool overflow = __builtin_mul_overflow(length - 1, op.step, &last) ||
                        __builtin_add_overflow(last, start, &last);
  if (overflow || length < 0 || start < 0 || start >= size || last < 0 || last >= size)
    throw Error("a slice of " + std::to_string(length) + " elements from " + std::to_string(start) +
                ", step " + std::to_string(op.step) + ", of an axis of length " +
                std::to_string(size))
        .at("operand 'x'");
}

std::optional<View> sliceView(const ir::Slice &op, const View &operand,
                              const ir::SymbolValues &symbols) {
  if (isSubByte(operand.dtype))
    return std::nullopt;
  const int64_t length = op.length.evaluate(symbols);
  const int64_t start = length == 0 ? 0 : op.start.evaluate(symbols);
  requireInside(op, start, length, operand.dims[op.axis]);
  View view = withData(operand, start * operand.strides[op.axis]);
  view.dims[op.axis] = length;
  view.strides[op.axis] *= op.step;
  return view;
}

// Dims of numpy broadcasting of x against `dims`.
std::optional<View> expandView(const ir::Expand &op, const View &operand,
                               const ir::SymbolValues &symbols) {
  if (isSubByte(operand.dtype))
    return std::nullopt;
  const Dims dims = evaluated(op.dims, symbols);
  const int target = static_cast<int>(dims.size());
  View view = operand;
  view.rank = std::max(operand.rank, target);
  if (view.rank > kMaxRank)
    return std::nullopt;
  for (int i = 0; i < view.rank; ++i) {
    const int own = i - (view.rank - operand.rank), asked = i - (view.rank - target);
    const int64_t have = own < 0 ? 1 : operand.dims[own];
    const int64_t want = asked < 0 ? 1 : dims[asked];
    if (have != 1 && want != 1 && have != want)
      return std::nullopt;
    view.dims[i] = have == 1 ? want : have;
    view.strides[i] = have == 1 ? 0 : operand.strides[own];
  }
  return view;
}

} // namespace

std::optional<View> asView(const ir::Op &op, const View &operand, const ir::SymbolValues &symbols) {
  if (const auto *reshape = std::get_if<ir::Reshape>(&op))
    return reshapeView(*reshape, operand, symbols);
  if (const auto *transpose = std::get_if<ir::Transpose>(&op))
    return transposeView(*transpose, operand);
  if (const auto *slice = std::get_if<ir::Slice>(&op))
    return sliceView(*slice, operand, symbols);
  if (const auto *expand = std::get_if<ir::Expand>(&op))
    return expandView(*expand, operand, symbols);
  if (const auto *check = std::get_if<ir::CheckDims>(&op)) {
    checkDims(*check, symbols);
    return operand;
  }
  return std::nullopt;
}

namespace {

template <class T>
void copyStrided(const char *from, int64_t fromStride, char *to, int64_t toStride, int64_t count) {
  const T *in = reinterpret_cast<const T *>(from);
  T *out = reinterpret_cast<T *>(to);
  for (int64_t i = 0; i < count; ++i)
    out[i * toStride] = in[i * fromStride];
}

// One axis of a copy; sizes are in elements.
struct Axis {
  int64_t count, from, to;
};

class Copy {
public:
  Copy(const View &from, const View &to) : size_(dtypeInfo(from.dtype).bits / 8) {
    for (int i = 0; i < from.rank; ++i)
      if (from.dims[i] != 1)
        addAxis({from.dims[i], from.strides[i], to.strides[i]});
    if (axes_.empty())
      axes_.push_back({1, 1, 1});
  }

  void run(const char *from, char *to, size_t axis = 0) const {
    if (axis + 1 == axes_.size())
      return row(from, to, axes_.back());
    for (int64_t i = 0; i < axes_[axis].count; ++i)
      run(from + i * axes_[axis].from * size_, to + i * axes_[axis].to * size_, axis + 1);
  }

private:
  // Merges an axis into the one before it where both sides lie dense.
  void addAxis(const Axis &axis) {
    if (!axes_.empty() && axes_.back().from == axis.from * axis.count &&
        axes_.back().to == axis.to * axis.count)
      axes_.back() = {axes_.back().count * axis.count, axis.from, axis.to};
    else
      axes_.push_back(axis);
  }

  void row(const char *from, char *to, const Axis &axis) const {
    if (axis.from == 1 && axis.to == 1) {
      std::memcpy(to, from, axis.count * size_);
      return;
    }
    switch (size_) {
    case 1:
      return copyStrided<uint8_t>(from, axis.from, to, axis.to, axis.count);
    case 2:
      return copyStrided<uint16_t>(from, axis.from, to, axis.to, axis.count);
    case 4:
      return copyStrided<uint32_t>(from, axis.from, to, axis.to, axis.count);
    default:
      return copyStrided<uint64_t>(from, axis.from, to, axis.to, axis.count);
    }
  }

  int64_t size_;
  llvm::SmallVector<Axis, kMaxRank> axes_;
};

} // namespace

void copyView(const View &from, const View &to) {
  if (from.dtype != to.dtype || from.rank != to.rank ||
      !std::equal(from.dims, from.dims + from.rank, to.dims))
    throw Error::internal("copy between views of different types or dims");
  if (from.count() == 0)
    return;
  if (from.isDense() && to.isDense()) {
    std::memcpy(to.data, from.data, from.bytes());
    return;
  }
  if (isSubByte(from.dtype))
    throw Error(std::string("rearranging elements of ") + dtypeName(from.dtype) +
                " is not supported");
  Copy(from, to).run(static_cast<const char *>(from.data), static_cast<char *>(to.data));
}

} // namespace engine
