// Constants seen through layout operators: a transposed weight is a strided view of its bytes.
#pragma once

#include "kernels/kernel.h"

namespace engine {

// The value as a view of constant memory, if it is a Const or layout operators over one that
// strides can express. `dtype` and dims are the value's own.
std::optional<View> constantView(const ir::Graph &graph, ir::ValueId value);

} // namespace engine
