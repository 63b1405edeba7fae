#include "lowering/cse.h"

#include "lowering/branches.h"

#include "llvm/ADT/Hashing.h"

#include <bit>
#include <unordered_map>

namespace engine::lowering {

using ir::Node;
using ir::ValueId;
using ir::Values;
using llvm::hash_code;
using llvm::hash_combine;

namespace {

// Equal fields have equal hashes; ir::equal decides.
struct FieldHash {
  hash_code value = 0;

  template <class Field> void operator()(const char *, const Field &field) {
    value = hash_combine(value, of(field));
  }

private:
  static hash_code of(float field) { return llvm::hash_value(std::bit_cast<uint32_t>(field)); }
  static hash_code of(const std::string &field) { return llvm::hash_value(field); }
  static hash_code of(const ir::Dim &field) { return field.hash(); }
  static hash_code of(const Band &field) { return hash_combine(field.left, field.right); }
  static hash_code of(const ir::GraphRef &) { return 0; }
  static hash_code of(const ir::ConstRef &field) {
    // The ends of the data: weights are large and rarely equal.
    constexpr size_t kSample = 256;
    const llvm::StringRef bytes(static_cast<const char *>(field->data), field->bytes);
    return hash_combine(static_cast<int>(field->dtype), field->bytes, bytes.take_front(kSample),
                        bytes.take_back(kSample));
  }
  static hash_code of(const ir::Shape &field) {
    hash_code value = 0;
    for (const ir::Dim &dim : field)
      value = hash_combine(value, dim.hash());
    return value;
  }
  static hash_code of(const ir::Ints &field) {
    return llvm::hash_combine_range(field.begin(), field.end());
  }
  template <class T> static hash_code of(const T &field) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    return llvm::hash_value(static_cast<int64_t>(field));
  }
};

} // namespace

static size_t hashOf(const ir::Op &op, llvm::ArrayRef<ValueId> operands) {
  FieldHash fields;
  std::visit(
      [&](const auto &alternative) {
        std::decay_t<decltype(alternative)>::fields(alternative, fields);
      },
      op);
  hash_code value = hash_combine(op.index(), fields.value);
  for (const ValueId operand : operands)
    value = hash_combine(value, operand.index);
  return value;
}

namespace {

class Elimination {
public:
  explicit Elimination(const ir::Graph &graph) : rewriter_(graph) {}

  ir::Graph run() {
    for (const Node &node : rewriter_.from().nodes()) {
      if (node.as<ir::Unsupported>())
        rewriter_.copy(node);
      else
        visit(node);
    }
    return rewriter_.finish();
  }

private:
  void visit(const Node &node) {
    const Values operands = rewriter_[node.operands];
    const ir::Op op = withBranches(rewriter_.current(node.op), eliminateCommonSubexpressions);
    const size_t hash = hashOf(op, operands);
    const auto range = seen_.equal_range(hash);
    for (auto it = range.first; it != range.second; ++it) {
      const Node &earlier = made()[it->second];
      if (earlier.operands == operands && ir::equal(earlier.op, op) && gives(earlier, node))
        return mapTo(earlier, node);
    }
    rewriter_.copyAs(node, op, operands);
    seen_.emplace(hash, made().size() - 1);
  }

  llvm::ArrayRef<Node> made() { return rewriter_.builder().soFar().nodes(); }

  // Whether an earlier node has every result that `node` has.
  static bool gives(const Node &earlier, const Node &node) {
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i].valid() && !earlier.results[i].valid())
        return false;
    }
    return true;
  }

  void mapTo(const Node &earlier, const Node &node) {
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i].valid())
        rewriter_.map(node.results[i], earlier.results[i]);
    }
  }

  ir::GraphRewriter rewriter_;
  std::unordered_multimap<size_t, size_t> seen_; // node of the new graph by hash
};

} // namespace

ir::Graph eliminateCommonSubexpressions(const ir::Graph &graph) { return Elimination(graph).run(); }

} // namespace engine::lowering
