// One spelling for what exporters write in many: shape arithmetic becomes dims, operators that do
// nothing vanish.
#pragma once

#include "ir/graph.h"

namespace engine::lowering {

// Names of graph outputs stay; an output may become a graph input or a constant. Graphs of an If
// are done too.
ir::Graph canonicalize(const ir::Graph &graph);

} // namespace engine::lowering
