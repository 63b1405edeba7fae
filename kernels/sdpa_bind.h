// From an Sdpa node's operands to the problem that attention kernels solve.
#pragma once

#include "kernels/kernel.h"
#include "kernels/sdpa_problem.h"

namespace engine {

// The only place that fills an SdpaProblem. Bias and mask become 4-D with stride 0 on axes that
// broadcast, save the last: columns that they do not have are hidden. Throws Error at the operand,
// with the value, on shapes that do not fit each other and on lengths beyond what the operands
// hold. The problem points into the call's operands.
SdpaProblem makeSdpaProblem(const ir::Sdpa &op, const KernelCall &call);

} // namespace engine
