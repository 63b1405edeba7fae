#include "lowering/norm_patterns.h"

#include "lowering/branches.h"
#include "lowering/match.h"

#include <cmath>

namespace engine::lowering {

using ir::BinaryKind;
using ir::kNoValue;
using ir::Node;
using ir::UnaryKind;
using ir::ValueId;

namespace {

struct Norm {
  ValueId x;
  double epsilon;
};

class NormFinder {
public:
  explicit NormFinder(const Matcher &matcher) : m_(matcher) {}

  // The norm that `id` is, without a weight.
  std::optional<Norm> normalized(ValueId id) const {
    if (m_.fact(id).dtype != DType::kF32 || m_.fact(id).rank() == 0)
      return std::nullopt;
    if (const Node *quotient = m_.binary(id, BinaryKind::kDiv))
      return overRoot(quotient->operands[0], quotient->operands[1]);
    const Node *product = m_.binary(id, BinaryKind::kMul);
    if (!product)
      return std::nullopt;
    for (size_t i : {0, 1}) {
      const ValueId root = reciprocalOf(product->operands[1 - i]);
      if (!root.valid())
        continue;
      if (const auto norm = overRoot(product->operands[i], root))
        return norm;
    }
    return std::nullopt;
  }

  // One row of weights, or a single one.
  bool isWeight(ValueId id) const {
    const ir::Fact &fact = m_.fact(id);
    const bool fits =
        fact.dtype == DType::kF32 || fact.dtype == DType::kF16 || fact.dtype == DType::kBF16;
    return fits && fact.rank() <= 1;
  }

private:
  // y of 1 / y.
  ValueId reciprocalOf(ValueId id) const {
    if (const Node *node = m_.unary(id, UnaryKind::kReciprocal))
      return node->operands[0];
    const Node *node = m_.binary(id, BinaryKind::kDiv);
    return node && m_.splat(node->operands[0]) == 1.0 ? node->operands[1] : kNoValue;
  }

  // x / sqrt(mean(x * x) + epsilon)
  std::optional<Norm> overRoot(ValueId x, ValueId root) const {
    const Node *sqrt = m_.unary(root, UnaryKind::kSqrt);
    const Node *sum = sqrt ? m_.binary(sqrt->operands[0], BinaryKind::kAdd) : nullptr;
    if (!sum)
      return std::nullopt;
    for (size_t i : {0, 1}) {
      const std::optional<double> epsilon = m_.splat(sum->operands[1 - i]);
      const bool keeps = m_.shape(sum->operands[i]) == m_.shape(sum->results[0]);
      if (epsilon && *epsilon >= 0 && std::isfinite(*epsilon) && keeps &&
          isMeanOfSquares(sum->operands[i], x))
        return Norm{beforeCast(x), *epsilon};
    }
    return std::nullopt;
  }

  bool isMeanOfSquares(ValueId mean, ValueId x) const {
    const Node *node = m_.producer<ir::Reduce>(mean);
    if (!node)
      return false;
    const auto &op = *node->as<ir::Reduce>();
    const int64_t last = m_.fact(x).rank() - 1;
    return op.kind == ir::ReduceKind::kMean && op.keepDims && op.axes == ir::Ints{last} &&
           isSquare(node->operands[0], x);
  }

  bool isSquare(ValueId square, ValueId x) const {
    if (const Node *power = m_.binary(square, BinaryKind::kPow))
      return power->operands[0] == x && m_.splat(power->operands[1]) == 2.0 &&
             m_.shape(square) == m_.shape(x);
    const Node *product = m_.binary(square, BinaryKind::kMul);
    return product && product->operands[0] == x && product->operands[1] == x;
  }

  // RmsNorm itself computes in f32.
  ValueId beforeCast(ValueId x) const {
    const Node *cast = m_.producer<ir::Cast>(x);
    const DType from = cast ? m_.fact(cast->operands[0]).dtype : DType::kUndefined;
    return from == DType::kF16 || from == DType::kBF16 ? cast->operands[0] : x;
  }

  const Matcher &m_;
};

class NormRecognizer {
public:
  explicit NormRecognizer(const ir::Graph &graph)
      : graph_(graph), matcher_(graph), finder_(matcher_), rewriter_(graph) {}

  ir::Graph run() {
    for (const Node &node : graph_.nodes()) {
      if (node.as<ir::If>())
        rewriter_.copyAs(node, withBranches(node.op, recognizeNorms), rewriter_[node.operands]);
      else if (!node.as<ir::Binary>() || (!weighted(node) && !plain(node)))
        rewriter_.copy(node);
    }
    return rewriter_.finish();
  }

private:
  bool weighted(const Node &node) {
    if (node.as<ir::Binary>()->kind != BinaryKind::kMul)
      return false;
    for (size_t i : {0, 1}) {
      const ValueId weight = node.operands[1 - i];
      ValueId inner = node.operands[i];
      const bool fits = finder_.isWeight(weight) && matcher_.uses(inner) == 1 &&
                        matcher_.shape(inner) == matcher_.shape(node.results[0]);
      if (!fits)
        continue;
      // f16: the norm is rounded before it meets the weight.
      if (const Node *cast = matcher_.producer<ir::Cast>(inner))
        inner = matcher_.uses(cast->operands[0]) == 1 ? cast->operands[0] : inner;
      if (const auto norm = finder_.normalized(inner)) {
        replace(node, *norm, rewriter_[weight]);
        return true;
      }
    }
    return false;
  }

  bool plain(const Node &node) {
    const auto norm = finder_.normalized(node.results[0]);
    if (!norm)
      return false;
    rewriter_.builder().setOrigin(node.name, node.onnx);
    const ir::ConstRef one = ir::makeFloatConst(DType::kF32, {1}, {1.0});
    replace(node, *norm, rewriter_.builder().constant(one, "weight"));
    return true;
  }

  void replace(const Node &node, const Norm &norm, ValueId weight) {
    const int64_t axis = matcher_.fact(norm.x).rank() - 1;
    rewriter_.copyAs(node, ir::RmsNorm{axis, static_cast<float>(norm.epsilon)},
                     {rewriter_[norm.x], weight});
  }

  const ir::Graph &graph_;
  const Matcher matcher_;
  const NormFinder finder_;
  ir::GraphRewriter rewriter_;
};

} // namespace

ir::Graph recognizeNorms(const ir::Graph &graph) { return NormRecognizer(graph).run(); }

} // namespace engine::lowering
