// Views of one shape as rows of elements: how the elementwise and row kernels go through memory.
#pragma once

#include "ir/view.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_ops.h"

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <optional>

namespace engine::cpu {

// Cuts views of the same dims into rows along their last axis, row-major, once axes that lie dense
// within each other in all views have become one.
class RowWalk {
public:
  static constexpr size_t kMaxViews = 4;

  explicit RowWalk(llvm::ArrayRef<View> views);

  int64_t count() const { return count_; }
  // Elements from one element of a row to the next.
  int64_t stride(size_t view) const { return strides_[rank_ - 1][view]; }

  // Calls body(pointers, first, length) for pieces of at most `longest` elements of a row, which
  // together are elements [begin, end): `first` is the piece's first, pointers[i] where view i has
  // it.
  template <class Body>
  void run(int64_t begin, int64_t end, int64_t longest, const Body &body) const {
    const int64_t width = dims_[rank_ - 1];
    while (begin < end) {
      const int64_t length = std::min({longest, end - begin, width - begin % width});
      char *pointers[kMaxViews];
      locate(begin, pointers);
      body(pointers, begin, length);
      begin += length;
    }
  }

private:
  void locate(int64_t element, char **pointers) const;

  size_t views_;
  int rank_ = 0; // at least 1
  int64_t count_ = 1;
  int64_t dims_[kMaxRank + 1];
  int64_t strides_[kMaxRank + 1][kMaxViews];
  int64_t sizes_[kMaxViews];
  char *data_[kMaxViews];
};

// All elements, on several threads where each gets `grain` elements or more.
template <class Body>
void runParallel(const RowWalk &walk, int threads, int64_t grain, int64_t longest,
                 const Body &body) {
  const int64_t count = walk.count();
  const int64_t shares = std::clamp<int64_t>(count / grain, 1, threads);
  constexpr int64_t kLine = 64;
  const int64_t share = ((count + shares - 1) / shares + kLine - 1) / kLine * kLine;
  parallelFor(shares, threads, [&](int64_t i) {
    walk.run(std::min(i * share, count), std::min((i + 1) * share, count), longest, body);
  });
}

// Elements that are converted at a time: they stay in the first-level cache.
inline constexpr int64_t kPiece = 1024;

// Elements of f32, f16 or bf16 as f32: in place where they are dense f32, else in `temp`. Without a
// stride they are a single one.
RowOperand floatOperand(const RowOps &ops, DType type, const void *data, int64_t stride,
                        int64_t count, float *temp);
// As above, but always `count` elements.
const float *floatRow(const RowOps &ops, DType type, const void *data, int64_t stride,
                      int64_t count, float *temp);

// The same into `to`, always.
void copyFloatRow(const RowOps &ops, DType type, const void *data, int64_t stride, int64_t count,
                  float *to);
// f32 to elements of f32, f16 or bf16, `stride` apart.
void storeFloatRow(const RowOps &ops, const float *from, int64_t count, DType type, void *data,
                   int64_t stride);

inline bool isRowFloat(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

// The view without its last axes: one element, the first, for each of their rows.
View outerAxes(const View &view, int axes);
// The stride of the last axes, from `axis` on, as one; absent if they are not one.
std::optional<int64_t> innerStride(const View &view, int axis);
int64_t innerCount(const View &view, int axis);

} // namespace engine::cpu
