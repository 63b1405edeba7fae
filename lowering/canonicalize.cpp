#include "lowering/canonicalize.h"

#include "ir/infer.h"
#include "lowering/branches.h"
#include "lowering/inline_if.h"

#include <algorithm>
#include <string_view>

namespace engine::lowering {

using ir::Dim;
using ir::Fact;
using ir::kNoValue;
using ir::Node;
using ir::Op;
using ir::Shape;
using ir::ValueId;
using ir::Values;

// Each round feeds on what the one before made known; real models settle in two or three.
static constexpr int kMaxRounds = 16;

namespace {

// One node on its way into the new graph: operands and their facts are new ones.
struct Rewrite {
  ir::GraphRewriter &rewriter;
  const Node &node;
  const Op op; // the node's, in the new graph's dims
  const Values operands;

  template <class T> const T *as() const { return std::get_if<T>(&op); }

  const Fact &operand(size_t i) const { return rewriter.builder().fact(operands[i]); }
  const Fact &result() const { return rewriter.from().fact(node.results[0]); }
  // The new node that makes an operand, if it is a T.
  template <class T> const Node *producer(size_t i) const {
    const Node *made = rewriter.builder().producer(operands[i]);
    return made && made->as<T>() ? made : nullptr;
  }
  // The node's place is taken by another operator.
  ValueId replace(Op op, llvm::ArrayRef<ValueId> by) const {
    return rewriter.copyAs(node, std::move(op), by).front();
  }
};

// The value that stands for the node's only result, or none where the rule does not apply.
using Rule = ValueId (*)(const Rewrite &);

} // namespace

static Shape operandShape(const Rewrite &r) { return r.operand(0).shape; }

// Dims that only data decides are bound where that data is made: they may be used only where the
// operand depends on it.
static bool boundBy(llvm::ArrayRef<Dim> dims, llvm::ArrayRef<Dim> known) {
  llvm::SmallVector<std::string, 4> symbols, bound;
  for (const Dim &dim : known)
    dim.collectSymbols(bound);
  for (const Dim &dim : dims)
    dim.collectSymbols(symbols);
  return llvm::all_of(symbols, [&](const std::string &symbol) {
    return !std::string_view(symbol).starts_with("@") || llvm::is_contained(bound, symbol);
  });
}

static bool allConstant(llvm::ArrayRef<Dim> dims) {
  return llvm::all_of(dims, [](const Dim &dim) { return dim.isConstant(); });
}

// --- Integers known as dims ----------------------------------------------------------------------

static ValueId replaceByConst(const Rewrite &r, DType type, llvm::ArrayRef<int64_t> dims,
                              llvm::ArrayRef<Dim> contents) {
  llvm::SmallVector<int64_t, 8> values;
  for (const Dim &dim : contents)
    values.push_back(*dim.constant());
  return r.replace(ir::Const{ir::makeIntConst(type, dims, values)}, {});
}

static ValueId dimValuesToConst(const Rewrite &r) {
  const auto *op = r.as<ir::DimValues>();
  if (!op || !allConstant(op->values))
    return kNoValue;
  return replaceByConst(r, op->dtype, op->dims, op->values);
}

// Operators whose results are known but which also check.
static bool isCheck(const Op &op) {
  return std::holds_alternative<ir::CheckDims>(op) || std::holds_alternative<ir::CheckLengths>(op);
}

static ValueId knownContents(const Rewrite &r) {
  const Fact &fact = r.result();
  if (!fact.known || !fact.contents || r.as<ir::Const>() || r.as<ir::DimValues>() || isCheck(r.op))
    return kNoValue;
  ir::Ints dims;
  for (const Dim &dim : fact.shape)
    dims.push_back(*dim.constant());
  if (allConstant(*fact.contents))
    return replaceByConst(r, fact.dtype, dims, *fact.contents);
  const bool fitsDimValues = fact.dtype == DType::kI32 || fact.dtype == DType::kI64;
  if (!fitsDimValues || !boundBy(*fact.contents, {}))
    return kNoValue;
  return r.replace(ir::DimValues{fact.dtype, dims, *fact.contents}, {});
}

// --- Operators whose bounds are operands ---------------------------------------------------------

// The result's shape where the shape operand decides all of it and may be forgotten.
static std::optional<Shape> decidedShape(const Rewrite &r) {
  const Shape &shape = r.result().shape;
  if (!r.result().known || !r.operand(1).contents || !boundBy(shape, operandShape(r)))
    return std::nullopt;
  return shape;
}

static ValueId reshapeTo(const Rewrite &r) {
  if (!r.as<ir::ReshapeTo>())
    return kNoValue;
  const auto shape = decidedShape(r);
  return shape ? r.replace(ir::Reshape{*shape}, {r.operands[0]}) : kNoValue;
}

static ValueId expandTo(const Rewrite &r) {
  if (!r.as<ir::ExpandTo>())
    return kNoValue;
  const auto shape = decidedShape(r);
  return shape ? r.replace(ir::Expand{*shape}, {r.operands[0]}) : kNoValue;
}

static ValueId fillTo(const Rewrite &r) {
  if (!r.as<ir::FillTo>())
    return kNoValue;
  const auto shape = decidedShape(r);
  return shape ? r.replace(ir::Fill{*shape}, {r.operands[0]}) : kNoValue;
}

// The Slices, one an axis, that a SliceAt with known bounds stands for.
static std::optional<std::vector<ir::Slice>> slicesOf(const Rewrite &r) {
  const ir::SliceAt &op = std::get<ir::SliceAt>(r.op);
  const auto &starts = r.operand(1).contents;
  const auto &ends = r.operand(2).contents;
  llvm::SmallVector<int64_t> steps(op.axes.size(), 1);
  if (r.operands.size() > 3 && r.operands[3].valid()) {
    const auto known = ir::constantContents(r.operand(3));
    if (!known)
      return std::nullopt;
    steps = *known;
  }
  if (!starts || !ends)
    return std::nullopt;
  std::vector<ir::Slice> slices;
  for (size_t i = 0; i < op.axes.size(); ++i) {
    const int rank = r.operand(0).rank();
    const int64_t axis = op.axes[i] < 0 ? op.axes[i] + rank : op.axes[i];
    const Dim &length = r.operand(0).shape[axis];
    const auto range = ir::sliceRange((*starts)[i], (*ends)[i], steps[i], length);
    if (!range || !boundBy({range->start, range->length}, operandShape(r)))
      return std::nullopt;
    const bool whole = range->start.is(0) && range->length == length && steps[i] == 1;
    if (!whole)
      slices.push_back({axis, range->start, range->length, steps[i]});
  }
  return slices;
}

static ValueId sliceAt(const Rewrite &r) {
  if (!r.as<ir::SliceAt>())
    return kNoValue;
  const auto slices = slicesOf(r);
  if (!slices)
    return kNoValue;
  if (slices->empty())
    return r.operands[0];
  ir::GraphBuilder &builder = r.rewriter.builder();
  ValueId value = r.operands[0];
  for (const ir::Slice &slice : llvm::ArrayRef<ir::Slice>(*slices).drop_back()) {
    builder.setOrigin(r.node.name, r.node.onnx);
    value = builder.add1(slice, {value}, "axis" + std::to_string(slice.axis));
  }
  return r.replace(slices->back(), {value});
}

// --- Operators that do nothing -------------------------------------------------------------------

static ValueId firstIf(const Rewrite &r, bool nothing) {
  return nothing ? r.operands[0] : kNoValue;
}

static ValueId sameReshape(const Rewrite &r) {
  const auto *op = r.as<ir::Reshape>();
  return op ? firstIf(r, r.operand(0).known && op->dims == operandShape(r)) : kNoValue;
}

static ValueId sameExpand(const Rewrite &r) {
  if (!r.as<ir::Expand>() || !r.operand(0).known)
    return kNoValue;
  return firstIf(r, r.result().shape == operandShape(r));
}

static ValueId sameCast(const Rewrite &r) {
  const auto *op = r.as<ir::Cast>();
  return op ? firstIf(r, r.operand(0).known && op->to == r.operand(0).dtype) : kNoValue;
}

static ValueId identityTranspose(const Rewrite &r) {
  const auto *op = r.as<ir::Transpose>();
  return op ? firstIf(r, std::is_sorted(op->perm.begin(), op->perm.end())) : kNoValue;
}

static ValueId wholeSlice(const Rewrite &r) {
  const auto *op = r.as<ir::Slice>();
  if (!op || !r.operand(0).known)
    return kNoValue;
  const Shape shape = operandShape(r);
  const int64_t axis = op->axis < 0 ? op->axis + r.operand(0).rank() : op->axis;
  return firstIf(r, op->step == 1 && op->start.is(0) && op->length == shape[axis]);
}

static ValueId singleConcat(const Rewrite &r) {
  return r.as<ir::Concat>() ? firstIf(r, r.operands.size() == 1) : kNoValue;
}

static ValueId singleTile(const Rewrite &r) {
  const auto *op = r.as<ir::Tile>();
  if (!op)
    return kNoValue;
  return firstIf(r, llvm::all_of(op->repeats, [](const Dim &dim) { return dim.is(1); }));
}

static ValueId emptyPad(const Rewrite &r) {
  const auto *op = r.as<ir::Pad>();
  if (!op)
    return kNoValue;
  return firstIf(r, llvm::all_of(op->pads, [](const Dim &dim) { return dim.is(0); }));
}

static ValueId passedCheck(const Rewrite &r) {
  const auto *op = r.as<ir::CheckDims>();
  return op ? firstIf(r, op->actual == op->expected) : kNoValue;
}

// All elements of a small constant are `value`.
static bool isFilledWith(const Fact &fact, double value) {
  if (!fact.constant || isSubByte(fact.dtype) || fact.constant->count() > Fact::kMaxContents)
    return false;
  for (int64_t i = 0; i < fact.constant->count(); ++i) {
    if (fact.constant->floatAt(i) != value)
      return false;
  }
  return true;
}

// x + 0, x - 0, x * 1, x / 1 and their mirror images.
static ValueId neutralOperand(const Rewrite &r) {
  const auto *op = r.as<ir::Binary>();
  if (!op)
    return kNoValue;
  const bool isSum = op->kind == ir::BinaryKind::kAdd || op->kind == ir::BinaryKind::kSub;
  const bool isProduct = op->kind == ir::BinaryKind::kMul || op->kind == ir::BinaryKind::kDiv;
  if (!isSum && !isProduct)
    return kNoValue;
  const bool commutes = op->kind == ir::BinaryKind::kAdd || op->kind == ir::BinaryKind::kMul;
  for (size_t kept : {0, 1}) {
    if (kept == 1 && !commutes)
      continue;
    const Fact &x = r.operand(kept);
    const bool sameShape = x.known && r.result().known && x.shape == r.result().shape;
    if (sameShape && isFilledWith(r.operand(1 - kept), isProduct ? 1 : 0))
      return r.operands[kept];
  }
  return kNoValue;
}

// The branch of a Where whose condition is one constant.
static ValueId decidedWhere(const Rewrite &r) {
  if (!r.as<ir::Where>() || !r.result().known)
    return kNoValue;
  const auto condition = ir::constantContents(r.operand(0));
  if (!condition || condition->empty())
    return kNoValue;
  const bool first = condition->front() != 0;
  for (int64_t value : *condition) {
    if ((value != 0) != first)
      return kNoValue;
  }
  const size_t taken = first ? 1 : 2;
  return r.operand(taken).shape == r.result().shape ? r.operands[taken] : kNoValue;
}

// --- Pairs ---------------------------------------------------------------------------------------

static ValueId mergeReshapes(const Rewrite &r) {
  const auto *op = r.as<ir::Reshape>();
  const Node *before = op ? r.producer<ir::Reshape>(0) : nullptr;
  if (!before)
    return kNoValue;
  const ValueId x = before->operands[0];
  if (!boundBy(op->dims, r.rewriter.builder().fact(x).shape))
    return kNoValue;
  return r.replace(*op, {x});
}

static ValueId mergeTransposes(const Rewrite &r) {
  const auto *op = r.as<ir::Transpose>();
  const Node *before = op ? r.producer<ir::Transpose>(0) : nullptr;
  if (!before)
    return kNoValue;
  const ir::Ints first = before->as<ir::Transpose>()->perm;
  ir::Transpose merged;
  for (int64_t axis : op->perm)
    merged.perm.push_back(first[axis]);
  return r.replace(merged, {before->operands[0]});
}

// x * sigmoid(x)
static ValueId silu(const Rewrite &r) {
  const auto *op = r.as<ir::Binary>();
  if (!op || op->kind != ir::BinaryKind::kMul)
    return kNoValue;
  for (size_t i : {0, 1}) {
    const Node *gate = r.producer<ir::Unary>(i);
    const bool isSigmoid = gate && gate->as<ir::Unary>()->kind == ir::UnaryKind::kSigmoid;
    if (isSigmoid && gate->operands[0] == r.operands[1 - i])
      return r.replace(ir::Unary{ir::UnaryKind::kSilu}, {r.operands[1 - i]});
  }
  return kNoValue;
}

// --- The pass ------------------------------------------------------------------------------------

// Where several fit, the first wins: dims before views, nothing before something.
static constexpr Rule kRules[] = {
    dimValuesToConst, knownContents, reshapeTo,     expandTo,        fillTo,
    sliceAt,          sameReshape,   sameExpand,    sameCast,        identityTranspose,
    wholeSlice,       singleConcat,  singleTile,    emptyPad,        passedCheck,
    neutralOperand,   decidedWhere,  mergeReshapes, mergeTransposes, silu,
};

static bool applyRules(ir::GraphRewriter &rewriter, const Node &node) {
  if (node.results.size() != 1 || !node.results[0].valid())
    return false;
  const Rewrite rewrite{rewriter, node, rewriter.current(node.op), rewriter[node.operands]};
  for (Rule rule : kRules) {
    const ValueId value = rule(rewrite);
    if (!value.valid())
      continue;
    rewriter.map(node.results[0], value);
    return true;
  }
  return false;
}

static ir::Graph runRound(const ir::Graph &graph, bool enterBranches, bool &changed) {
  ir::GraphRewriter rewriter(graph);
  for (const Node &node : graph.nodes()) {
    if (!node.as<ir::If>()) {
      if (applyRules(rewriter, node))
        changed = true;
      else
        rewriter.copy(node);
      continue;
    }
    if (inlineIf(rewriter, node))
      changed = true;
    else if (enterBranches)
      rewriter.copyAs(node, withBranches(node.op, canonicalize, &changed), rewriter[node.operands]);
    else
      rewriter.copy(node);
  }
  return rewriter.finish();
}

ir::Graph canonicalize(const ir::Graph &graph) {
  bool changed = false;
  ir::Graph result = runRound(graph, true, changed);
  for (int round = 1; changed && round < kMaxRounds; ++round) {
    changed = false;
    result = runRound(result, false, changed);
  }
  return result;
}

} // namespace engine::lowering
