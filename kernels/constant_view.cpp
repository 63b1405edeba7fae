#include "kernels/constant_view.h"

namespace engine {

std::optional<View> constantView(const ir::Graph &graph, ir::ValueId value) {
  if (!value.valid())
    return std::nullopt;
  const ir::Node *node = graph.producer(value);
  if (!node)
    return std::nullopt;
  if (const auto *constant = node->as<ir::Const>())
    return viewOf(*constant->data);
  const bool layout = node->as<ir::Reshape>() || node->as<ir::Transpose>() ||
                      node->as<ir::Slice>() || node->as<ir::Expand>();
  if (!layout)
    return std::nullopt;
  for (const ir::Dim &dim : graph.fact(value).shape)
    if (!dim.isConstant())
      return std::nullopt;
  const std::optional<View> operand = constantView(graph, node->operands[0]);
  if (!operand)
    return std::nullopt;
  return asView(node->op, *operand, ir::SymbolValues());
}

} // namespace engine
