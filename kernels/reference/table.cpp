#include "kernels/reference/rows.h"

namespace engine {

llvm::ArrayRef<KernelRow> referenceRows() {
  static const std::vector<KernelRow> kRows = [] {
    std::vector<KernelRow> rows;
    for (llvm::ArrayRef<KernelRow> part :
         {referenceElementwiseRows(), referenceMatmulRows(), referenceLayoutRows(),
          referenceIndexRows(), referenceReduceRows(), referenceNormRows(), referenceQuantRows(),
          referenceAttentionRows()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return kRows;
}

} // namespace engine
