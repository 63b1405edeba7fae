#include "kernels/reference/support.h"

#include "ir/dims_text.h"
#include "ir/half.h"

#include <array>
#include <cmath>
#include <limits>

namespace engine::reference {

// --- Views ---------------------------------------------------------------------------------------

llvm::ArrayRef<int64_t> dimsOf(const View &view) {
  return {view.dims, static_cast<size_t>(view.rank)};
}

namespace {

// Sub-byte views are moved by whole bytes only; kernels reach their elements through Row::offset.
void advance(View &view, int64_t elements) {
  if (elements == 0)
    return;
  if (isSubByte(view.dtype))
    throw Error(std::string("parts of tensors of ") + dtypeName(view.dtype) + " are not supported");
  view.data = static_cast<char *>(view.data) + elements * (dtypeInfo(view.dtype).bits / 8);
}

void dropAxis(View &view, int axis) {
  for (int i = axis; i + 1 < view.rank; ++i) {
    view.dims[i] = view.dims[i + 1];
    view.strides[i] = view.strides[i + 1];
  }
  --view.rank;
}

} // namespace

View select(View view, int axis, int64_t index) {
  advance(view, index * view.strides[axis]);
  dropAxis(view, axis);
  return view;
}

View sliced(View view, int axis, int64_t start, int64_t length, int64_t step) {
  if (length > 0)
    advance(view, start * view.strides[axis]);
  view.dims[axis] = length;
  view.strides[axis] *= step;
  return view;
}

View permuted(const View &view, llvm::ArrayRef<int64_t> perm) {
  View out = view;
  for (size_t i = 0; i < perm.size(); ++i) {
    out.dims[i] = view.dims[perm[i]];
    out.strides[i] = view.strides[perm[i]];
  }
  return out;
}

View broadcastTo(const View &view, llvm::ArrayRef<int64_t> dims) {
  View out = view;
  out.rank = static_cast<int>(dims.size());
  const int missing = out.rank - view.rank;
  if (missing < 0)
    throw Error("rank " + std::to_string(view.rank) + " does not broadcast to rank " +
                std::to_string(out.rank));
  for (int i = 0; i < out.rank; ++i) {
    out.dims[i] = dims[i];
    const bool stretched = i < missing || view.dims[i - missing] == 1;
    if (!stretched && view.dims[i - missing] != dims[i])
      throw Error("dimension " + std::to_string(view.dims[i - missing]) +
                  " does not broadcast to " + std::to_string(dims[i]));
    out.strides[i] = stretched ? 0 : view.strides[i - missing];
  }
  return out;
}

View reshaped(const View &dense, llvm::ArrayRef<int64_t> dims) {
  const View out = makeView(dense.data, dense.dtype, dims);
  if (out.count() != dense.count())
    throw Error(std::to_string(dense.count()) + " elements, expected " +
                std::to_string(out.count()) + " for dims " + dimsText(dims));
  if (!dense.isDense())
    throw Error::internal("reshaped: a view with gaps");
  return out;
}

int normalAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    throw Error("axis " + std::to_string(axis) + " is out of range for rank " +
                std::to_string(rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void forEachInner(llvm::ArrayRef<View> views, int outerRank,
                  llvm::function_ref<void(llvm::ArrayRef<View>)> f) {
  if (outerRank == 0)
    return f(views);
  for (int64_t i = 0; i < views.front().dims[0]; ++i) {
    llvm::SmallVector<View, 4> parts;
    for (const View &view : views)
      parts.push_back(select(view, 0, i));
    forEachInner(parts, outerRank - 1, f);
  }
}

// --- Rows of elements ----------------------------------------------------------------------------

namespace {

// Whether axis i + 1 continues axis i in every view: then they are one axis.
bool continues(llvm::ArrayRef<View> views, int axis) {
  return llvm::all_of(views, [&](const View &view) {
    return view.strides[axis] == view.strides[axis + 1] * view.dims[axis + 1];
  });
}

void mergeAxes(llvm::MutableArrayRef<View> views) {
  for (int axis = views.front().rank - 1; axis >= 0; --axis) {
    const bool single = views.front().dims[axis] == 1;
    if (!single && (axis + 1 == views.front().rank || !continues(views, axis)))
      continue;
    for (View &view : views) {
      if (!single)
        view.dims[axis + 1] *= view.dims[axis];
      dropAxis(view, axis);
    }
  }
}

void emitRow(llvm::ArrayRef<View> views, llvm::MutableArrayRef<Row> rows,
             llvm::function_ref<void(llvm::ArrayRef<Row>)> f) {
  const int rank = views.front().rank;
  const int64_t length = rank == 0 ? 1 : views.front().dims[rank - 1];
  for (int64_t begin = 0; begin < length; begin += kMaxRow) {
    for (size_t i = 0; i < views.size(); ++i) {
      rows[i].stride = rank == 0 ? 0 : views[i].strides[rank - 1];
      rows[i].count = std::min(kMaxRow, length - begin);
    }
    f(rows);
    for (Row &row : rows)
      row.offset += row.count * row.stride;
  }
}

void walkRows(llvm::ArrayRef<View> views, int axis, llvm::ArrayRef<Row> starts,
              llvm::function_ref<void(llvm::ArrayRef<Row>)> f) {
  llvm::SmallVector<Row, 4> rows(starts.begin(), starts.end());
  if (axis >= views.front().rank - 1)
    return emitRow(views, rows, f);
  for (int64_t i = 0; i < views.front().dims[axis]; ++i) {
    walkRows(views, axis + 1, rows, f);
    for (size_t k = 0; k < views.size(); ++k)
      rows[k].offset += views[k].strides[axis];
  }
}

} // namespace

void forEachRow(llvm::ArrayRef<View> views, llvm::function_ref<void(llvm::ArrayRef<Row>)> f) {
  if (views.front().count() == 0)
    return;
  llvm::SmallVector<View, 4> merged(views.begin(), views.end());
  mergeAxes(merged);
  llvm::SmallVector<Row, 4> starts;
  for (const View &view : merged)
    starts.push_back({view.data, view.dtype, 0, 1, 0});
  walkRows(merged, 0, starts, f);
}

namespace {

// bool as it lies in memory; reading a C++ bool that is neither 0 nor 1 is undefined.
struct Bool {
  uint8_t byte;
};

int64_t truncated(double value) {
  if (std::isnan(value))
    return 0;
  if (value >= 0x1p63)
    return std::numeric_limits<int64_t>::max();
  if (value < -0x1p63)
    return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

// Negative values wrap, as they do on the way to narrower unsigned types.
uint64_t truncatedUnsigned(double value) {
  if (value >= 0x1p64)
    return std::numeric_limits<uint64_t>::max();
  return value >= 0x1p63 ? static_cast<uint64_t>(value) : static_cast<uint64_t>(truncated(value));
}

// To f32 with the last bit set if inexact: rounding that once more, to a narrower type, gives what
// rounding the f64 value gives.
float roundedToOdd(double value) {
  float f = static_cast<float>(value);
  if (std::isnan(f) || static_cast<double>(f) == value)
    return f;
  if (std::abs(static_cast<double>(f)) > std::abs(value))
    f = std::nextafter(f, 0.0f);
  return detail::floatOf(detail::bitsOf(f) | 1u);
}

template <class C> C fromDouble(double value) {
  if constexpr (std::is_same_v<C, double>)
    return value;
  else if constexpr (std::is_same_v<C, int64_t>)
    return truncated(value);
  else
    return truncatedUnsigned(value);
}

template <class C, class T> C toCompute(T value) {
  if constexpr (std::is_same_v<T, Bool>)
    return static_cast<C>(value.byte != 0 ? 1 : 0);
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return fromDouble<C>(static_cast<double>(static_cast<float>(value)));
  else if constexpr (std::is_floating_point_v<T>)
    return fromDouble<C>(static_cast<double>(value));
  else
    return static_cast<C>(value);
}

template <class T, class C> T fromCompute(C value) {
  if constexpr (std::is_same_v<T, Bool>)
    return {static_cast<uint8_t>(value != C(0))};
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(roundedToOdd(static_cast<double>(value)));
  else if constexpr (std::is_floating_point_v<T> || !std::is_same_v<C, double>)
    return static_cast<T>(value);
  else if constexpr (std::is_unsigned_v<T>)
    return static_cast<T>(truncatedUnsigned(value));
  else
    return static_cast<T>(truncated(value));
}

template <class T> struct Stored { using type = T; };

template <class F> void withStored(DType dtype, F f) {
  switch (dtype) {
  case DType::kF32:
    return f(Stored<float>());
  case DType::kF16:
    return f(Stored<Half>());
  case DType::kBF16:
    return f(Stored<BFloat16>());
  case DType::kF64:
    return f(Stored<double>());
  case DType::kI8:
    return f(Stored<int8_t>());
  case DType::kU8:
    return f(Stored<uint8_t>());
  case DType::kI16:
    return f(Stored<int16_t>());
  case DType::kU16:
    return f(Stored<uint16_t>());
  case DType::kI32:
    return f(Stored<int32_t>());
  case DType::kU32:
    return f(Stored<uint32_t>());
  case DType::kI64:
    return f(Stored<int64_t>());
  case DType::kU64:
    return f(Stored<uint64_t>());
  case DType::kBool:
    return f(Stored<Bool>());
  case DType::kI4:
  case DType::kU4:
  case DType::kUndefined:
    break;
  }
  throw Error::internal(std::string("no elements of type ") + dtypeName(dtype));
}

int nibbleShift(int64_t index) { return (index & 1) != 0 ? 4 : 0; }

int64_t loadNibble(const Row &row, int64_t index) {
  const int code = (static_cast<const uint8_t *>(row.data)[index / 2] >> nibbleShift(index)) & 15;
  return row.dtype == DType::kI4 && code >= 8 ? code - 16 : code;
}

void storeNibble(const Row &row, int64_t index, uint64_t value) {
  uint8_t &byte = static_cast<uint8_t *>(row.data)[index / 2];
  const int shift = nibbleShift(index);
  byte = static_cast<uint8_t>((byte & ~(15 << shift)) | ((value & 15) << shift));
}

} // namespace

template <class C> void load(const Row &row, C *out) {
  if (isSubByte(row.dtype)) {
    for (int64_t i = 0; i < row.count; ++i)
      out[i] = static_cast<C>(loadNibble(row, row.offset + i * row.stride));
    return;
  }
  withStored(row.dtype, [&](auto stored) {
    using T = typename decltype(stored)::type;
    const T *in = static_cast<const T *>(row.data) + row.offset;
    for (int64_t i = 0; i < row.count; ++i)
      out[i] = toCompute<C>(in[i * row.stride]);
  });
}

template <class C> void store(const Row &row, const C *values) {
  if (isSubByte(row.dtype)) {
    for (int64_t i = 0; i < row.count; ++i)
      storeNibble(row, row.offset + i * row.stride,
                  static_cast<uint64_t>(fromCompute<int64_t>(values[i])));
    return;
  }
  withStored(row.dtype, [&](auto stored) {
    using T = typename decltype(stored)::type;
    T *out = static_cast<T *>(row.data) + row.offset;
    for (int64_t i = 0; i < row.count; ++i)
      out[i * row.stride] = fromCompute<T>(values[i]);
  });
}

template <class C> Elements<C> loadAll(const View &view) {
  Elements<C> values(view.count());
  C *next = values.data();
  forEachRow(view, [&](llvm::ArrayRef<Row> rows) {
    load(rows[0], next);
    next += rows[0].count;
  });
  return values;
}

template <class C> void storeAll(const View &view, llvm::ArrayRef<C> values) {
  const C *next = values.data();
  forEachRow(view, [&](llvm::ArrayRef<Row> rows) {
    store(rows[0], next);
    next += rows[0].count;
  });
}

template <class C> C loadScalar(const View &view) {
  if (view.count() == 0)
    throw Error("empty, expected one element");
  C value;
  load(Row{view.data, view.dtype, 0, 1, 1}, &value);
  return value;
}

template void load(const Row &, double *);
template void load(const Row &, int64_t *);
template void load(const Row &, uint64_t *);
template void store(const Row &, const double *);
template void store(const Row &, const int64_t *);
template void store(const Row &, const uint64_t *);
template Elements<double> loadAll(const View &);
template Elements<int64_t> loadAll(const View &);
template Elements<uint64_t> loadAll(const View &);
template void storeAll(const View &, llvm::ArrayRef<double>);
template void storeAll(const View &, llvm::ArrayRef<int64_t>);
template void storeAll(const View &, llvm::ArrayRef<uint64_t>);
template double loadScalar(const View &);
template int64_t loadScalar(const View &);
template uint64_t loadScalar(const View &);

// --- Faults of the data --------------------------------------------------------------------------

int64_t checkedIndex(int64_t index, int64_t size, llvm::StringRef operand) {
  if (index < -size || index >= size)
    throw Error("index " + std::to_string(index) + " is out of range [" + std::to_string(-size) +
                ", " + std::to_string(size) + ")")
        .at("operand '" + operand.str() + "'");
  return index < 0 ? index + size : index;
}

static std::string at(llvm::StringRef operand) { return "operand '" + operand.str() + "'"; }

void requireCount(const View &view, int64_t count, llvm::StringRef operand) {
  if (view.count() != count)
    throw Error("found dims " + dimsText(dimsOf(view)) + ", expected " + std::to_string(count) +
                " elements")
        .at(at(operand));
}

void requireDim(const View &view, int axis, int64_t expected, llvm::StringRef operand) {
  if (view.dims[axis] != expected)
    throw Error("found dims " + dimsText(dimsOf(view)) + ", expected " + std::to_string(expected) +
                " at axis " + std::to_string(axis))
        .at(at(operand));
}

} // namespace engine::reference
