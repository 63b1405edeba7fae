#include "lowering/match.h"

namespace engine::lowering {

using ir::Node;
using ir::ValueId;

Matcher::Matcher(const ir::Graph &graph) : graph_(graph), uses_(graph.numValues()) {
  for (const Node &node : graph.nodes())
    for (ValueId operand : node.operands)
      if (operand.valid())
        ++uses_[operand.index];
  for (ValueId output : graph.outputs())
    ++uses_[output.index];
}

const Node *Matcher::unary(ValueId id, ir::UnaryKind kind) const {
  const Node *node = producer<ir::Unary>(id);
  return node && node->as<ir::Unary>()->kind == kind ? node : nullptr;
}

const Node *Matcher::binary(ValueId id, ir::BinaryKind kind) const {
  const Node *node = producer<ir::Binary>(id);
  return node && node->as<ir::Binary>()->kind == kind ? node : nullptr;
}

static bool isLayout(const Node &node) {
  return node.as<ir::Reshape>() || node.as<ir::Expand>() || node.as<ir::Fill>() ||
         node.as<ir::Transpose>();
}

static std::optional<double> repeated(const ir::ConstData &data) {
  const int64_t count = data.count();
  if (count == 0 || count > ir::Fact::kMaxContents || isSubByte(data.dtype))
    return std::nullopt;
  const double first = data.floatAt(0);
  for (int64_t i = 1; i < count; ++i)
    if (data.floatAt(i) != first)
      return std::nullopt;
  return first;
}

std::optional<double> Matcher::splat(ValueId id) const {
  const Node *node = id.valid() ? graph_.producer(id) : nullptr;
  while (node && isLayout(*node))
    node = graph_.producer(node->operands[0]);
  const auto *constant = node ? node->as<ir::Const>() : nullptr;
  return constant ? repeated(*constant->data) : std::nullopt;
}

} // namespace engine::lowering
