// What patterns ask of a graph: who makes a value, who reads it, which constant it repeats.
#pragma once

#include "ir/graph.h"

#include <optional>

namespace engine::lowering {

class Matcher {
public:
  explicit Matcher(const ir::Graph &graph);

  const ir::Graph &graph() const { return graph_; }
  const ir::Fact &fact(ir::ValueId id) const { return graph_.fact(id); }
  const ir::Shape &shape(ir::ValueId id) const { return graph_.fact(id).shape; }

  // The node that makes a value, if its operator is a T.
  template <class T> const ir::Node *producer(ir::ValueId id) const {
    const ir::Node *node = id.valid() ? graph_.producer(id) : nullptr;
    return node && node->as<T>() ? node : nullptr;
  }
  const ir::Node *unary(ir::ValueId id, ir::UnaryKind kind) const;
  const ir::Node *binary(ir::ValueId id, ir::BinaryKind kind) const;

  // Operands that read a value, and graph outputs that are it.
  size_t uses(ir::ValueId id) const { return uses_[id.index]; }

  // The number that every element of a value is, where constants alone decide it.
  std::optional<double> splat(ir::ValueId id) const;

private:
  const ir::Graph &graph_;
  std::vector<uint32_t> uses_;
};

} // namespace engine::lowering
