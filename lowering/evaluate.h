// Runs one node on constants with its reference kernel: what constant folding is made of.
#pragma once

#include "kernels/kernel.h"

namespace engine::lowering {

// Results in order; throws Error as the kernel does.
std::vector<ir::ConstRef> evaluateNode(const ir::Node &node, llvm::ArrayRef<ir::ConstRef> operands);

} // namespace engine::lowering
