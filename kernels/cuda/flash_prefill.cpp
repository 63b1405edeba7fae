#include "kernels/cuda/flash_prefill.h"

#include "kernels/cuda/flash_prefill_shape.h"

#include <algorithm>

namespace engine::cuda {
namespace {

size_t sharedBytes(int width) {
  switch (width) {
  case 64:
    return PrefillShape<64>::kSharedBytes;
  case 128:
    return PrefillShape<128>::kSharedBytes;
  case 192:
    return PrefillShape<192>::kSharedBytes;
  default:
    return PrefillShape<256>::kSharedBytes;
  }
}

} // namespace

std::string flashPrefillWhyNot(const SdpaProblem &p, const DeviceLimits &device) {
  std::string why = flashWhyNot(p, device);
  if (!why.empty())
    return why;
  for (const View *view : {&p.k, &p.v, &p.kNew, &p.vNew}) {
    if (view->present() && view->dtype != p.q.dtype)
      return "keys and values have the type of the queries, not " +
             std::string(dtypeInfo(view->dtype).name);
  }
  const size_t shared = sharedBytes(flashWidth(p));
  if (shared > device.sharedPerBlock)
    return "its tiles take " + std::to_string(shared) + " bytes of shared memory, the device has " +
           std::to_string(device.sharedPerBlock);
  return "";
}

PrefillPlan planFlashPrefill(const SdpaProblem &p, const DeviceLimits &device) {
  PrefillPlan plan;
  plan.width = flashWidth(p);
  plan.sharedBytes = sharedBytes(plan.width);
  const int64_t tiles = (p.queries() + PrefillShape<64>::kRows - 1) / PrefillShape<64>::kRows;
  plan.blocks = std::min(tiles * p.heads() * p.batch(), device.maxGrid);
  return plan;
}

} // namespace engine::cuda
