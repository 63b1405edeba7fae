// Equal subexpressions are computed once: exporters repeat masks and rotary tables in every layer.
#pragma once

#include "ir/graph.h"

namespace engine::lowering {

// Nodes with equal operators and the same operands merge into the first of them.
ir::Graph eliminateCommonSubexpressions(const ir::Graph &graph);

} // namespace engine::lowering
