// Passes inside the graphs of an If.
#pragma once

#include "ir/graph.h"

namespace engine::lowering {

// The operator, its graphs, if it has any, replaced by what `pass` makes of them. `changed` is set
// where a graph differs.
template <class Pass> ir::Op withBranches(const ir::Op &op, Pass pass, bool *changed = nullptr) {
  const auto *branch = std::get_if<ir::If>(&op);
  if (!branch)
    return op;
  ir::If result = *branch;
  for (ir::GraphRef *graph : {&result.thenGraph, &result.elseGraph}) {
    ir::Graph made = pass(**graph);
    if (ir::equal(made, **graph))
      continue;
    *graph = std::make_shared<const ir::Graph>(std::move(made));
    if (changed)
      *changed = true;
  }
  return result;
}

} // namespace engine::lowering
