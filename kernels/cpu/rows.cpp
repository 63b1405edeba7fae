#include "kernels/cpu/rows.h"

namespace engine {

llvm::ArrayRef<KernelRow> cpuRows() {
  static const std::vector<KernelRow> rows = [] {
    std::vector<KernelRow> all;
    for (llvm::ArrayRef<KernelRow> part :
         {cpu::gemvRows(), cpu::matmulRows(), cpu::sdpaRows(), cpu::normRows(),
          cpu::pointwiseRows(), cpu::quantRows(), cpu::ropeRows()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

} // namespace engine
