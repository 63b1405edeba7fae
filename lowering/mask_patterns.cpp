#include "lowering/mask_patterns.h"

#include "ir/infer.h"

#include <cmath>

namespace engine::lowering {

using ir::BinaryKind;
using ir::Dim;
using ir::Node;
using ir::Shape;
using ir::UnaryKind;
using ir::ValueId;

// --- Positions as functions of an element's place ------------------------------------------------

namespace {

// An integer tensor: the sum over its axes of perAxis[a] * (index along a), plus offset.
struct Linear {
  ir::Ints perAxis;
  Dim offset;
};

using MaybeLinear = std::optional<Linear>;

class Positions {
public:
  explicit Positions(const Matcher &matcher) : matcher_(matcher) {}

  // Absent where the elements are data. A step along an axis of one element is 0.
  MaybeLinear of(ValueId id) const {
    MaybeLinear result = ofProducer(id);
    if (!result)
      return std::nullopt;
    const Shape &shape = matcher_.shape(id);
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis].is(1))
        result->perAxis[axis] = 0;
    return result;
  }

  // As of(), stretched to `shape`.
  MaybeLinear broadcast(ValueId id, llvm::ArrayRef<Dim> shape) const {
    const MaybeLinear own = of(id);
    if (!own || own->perAxis.size() > shape.size())
      return std::nullopt;
    const size_t missing = shape.size() - own->perAxis.size();
    Linear result{ir::Ints(shape.size(), 0), own->offset};
    for (size_t axis = 0; axis < own->perAxis.size(); ++axis) {
      if (own->perAxis[axis] == 0)
        continue;
      if (matcher_.shape(id)[axis] != shape[axis + missing])
        return std::nullopt;
      result.perAxis[axis + missing] = own->perAxis[axis];
    }
    return result;
  }

private:
  MaybeLinear ofProducer(ValueId id) const {
    const ir::Fact &fact = matcher_.fact(id);
    if (!fact.known || !isInteger(fact.dtype))
      return std::nullopt;
    if (fact.contents && fact.contents->size() == 1)
      return Linear{ir::Ints(fact.rank(), 0), fact.contents->front()};
    const Node *node = matcher_.graph().producer(id);
    if (!node)
      return std::nullopt;
    if (node->as<ir::Range>())
      return ofRange(*node);
    if (node->as<ir::Cast>())
      return of(node->operands[0]);
    if (node->as<ir::Reshape>())
      return ofReshape(*node);
    if (node->as<ir::Expand>())
      return broadcast(node->operands[0], fact.shape);
    if (node->as<ir::Slice>())
      return ofSlice(*node);
    if (node->as<ir::Binary>())
      return ofBinary(*node);
    return std::nullopt;
  }

  std::optional<Dim> scalar(ValueId id) const {
    const auto &contents = matcher_.fact(id).contents;
    if (!contents || contents->size() != 1)
      return std::nullopt;
    return contents->front();
  }

  MaybeLinear ofRange(const Node &node) const {
    const std::optional<Dim> start = scalar(node.operands[0]);
    const std::optional<Dim> delta = scalar(node.operands[2]);
    if (!start || !delta || !delta->is(1))
      return std::nullopt;
    return Linear{{1}, *start};
  }

  // Only axes of one element come and go.
  MaybeLinear ofReshape(const Node &node) const {
    const MaybeLinear before = of(node.operands[0]);
    if (!before)
      return std::nullopt;
    const Shape &from = matcher_.shape(node.operands[0]);
    const Shape &to = matcher_.shape(node.results[0]);
    Linear result{ir::Ints(to.size(), 0), before->offset};
    size_t axis = 0;
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i].is(1))
        continue;
      while (axis < to.size() && to[axis].is(1))
        ++axis;
      if (axis == to.size() || to[axis] != from[i])
        return std::nullopt;
      result.perAxis[axis++] = before->perAxis[i];
    }
    for (; axis < to.size(); ++axis)
      if (!to[axis].is(1))
        return std::nullopt;
    return result;
  }

  MaybeLinear ofSlice(const Node &node) const {
    const auto &op = *node.as<ir::Slice>();
    MaybeLinear result = of(node.operands[0]);
    if (!result || op.step != 1 || op.axis < 0)
      return std::nullopt;
    result->offset = result->offset + op.start * Dim(result->perAxis[op.axis]);
    return result;
  }

  MaybeLinear ofBinary(const Node &node) const {
    const BinaryKind kind = node.as<ir::Binary>()->kind;
    if (kind != BinaryKind::kAdd && kind != BinaryKind::kSub)
      return std::nullopt;
    return combine(node, kind == BinaryKind::kAdd ? 1 : -1);
  }

public:
  // a + sign * b of a node with two operands.
  MaybeLinear combine(const Node &node, int sign) const {
    const Shape &shape = matcher_.shape(node.results[0]);
    MaybeLinear a = broadcast(node.operands[0], shape);
    const MaybeLinear b = broadcast(node.operands[1], shape);
    if (!a || !b)
      return std::nullopt;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      a->perAxis[axis] += sign * b->perAxis[axis];
    a->offset = sign > 0 ? a->offset + b->offset : a->offset - b->offset;
    return a;
  }

private:
  const Matcher &matcher_;
};

// A comparison with 0: d < 0, d <= 0, d > 0, d >= 0.
struct Sense {
  bool less;
  bool orEqual;
};

std::optional<Sense> senseOf(BinaryKind kind, bool negated) {
  Sense sense;
  switch (kind) {
  case BinaryKind::kLess:
    sense = {true, false};
    break;
  case BinaryKind::kLessOrEqual:
    sense = {true, true};
    break;
  case BinaryKind::kGreater:
    sense = {false, false};
    break;
  case BinaryKind::kGreaterOrEqual:
    sense = {false, true};
    break;
  default:
    return std::nullopt;
  }
  return negated ? Sense{!sense.less, !sense.orEqual} : sense;
}

class Splitter {
public:
  Splitter(const Matcher &matcher, const Dim &rows, const Dim &columns)
      : matcher_(matcher), rows_(rows), columns_(columns) {}

  // The diagonal that a condition is, if it is one.
  std::optional<Diagonal> diagonal(Condition c) const {
    if (const Node *node = matcher_.producer<ir::Binary>(c.value)) {
      if (const auto compared = comparison(*node, c))
        return compared;
      return triangleAgainstZero(*node, c);
    }
    if (const Node *cast = matcher_.producer<ir::Cast>(c.value))
      return triangle(cast->operands[0], c);
    return triangle(c.value, c);
  }

  // Where `value` is not zero, if it is a triangle of one number.
  std::optional<Diagonal> triangle(ValueId value, Condition source) const {
    const Node *node = matcher_.producer<ir::Trilu>(value);
    if (!node || !spans(matcher_.shape(value)))
      return std::nullopt;
    const std::optional<double> number = matcher_.splat(node->operands[0]);
    if (!number || *number == 0 || std::isnan(*number))
      return std::nullopt;
    const auto &op = *node->as<ir::Trilu>();
    Diagonal kept{!op.upper, op.k, source};
    return source.negated ? complement(kept) : kept;
  }

  void split(Condition c, MaskParts &parts) const {
    if (const Node *node = matcher_.unary(c.value, UnaryKind::kNot))
      return split({node->operands[0], !c.negated}, parts);
    const BinaryKind joins = c.negated ? BinaryKind::kOr : BinaryKind::kAnd;
    if (const Node *node = matcher_.binary(c.value, joins)) {
      split({node->operands[0], c.negated}, parts);
      split({node->operands[1], c.negated}, parts);
      return;
    }
    if (const ValueId inner = unstretched(c.value); inner.valid())
      return split({inner, c.negated}, parts);
    if (matcher_.splat(c.value) == (c.negated ? 0.0 : 1.0))
      return;
    if (const auto found = diagonal(c))
      parts.diagonals.push_back(*found);
    else
      parts.conditions.push_back(c);
  }

  // What broadcasts to the same as `value`: it without an Expand, or without leading axes of one.
  ValueId unstretched(ValueId value) const {
    if (const Node *node = matcher_.producer<ir::Expand>(value))
      return node->operands[0];
    const Node *node = matcher_.producer<ir::Reshape>(value);
    if (!node)
      return ir::kNoValue;
    const bool same =
        withoutOnes(matcher_.shape(value)) == withoutOnes(matcher_.shape(node->operands[0]));
    return same ? node->operands[0] : ir::kNoValue;
  }

  static Diagonal complement(Diagonal d) {
    d.at = d.upper ? d.at + 1 : d.at - 1;
    d.upper = !d.upper;
    return d;
  }

private:
  static llvm::ArrayRef<Dim> withoutOnes(llvm::ArrayRef<Dim> shape) {
    while (!shape.empty() && shape.front().is(1))
      shape = shape.drop_front();
    return shape;
  }

  bool spans(llvm::ArrayRef<Dim> shape) const {
    return shape.size() >= 2 && shape[shape.size() - 2] == rows_ && shape.back() == columns_;
  }

  // With d = c * column + r * row + offset: the diagonal that d < 0 (and so on) is.
  std::optional<Diagonal> comparison(const Node &node, Condition c) const {
    const std::optional<Sense> sense = senseOf(node.as<ir::Binary>()->kind, c.negated);
    if (!sense)
      return std::nullopt;
    const MaybeLinear d = Positions(matcher_).combine(node, -1);
    const Shape &shape = matcher_.shape(node.results[0]);
    if (!d || shape.empty() || shape.back() != columns_)
      return std::nullopt;
    const size_t rank = shape.size();
    for (size_t axis = 0; axis + 2 < rank; ++axis)
      if (d->perAxis[axis] != 0)
        return std::nullopt;
    const int64_t column = d->perAxis[rank - 1];
    const int64_t row = rank < 2 ? 0 : d->perAxis[rank - 2];
    if (column != 1 && column != -1)
      return std::nullopt;
    const bool oneRow = rows_.is(1);
    if (!oneRow && (row != -column || shape[rank - 2] != rows_))
      return std::nullopt;
    // column > 0: column - row + offset below 0 bounds the column from above.
    const Dim at = column > 0 ? -d->offset : d->offset;
    const bool upper = sense->less == (column > 0);
    const Dim strict = upper ? at - 1 : at + 1;
    return Diagonal{upper, sense->orEqual ? at : strict, c};
  }

  // Equal(triangle, 0) holds outside of the triangle.
  std::optional<Diagonal> triangleAgainstZero(const Node &node, Condition c) const {
    if (node.as<ir::Binary>()->kind != BinaryKind::kEqual)
      return std::nullopt;
    for (size_t i : {0, 1}) {
      if (matcher_.splat(node.operands[1 - i]) != 0.0)
        continue;
      if (const auto inside = triangle(node.operands[i], {c.value, false})) {
        Diagonal found = c.negated ? *inside : complement(*inside);
        found.source = c;
        return found;
      }
    }
    return std::nullopt;
  }

  const Matcher &matcher_;
  const Dim &rows_;
  const Dim &columns_;
};

} // namespace

void splitCondition(const Matcher &matcher, Condition condition, const Dim &rows,
                    const Dim &columns, MaskParts &parts) {
  Splitter(matcher, rows, columns).split(condition, parts);
}

// --- Biases of two numbers -----------------------------------------------------------------------

static std::optional<SelectedBias> selectedByWhere(const Matcher &matcher, const Node &node) {
  for (size_t visible : {1, 2}) {
    const std::optional<double> hidden = matcher.splat(node.operands[3 - visible]);
    if (hidden && matcher.splat(node.operands[visible]) == 0.0)
      return SelectedBias{{{node.operands[0], visible == 2}}, {}, *hidden};
  }
  return std::nullopt;
}

// A bool as 0 or 1, times a finite number.
static std::optional<SelectedBias> selectedByProduct(const Matcher &matcher, const Node &node) {
  for (size_t i : {0, 1}) {
    const Node *cast = matcher.producer<ir::Cast>(node.operands[i]);
    const std::optional<double> hidden = matcher.splat(node.operands[1 - i]);
    if (cast && hidden && std::isfinite(*hidden) &&
        matcher.fact(cast->operands[0]).dtype == DType::kBool)
      return SelectedBias{{{cast->operands[0], true}}, {}, *hidden};
  }
  return std::nullopt;
}

std::optional<SelectedBias> selectedBias(const Matcher &matcher, ValueId bias, const Dim &rows,
                                         const Dim &columns) {
  const Splitter splitter(matcher, rows, columns);
  for (;;) {
    if (const ValueId inner = splitter.unstretched(bias); inner.valid()) {
      bias = inner;
      continue;
    }
    // Infinity and 0 are the same in every type; other numbers may not be.
    const Node *cast = matcher.producer<ir::Cast>(bias);
    if (cast && isFloat(matcher.fact(cast->operands[0]).dtype)) {
      const auto before = selectedBias(matcher, cast->operands[0], rows, columns);
      return before && std::isinf(before->hidden) ? before : std::nullopt;
    }
    break;
  }
  if (const Node *node = matcher.producer<ir::Where>(bias))
    return selectedByWhere(matcher, *node);
  if (const Node *node = matcher.binary(bias, BinaryKind::kMul))
    return selectedByProduct(matcher, *node);
  // A triangle of a low number hides itself.
  if (const auto hides = splitter.triangle(bias, {bias, false})) {
    const Node *node = matcher.producer<ir::Trilu>(bias);
    return SelectedBias{{}, {Splitter::complement(*hides)}, *matcher.splat(node->operands[0])};
  }
  return std::nullopt;
}

// --- Bands ---------------------------------------------------------------------------------------

BandAt bandOf(MaskParts &parts) {
  BandAt result;
  std::vector<Diagonal> rest;
  const Diagonal *anchor = nullptr;
  for (const Diagonal &d : parts.diagonals)
    if (!anchor || (d.upper && !anchor->upper))
      anchor = &d;
  if (!anchor)
    return result;
  result.offset = anchor->at;
  for (const Diagonal &d : parts.diagonals) {
    const std::optional<int64_t> distance = (d.at - result.offset).constant();
    if (!distance) {
      parts.conditions.push_back(d.source);
      continue;
    }
    const Band end = d.upper ? Band{Band::kOpen, *distance} : Band{-*distance, Band::kOpen};
    result.band = result.band.intersect(end);
  }
  parts.diagonals.clear();
  return result;
}

bool everyRowSees(const BandAt &at, const Dim &rows, const Dim &columns) {
  // Row 0 reaches column 0 or beyond; so do all after it.
  if (at.band.right != Band::kOpen && (at.offset + at.band.right).bounds({}).min < 0)
    return false;
  if (at.band.left == Band::kOpen)
    return true;
  // The last row's first column exists.
  const Dim last = at.offset + rows - 1 - at.band.left;
  return !at.band.empty() && (columns - 1 - last).bounds({}).min >= 0;
}

} // namespace engine::lowering
