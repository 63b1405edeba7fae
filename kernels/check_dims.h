// The rule of ir::CheckDims on run-time values: a view of its operand for every backend, so no
// kernel of its own.
#pragma once

#include "kernels/kernel.h"

namespace engine {

// Throws Error at the operator's item.
void checkDims(const ir::CheckDims &op, const ir::SymbolValues &symbols);

} // namespace engine
