// Root mean square norms that exporters spell out.
#pragma once

#include "ir/graph.h"

namespace engine::lowering {

// x / sqrt(mean(x^2) + epsilon), computed in f32 over the last axis, becomes RmsNorm, with the
// Casts around it and the weight behind it where those are of one row. It differs by rounding only:
// an f16 model rounds once, after the weight.
ir::Graph recognizeNorms(const ir::Graph &graph);

} // namespace engine::lowering
