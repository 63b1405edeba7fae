// What the reference kernels are written with: views as lists of rows, and elements of every type
// as one of three types to compute in. All floats compute in f64, so that a result is rounded once,
// when it is stored; signed integers in int64_t, unsigned ones and bool in uint64_t, where storing
// keeps the low bits.
#pragma once

#include "ir/error.h"
#include "kernels/kernel.h"
#include "kernels/reference/rows.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace engine::reference {

using Index = llvm::SmallVector<int64_t, kMaxRank>;

// --- Views ---------------------------------------------------------------------------------------

llvm::ArrayRef<int64_t> dimsOf(const View &view);
// The view at one index of an axis, without that axis.
View select(View view, int axis, int64_t index);
// [start, start + length) of an axis; step may be negative.
View sliced(View view, int axis, int64_t start, int64_t length, int64_t step = 1);
View permuted(const View &view, llvm::ArrayRef<int64_t> perm);
// numpy.broadcast_to: new and stretched axes have stride 0. Throws Error where dims do not fit.
View broadcastTo(const View &view, llvm::ArrayRef<int64_t> dims);
// Row-major views only: the same elements with other dims. Throws Error where their number differs.
View reshaped(const View &dense, llvm::ArrayRef<int64_t> dims);
// The axis, counted from the front. Throws Error if it is out of range.
int normalAxis(int64_t axis, int rank);

// Calls f with the views' parts at each index of their first `outerRank` axes, which must agree.
void forEachInner(llvm::ArrayRef<View> views, int outerRank,
                  llvm::function_ref<void(llvm::ArrayRef<View>)> f);

// --- Rows of elements ----------------------------------------------------------------------------

// `count` elements of a view, `stride` elements apart, the first `offset` elements behind `data`.
struct Row {
  void *data = nullptr;
  DType dtype = DType::kUndefined;
  int64_t offset = 0, stride = 1, count = 0;
};

inline constexpr int64_t kMaxRow = 1024;

// Cuts views of the same dims into rows of at most kMaxRow elements, in row-major order. Axes that
// lie dense in all views are merged first.
void forEachRow(llvm::ArrayRef<View> views, llvm::function_ref<void(llvm::ArrayRef<Row>)> f);

// C is double, int64_t or uint64_t. Floats to integers truncate, saturating at 64 bits, NaN gives
// 0; to bool: not zero.
template <class C> void load(const Row &row, C *out);
template <class C> void store(const Row &row, const C *values);

// All elements, row-major. Short lists (one entry a batch entry) need no heap.
template <class C> using Elements = llvm::SmallVector<C, 8>;
template <class C> Elements<C> loadAll(const View &view);
template <class C> void storeAll(const View &view, llvm::ArrayRef<C> values);
template <class C> C loadScalar(const View &view); // the first element
inline int64_t intScalar(const View &view) { return loadScalar<int64_t>(view); }

template <class C> struct Compute { using type = C; };

// f(Compute<C>()) with the type that elements of `dtype` compute in.
template <class F> void withCompute(DType dtype, F f) {
  if (isFloat(dtype))
    return f(Compute<double>());
  if (isInteger(dtype) && dtypeInfo(dtype).isSigned)
    return f(Compute<int64_t>());
  f(Compute<uint64_t>());
}

// Sums and products; those of integers wrap.
template <class C> C plus(C a, C b) {
  if constexpr (std::is_same_v<C, double>)
    return a + b;
  else
    return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class C> C times(C a, C b) {
  if constexpr (std::is_same_v<C, double>)
    return a * b;
  else
    return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// --- Faults of the data --------------------------------------------------------------------------

// "index 7 is out of range [-5, 5)", at the operand. A negative index counts from the end.
int64_t checkedIndex(int64_t index, int64_t size, llvm::StringRef operand);

// What inference could not compare, before anything is read: the executor's dims come from the
// data.
void requireCount(const View &view, int64_t count, llvm::StringRef operand);
void requireDim(const View &view, int axis, int64_t expected, llvm::StringRef operand);

} // namespace engine::reference
