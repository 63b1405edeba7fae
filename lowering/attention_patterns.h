// Attention that exporters spell out, softmax(scale * Q K^T + mask) V, becomes one Sdpa.
#pragma once

#include "ir/graph.h"

namespace engine::lowering {

// In every Sdpa, found or imported, KV heads that were repeated for the product are read in groups,
// and masks that compare positions become a band. A row of which -inf hides every key gives 0, as
// in all attention here, where Softmax gives NaN.
//
// What does not fit in every part stays: scores that something else reads, a softmax over another
// axis, a scale that is data, a mask that stretches the scores.
ir::Graph recognizeAttention(const ir::Graph &graph);

} // namespace engine::lowering
