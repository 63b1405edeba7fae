// An If whose condition is known is the graph that runs.
#pragma once

#include "ir/graph.h"

namespace engine::lowering {

// Maps the results of `node`, an If, to those of the branch, copied into the rewritten graph.
// False, and nothing is done, where the condition is not constant or a dim in the branch has no
// meaning outside of it.
bool inlineIf(ir::GraphRewriter &rewriter, const ir::Node &node);

} // namespace engine::lowering
