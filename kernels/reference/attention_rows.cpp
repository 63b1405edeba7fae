#include "kernels/reference/attention_rows.h"

namespace engine {

llvm::ArrayRef<KernelRow> referenceAttentionRows() {
  using namespace reference;
  static const KernelRow kRows[] = {
      referenceRow<ir::Sdpa, runSdpa>(),
      referenceRow<ir::ApplyRope, runApplyRope>(),
      referenceRow<ir::RopePositions, runRopePositions>(),
      referenceRow<ir::CacheLengths, runCacheLengths>(),
      referenceRow<ir::KvWrite, runKvWrite>(),
      referenceRow<ir::KvEvict, runKvEvict>(),
      referenceRow<ir::KvQuantize, runKvQuantize>(),
      referenceRow<ir::CheckDims, runCheckDims>(),
      referenceRow<ir::CheckLengths, runCheckLengths>(),
  };
  return kRows;
}

} // namespace engine
