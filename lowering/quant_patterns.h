// Products with dequantised constants stay products with quantised ones.
#pragma once

#include "ir/graph.h"

namespace engine::lowering {

// MatMul(x, Dequantize(constant)), where a Transpose may stand between, becomes QuantMatMul with the constant repacked into a
// buffer of the same size: 4 and 8 bits, scales in blocks along the depth, for each column, or one. Exact (accuracy level 0).
ir::Graph recognizeQuantProducts(const ir::Graph &graph);

} // namespace engine::lowering
