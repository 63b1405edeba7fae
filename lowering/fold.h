// Operators on constants are evaluated once, when the model is loaded.
#pragma once

#include "ir/graph.h"

#include <functional>

namespace engine::lowering {

// Results of a node whose operands are these constants (null: absent); throws Error where the node
// would.
using Evaluator =
    std::function<std::vector<ir::ConstRef>(const ir::Node &, llvm::ArrayRef<ir::ConstRef>)>;

ir::Graph foldConstants(const ir::Graph &graph, const Evaluator &evaluate);

} // namespace engine::lowering
