#include "lowering/attention_patterns.h"

#include "ir/build_sdpa.h"
#include "ir/infer.h"
#include "lowering/branches.h"
#include "lowering/mask_patterns.h"

#include <algorithm>
#include <cmath>

namespace engine::lowering {

using ir::BinaryKind;
using ir::Dim;
using ir::kNoValue;
using ir::Node;
using ir::Op;
using ir::Shape;
using ir::UnaryKind;
using ir::ValueId;

// A number this low absorbs any score in f32: score + kAbsorbs == kAbsorbs.
static constexpr double kAbsorbs = -1e30;
// A number this low leaves no weight beside an ordinary score, in any type.
static constexpr double kNoWeight = -6e4;

namespace {

// transpose(reshape(base, dims), perm): a tensor as a pattern reads it. `dims` may be base's own;
// no perm: as it is.
struct Arranged {
  ValueId base;
  Shape dims;
  ir::Ints perm;

  Shape shape() const {
    if (perm.empty())
      return dims;
    Shape result;
    for (int64_t axis : perm)
      result.push_back(dims[axis]);
    return result;
  }
};

// score = visible ? score : hidden
struct Selection {
  Condition visible;
  double hidden;
  size_t biasesOutside; // added afterwards
};

// What a pattern found, in values of the old graph.
struct Attention {
  Arranged q, k, v; // [B, N, S, H], [B, K, T, H], [B, K, T, Hv]
  double scale = 1;
  double softcap = 0;
  DType type = DType::kUndefined; // of v and of the result
  std::vector<ValueId> biases;
  std::vector<Selection> selections;
  bool headless = false; // scores were [B, S, T]: biases of rank 3 lack the axis of heads

  Dim rows() const { return q.dims[2]; }
  Dim columns() const { return k.shape()[2]; }
};

bool isComputed(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

bool widens(DType from, DType to) { return dtypeInfo(from).bits < dtypeInfo(to).bits; }

// --- From the product with V up to Q and K -------------------------------------------------------

class PatternFinder {
public:
  explicit PatternFinder(const Matcher &matcher) : m_(matcher) {}

  std::optional<Attention> find(const Node &product) const {
    const ValueId result = product.results[0];
    const Shape &shape = m_.shape(result);
    const bool hasRank = shape.size() == 3 || shape.size() == 4;
    const ValueId weights = product.operands[0], v = product.operands[1];
    if (!hasRank || m_.shape(weights).size() != shape.size() ||
        m_.shape(v).size() != shape.size() || !isComputed(m_.fact(v).dtype))
      return std::nullopt;
    Found found;
    found.attention.type = m_.fact(v).dtype;
    const ValueId logits = softmaxOf(weights, found);
    if (!logits.valid() || !scoresOf(logits, Stage::kTerms, found))
      return std::nullopt;
    return assemble(found, v);
  }

private:
  // Outside in: masks, then what multiplies the capped scores, then what stands inside the cap.
  enum class Stage { kTerms, kOuter, kInner };

  struct Found {
    Attention attention;
    double factor = 1; // of the stage
    Shape lead;        // [B, N], where scores were seen with four axes
    const Node *scores = nullptr;
    int termRank = 0; // of scores that terms join, 0: there are none
    bool cleaned = false;
  };

  bool readOnce(ValueId id) const { return m_.uses(id) == 1; }

  // The operand of the softmax.
  ValueId softmaxOf(ValueId weights, Found &found) const {
    for (;;) {
      if (!noteShape(weights, found))
        return kNoValue;
      if (const Node *cleanup = m_.producer<ir::Where>(weights); cleanup && readOnce(weights)) {
        weights = withoutNan(*cleanup);
        if (!weights.valid())
          return kNoValue;
        found.cleaned = true;
        continue;
      }
      // The cleanup reads the weights twice.
      if (m_.uses(weights) != (found.cleaned ? 2u : 1u))
        return kNoValue;
      found.cleaned = false;
      if (const Node *softmax = m_.producer<ir::Softmax>(weights)) {
        const auto &op = *softmax->as<ir::Softmax>();
        const int64_t last = static_cast<int64_t>(m_.shape(weights).size()) - 1;
        return !op.log && (op.axis == last || op.axis == -1) ? softmax->operands[0] : kNoValue;
      }
      weights = throughCastOrReshape(weights);
      if (!weights.valid())
        return kNoValue;
    }
  }

  // x of Where(IsNaN(x), 0, x).
  ValueId withoutNan(const Node &where) const {
    const Node *isNan = m_.unary(where.operands[0], UnaryKind::kIsNan);
    const ValueId x = where.operands[2];
    const bool fits = isNan && readOnce(where.operands[0]) && isNan->operands[0] == x &&
                      m_.splat(where.operands[1]) == 0.0 &&
                      m_.shape(x) == m_.shape(where.results[0]);
    return fits ? x : kNoValue;
  }

  // The operand of a Cast between floats, or of a Reshape of the axes before the last two.
  ValueId throughCastOrReshape(ValueId id) const {
    if (const Node *cast = m_.producer<ir::Cast>(id)) {
      const ValueId x = cast->operands[0];
      return isComputed(m_.fact(x).dtype) && isComputed(m_.fact(id).dtype) ? x : kNoValue;
    }
    const Node *reshape = m_.producer<ir::Reshape>(id);
    if (!reshape)
      return kNoValue;
    const llvm::ArrayRef<Dim> from = m_.shape(reshape->operands[0]), to = m_.shape(id);
    const bool sameRows =
        from.size() >= 3 && to.size() >= 3 && from.take_back(2) == to.take_back(2);
    return sameRows ? reshape->operands[0] : kNoValue;
  }

  bool noteShape(ValueId id, Found &found) const {
    const llvm::ArrayRef<Dim> shape = m_.shape(id);
    if (shape.size() != 3 && shape.size() != 4)
      return false;
    if (shape.size() == 3)
      return true;
    const Shape lead(shape.take_front(2).begin(), shape.take_front(2).end());
    if (found.lead.empty())
      found.lead = lead;
    return found.lead == lead;
  }

  // Down from `id` to the product of Q and K. `found` holds nothing of use where it fails.
  bool scoresOf(ValueId id, Stage stage, Found &found) const {
    const Node *node = m_.graph().producer(id);
    if (!node || !readOnce(id) || !noteShape(id, found) || !isComputed(m_.fact(id).dtype))
      return false;
    if (node->as<ir::MatMul>()) {
      found.scores = node;
      Attention &a = found.attention;
      a.scale = a.softcap > 0 ? found.factor * a.softcap : found.factor;
      return std::isfinite(a.scale);
    }
    if (node->as<ir::Cast>() || node->as<ir::Reshape>()) {
      const ValueId before = throughCastOrReshape(id);
      // Narrowing between the scores and the softmax can turn a low number into -inf.
      const bool exact = before.valid() && !widens(m_.fact(id).dtype, m_.fact(before).dtype);
      return exact && scoresOf(before, stage, found);
    }
    if (node->as<ir::Where>())
      return stage == Stage::kTerms && selectedScores(*node, found);
    if (m_.unary(id, UnaryKind::kTanh))
      return cappedScores(*node, stage, found);
    const auto *binary = node->as<ir::Binary>();
    if (binary && binary->kind == BinaryKind::kAdd)
      return stage == Stage::kTerms && biasedScores(*node, found);
    if (!binary)
      return false;
    ValueId scaled = id;
    if (!throughFactor(scaled, found.factor))
      return false;
    return scoresOf(scaled, stage == Stage::kTerms ? Stage::kOuter : stage, found);
  }

  bool cappedScores(const Node &tanh, Stage stage, Found &found) const {
    if (stage == Stage::kInner || !(found.factor > 0) || !std::isfinite(found.factor))
      return false;
    found.attention.softcap = found.factor;
    found.factor = 1;
    return scoresOf(tanh.operands[0], Stage::kInner, found);
  }

  // `x` stands for scores in `term`'s result: only the last axis may still be compared at run time,
  // where the product with V decides it.
  bool keepsShape(const Node &term, ValueId x, Found &found) const {
    const llvm::ArrayRef<Dim> from = m_.shape(x), to = m_.shape(term.results[0]);
    if (from.size() != to.size() || from.drop_back() != to.drop_back())
      return false;
    if (from.back() != to.back() && from.back().is(1))
      return false;
    const int rank = static_cast<int>(from.size());
    if (found.termRank != 0 && found.termRank != rank)
      return false;
    found.termRank = rank;
    return true;
  }

  bool biasedScores(const Node &add, Found &found) const {
    for (size_t i : {0, 1}) {
      Found attempt = found;
      attempt.attention.biases.push_back(add.operands[1 - i]);
      if (keepsShape(add, add.operands[i], attempt) &&
          scoresOf(add.operands[i], Stage::kTerms, attempt)) {
        found = attempt;
        return true;
      }
    }
    return false;
  }

  bool selectedScores(const Node &where, Found &found) const {
    for (size_t i : {1, 2}) {
      const std::optional<double> hidden = m_.splat(where.operands[3 - i]);
      if (!hidden || !(*hidden <= kNoWeight) || !keepsShape(where, where.operands[i], found))
        continue;
      Attention &a = found.attention;
      a.selections.push_back({{where.operands[0], i == 2}, *hidden, a.biases.size()});
      return scoresOf(where.operands[i], Stage::kTerms, found);
    }
    return false;
  }

  // x * c, c * x or x / c with a constant of one element: `id` becomes x.
  bool throughFactor(ValueId &id, double &factor) const {
    const Node *node = m_.producer<ir::Binary>(id);
    if (!node)
      return false;
    const BinaryKind kind = node->as<ir::Binary>()->kind;
    if (kind != BinaryKind::kMul && kind != BinaryKind::kDiv)
      return false;
    for (size_t i : {0, 1}) {
      if (i == 1 && kind == BinaryKind::kDiv)
        break;
      const std::optional<double> c = m_.splat(node->operands[1 - i]);
      const ValueId x = node->operands[i];
      if (!c || *c == 0 || !std::isfinite(*c) || m_.shape(x) != m_.shape(id))
        continue;
      factor = kind == BinaryKind::kMul ? factor * *c : factor / *c;
      id = x;
      return true;
    }
    return false;
  }

  // Constant factors and exact casts on Q or K.
  ValueId unscaled(ValueId id, double &scale) const {
    for (;;) {
      if (throughFactor(id, scale))
        continue;
      const Node *cast = m_.producer<ir::Cast>(id);
      if (!cast || !isComputed(m_.fact(cast->operands[0]).dtype) ||
          !widens(m_.fact(cast->operands[0]).dtype, m_.fact(id).dtype))
        return id;
      id = cast->operands[0];
    }
  }

  Arranged asItIs(ValueId id) const { return {id, m_.shape(id), {}}; }

  // K of K^T: the last two axes swapped.
  Arranged keysOf(ValueId transposed, double &scale) const {
    transposed = unscaled(transposed, scale);
    const Shape &shape = m_.shape(transposed);
    const size_t rank = shape.size();
    if (const Node *node = m_.producer<ir::Transpose>(transposed)) {
      Arranged k = asItIs(unscaled(node->operands[0], scale));
      k.perm = node->as<ir::Transpose>()->perm;
      std::swap(k.perm[rank - 2], k.perm[rank - 1]);
      return k;
    }
    if (const auto split = splitAfterTranspose(transposed))
      return *split;
    Arranged k = asItIs(transposed);
    for (size_t axis = 0; axis < rank; ++axis)
      k.perm.push_back(static_cast<int64_t>(axis));
    std::swap(k.perm[rank - 2], k.perm[rank - 1]);
    return k;
  }

  // Leading axes that were merged for a transpose of three.
  std::optional<Arranged> splitAfterTranspose(ValueId id) const {
    const Node *reshape = m_.producer<ir::Reshape>(id);
    const Node *node = reshape ? m_.producer<ir::Transpose>(reshape->operands[0]) : nullptr;
    if (!node || node->as<ir::Transpose>()->perm != ir::Ints{0, 2, 1})
      return std::nullopt;
    const llvm::ArrayRef<Dim> to = m_.shape(id), from = m_.shape(node->results[0]);
    if (to.take_back(2) != from.take_back(2))
      return std::nullopt;
    Arranged k{node->operands[0], Shape(to.begin(), to.end()), {}};
    std::swap(k.dims[to.size() - 2], k.dims[to.size() - 1]);
    return k;
  }

  // [B, N, rows, width] of a tensor with one leading axis.
  static bool lift(Arranged &x, llvm::ArrayRef<Dim> lead) {
    if (x.dims.size() == 4)
      return true;
    if (!x.perm.empty() && x.perm[0] != 0)
      return false;
    Shape dims(lead.begin(), lead.end());
    dims.append(x.dims.begin() + 1, x.dims.end());
    x.dims = dims;
    if (!x.perm.empty())
      x.perm = {0, 1, x.perm[1] + 1, x.perm[2] + 1};
    return true;
  }

  std::optional<Attention> assemble(Found &found, ValueId v) const {
    Attention &a = found.attention;
    const ValueId q = found.scores->operands[0], k = found.scores->operands[1];
    const size_t rank = m_.shape(found.scores->results[0]).size();
    if (m_.shape(q).size() != rank || m_.shape(k).size() != rank)
      return std::nullopt;
    a.q = asItIs(unscaled(q, a.scale));
    a.k = keysOf(k, a.scale);
    a.v = asItIs(v);
    a.headless = found.termRank == 3;
    if (a.headless && !found.lead.empty())
      return std::nullopt;
    if (!liftAll(found))
      return std::nullopt;
    return fits(a) ? std::optional<Attention>(a) : std::nullopt;
  }

  bool liftAll(Found &found) const {
    Attention &a = found.attention;
    const Dim *batch = nullptr;
    for (const Arranged *x : {&a.q, &a.k, &a.v}) {
      if (x->dims.size() != 3)
        continue;
      const Dim &first = x->dims[x->perm.empty() ? 0 : x->perm[0]];
      if (batch && *batch != first)
        return false;
      batch = &first;
    }
    if (!batch)
      return true;
    Shape lead = found.lead.empty() ? Shape{*batch, Dim(1)} : found.lead;
    if (lead[0] * lead[1] != *batch)
      return false;
    return lift(a.q, lead) && lift(a.k, lead) && lift(a.v, lead);
  }

  bool typesFit(const Attention &a) const {
    for (const Arranged *x : {&a.q, &a.k}) {
      const DType type = m_.fact(x->base).dtype;
      if (type != a.type && !(isComputed(type) && widens(type, a.type)))
        return false;
    }
    return true;
  }

  bool fits(const Attention &a) const {
    const Shape q = a.q.shape(), k = a.k.shape(), v = a.v.shape();
    if (q[0] != k[0] || q[3] != k[3] || !typesFit(a) || !std::isfinite(a.scale))
      return false;
    // A single KV head serves all; others are as many as the query's, repeated or not.
    if (q[1] != k[1] && !k[1].is(1))
      return false;
    return k[0] == v[0] && k[1] == v[1] && k[2] == v[2];
  }

  const Matcher &m_;
};

// --- KV heads that were repeated -----------------------------------------------------------------

class HeadFolder {
public:
  explicit HeadFolder(const Matcher &matcher) : m_(matcher) {}

  // The tensor before its heads (axis 1 of four) were repeated one by one, as x[:, :,
  // None].expand().
  std::optional<Arranged> fold(Arranged x) const {
    for (;;) {
      const Node *node = m_.graph().producer(x.base);
      if (!node)
        return std::nullopt;
      const bool own = x.dims == m_.shape(x.base);
      const bool repeats = node->as<ir::Expand>() || node->as<ir::Tile>();
      if (repeats)
        return beforeRepeat(*node, x);
      if (node->as<ir::Reshape>())
        x.base = node->operands[0];
      else if (node->as<ir::Transpose>() && own)
        throughTranspose(*node, x);
      else
        return std::nullopt;
    }
  }

private:
  void throughTranspose(const Node &node, Arranged &x) const {
    const ir::Ints &inner = node.as<ir::Transpose>()->perm;
    ir::Ints perm;
    for (size_t axis = 0; axis < inner.size(); ++axis)
      perm.push_back(inner[x.perm.empty() ? axis : x.perm[axis]]);
    x.base = node.operands[0];
    x.dims = m_.shape(x.base);
    x.perm = perm;
  }

  std::optional<Arranged> beforeRepeat(const Node &node, const Arranged &x) const {
    const ValueId from = node.operands[0];
    const size_t heads = x.perm.empty() ? 1 : x.perm[1];
    const llvm::ArrayRef<Dim> before = m_.shape(from), after = m_.shape(node.results[0]);
    if (before.size() != after.size() || !m_.fact(from).known)
      return std::nullopt;
    // Four axes: one head for all. Five: groups behind the heads.
    const size_t stretched = after.size() == 5 ? heads + 1 : heads;
    if (after.size() != 4 && after.size() != 5)
      return std::nullopt;
    for (size_t axis = 0; axis < after.size(); ++axis)
      if (axis == stretched ? !before[axis].is(1) : before[axis] != after[axis])
        return std::nullopt;
    Shape merged(after.begin(), after.end());
    if (after.size() == 5) {
      merged[heads] = merged[heads] * merged[heads + 1];
      merged.erase(merged.begin() + heads + 1);
    }
    if (merged != x.dims)
      return std::nullopt;
    Arranged result{from, x.dims, x.perm};
    result.dims[heads] = before[heads];
    return result;
  }

  const Matcher &m_;
};

// --- The pass ------------------------------------------------------------------------------------

class Recognizer {
public:
  explicit Recognizer(const ir::Graph &graph)
      : graph_(graph), matcher_(graph), rewriter_(graph), b_(rewriter_.builder()) {}

  ir::Graph run() {
    for (const Node &node : graph_.nodes()) {
      if (node.as<ir::If>())
        rewriter_.copyAs(node, withBranches(node.op, recognizeAttention), rewriter_[node.operands]);
      else if (!product(node) && !imported(node))
        rewriter_.copy(node);
    }
    return rewriter_.finish();
  }

private:
  bool product(const Node &node) {
    if (!node.as<ir::MatMul>())
      return false;
    std::optional<Attention> found = PatternFinder(matcher_).find(node);
    if (!found)
      return false;
    start(found->rows(), found->columns());
    b_.setOrigin(node.name, node.onnx);
    if (!takeTerms(*found))
      return false;
    foldHeads(found->k, found->v);
    emitProduct(node, *found);
    return true;
  }

  void emitProduct(const Node &node, const Attention &found) {
    ir::SdpaParts parts;
    parts.q = typed(emit(found.q, "query"), found.type, "query_cast");
    parts.k = typed(emit(found.k, "key"), found.type, "key_cast");
    parts.v = emit(found.v, "value");
    parts.scale = static_cast<float>(found.scale);
    parts.softcap = static_cast<float>(found.softcap);
    parts.band = band_.band;
    parts.offset = band_.offset;
    parts.mask = withHeads(wide(joined(), "mask"), found.headless, "mask_heads");
    parts.bias = withHeads(wide(summed(), "bias"), found.headless, "bias_heads");

    const ValueId result = node.results[0];
    const bool flat = matcher_.shape(result).size() == 3;
    parts.name = flat ? "" : graph_.value(result).name;
    const ValueId y = ir::buildSdpa(b_, parts).y;
    if (flat)
      rewriter_.copyAs(node, ir::Reshape{matcher_.shape(result)}, {y});
    else
      rewriter_.map(result, y);
  }

  // An Sdpa that an importer built.
  bool imported(const Node &node) {
    const auto *sdpa = node.as<ir::Sdpa>();
    if (!sdpa || node.operand(ir::sdpa::kNew).valid() || node.operand(ir::sdpa::kScale).valid())
      return false;
    ir::Sdpa op = *sdpa;
    Arranged k = asItIs(node.operands[ir::sdpa::k]), v = asItIs(node.operands[ir::sdpa::v]);
    start(matcher_.shape(node.operands[ir::sdpa::q])[2], k.dims[2]);
    b_.setOrigin(node.name, node.onnx);
    const bool folded = foldHeads(k, v);
    const bool banded = takeImportedTerms(node);
    if (!folded && !banded)
      return false;
    ir::Values operands = rewriter_[node.operands];
    if (folded) {
      operands[ir::sdpa::k] = emit(k, "key");
      operands[ir::sdpa::v] = emit(v, "value");
    }
    if (banded) {
      op.band = band_.band;
      op.offset = band_.offset;
      operands.resize(std::max<size_t>(operands.size(), ir::sdpa::mask + 1), kNoValue);
      operands[ir::sdpa::mask] = wide(joined(), "mask");
      operands[ir::sdpa::bias] = wide(summed(), "bias");
    }
    while (!operands.back().valid())
      operands.pop_back();
    rewriter_.copyAs(node, op, operands);
    return true;
  }

  // Where the query's positions are the rows' numbers and nothing else is banded yet, the mask may
  // hold a band.
  bool takeImportedTerms(const Node &node) {
    const ir::Sdpa &op = *node.as<ir::Sdpa>();
    if (!op.band.open() || op.scores != ir::Scores::kNone)
      return false;
    for (size_t i = ir::sdpa::queryStart; i < node.operands.size(); ++i)
      if (node.operands[i].valid())
        return false;
    const ValueId bias = node.operand(ir::sdpa::bias), mask = node.operand(ir::sdpa::mask);
    for (ValueId term : {bias, mask})
      if (term.valid() && matcher_.shape(term).back() != columns_)
        return false;
    MaskParts parts;
    if (mask.valid())
      splitCondition(matcher_, {mask}, rows_, columns_, parts);
    if (bias.valid())
      takeBias(bias, !mask.valid(), parts);
    finishBand(parts);
    return !band_.band.open();
  }

  // --- Masks and biases

  void start(const Dim &rows, const Dim &columns) {
    rows_ = rows;
    columns_ = columns;
    band_ = {};
    conditions_.clear();
    biases_.clear();
  }

  // Sorts masks and biases into band_, conditions_ and biases_; false where one has no place.
  bool takeTerms(const Attention &a) {
    MaskParts parts;
    const bool alone = a.biases.size() + a.selections.size() == 1;
    for (ValueId bias : a.biases)
      takeBias(bias, alone, parts);
    for (const Selection &selection : a.selections)
      if (!takeSelection(a, selection, alone, parts))
        return false;
    finishBand(parts);
    return true;
  }

  void takeBias(ValueId bias, bool alone, MaskParts &parts) {
    if (const auto selected = selectedBias(matcher_, bias, rows_, columns_)) {
      MaskParts own;
      own.diagonals = selected->diagonals;
      for (const Condition &visible : selected->visible)
        splitCondition(matcher_, visible, rows_, columns_, own);
      if (hides(selected->hidden, alone, own))
        return append(parts, own);
    }
    biases_.push_back(rewriter_[bias]);
  }

  bool takeSelection(const Attention &a, const Selection &selection, bool alone, MaskParts &parts) {
    MaskParts own;
    splitCondition(matcher_, selection.visible, rows_, columns_, own);
    if (hides(selection.hidden, alone, own)) {
      append(parts, own);
      return true;
    }
    // As a bias, which is the same where it absorbs the score and nothing was added before.
    if (a.type != DType::kF32 || selection.hidden > kAbsorbs || a.selections.size() != 1 ||
        selection.biasesOutside != a.biases.size())
      return false;
    const ValueId zero = number(0), hidden = number(selection.hidden);
    const bool negated = selection.visible.negated;
    biases_.push_back(b_.add1(
        ir::Where{},
        {rewriter_[selection.visible.value], negated ? hidden : zero, negated ? zero : hidden},
        "hidden"));
    return true;
  }

  // A finite number hides only where it is certain that every row sees something else.
  bool hides(double hidden, bool alone, const MaskParts &own) const {
    if (std::isinf(hidden))
      return hidden < 0;
    if (!(hidden <= kNoWeight) || !alone || !own.conditions.empty() || own.diagonals.empty())
      return false;
    MaskParts probe = own;
    keepBound(probe);
    const BandAt at = bandOf(probe);
    return probe.conditions.empty() && everyRowSees(at, rows_, columns_);
  }

  static void append(MaskParts &to, const MaskParts &from) {
    to.diagonals.insert(to.diagonals.end(), from.diagonals.begin(), from.diagonals.end());
    to.conditions.insert(to.conditions.end(), from.conditions.begin(), from.conditions.end());
  }

  // Dims that only data decides are bound where that data is made, which may vanish with the mask.
  static void keepBound(MaskParts &parts) {
    std::vector<Diagonal> bound;
    for (const Diagonal &d : parts.diagonals) {
      llvm::SmallVector<std::string, 4> symbols;
      d.at.collectSymbols(symbols);
      if (llvm::any_of(symbols, [](const std::string &name) { return name.front() == '@'; }))
        parts.conditions.push_back(d.source);
      else
        bound.push_back(d);
    }
    parts.diagonals = bound;
  }

  void finishBand(MaskParts &parts) {
    keepBound(parts);
    band_ = bandOf(parts);
    for (const Condition &c : parts.conditions) {
      // A bias that could not become part of the band.
      if (matcher_.fact(c.value).dtype == DType::kBool)
        conditions_.push_back(c);
      else
        biases_.push_back(rewriter_[c.value]);
    }
  }

  // --- What is built

  static bool inOrder(const ir::Ints &perm) { return std::is_sorted(perm.begin(), perm.end()); }

  Arranged asItIs(ValueId id) const { return {id, matcher_.shape(id), {}}; }

  bool foldHeads(Arranged &k, Arranged &v) const {
    const HeadFolder folder(matcher_);
    const auto fewerK = folder.fold(k), fewerV = folder.fold(v);
    if (!fewerK || !fewerV || fewerK->shape()[1] != fewerV->shape()[1])
      return false;
    k = *fewerK;
    v = *fewerV;
    return true;
  }

  ValueId add(Op op, llvm::ArrayRef<ValueId> operands, llvm::StringRef suffix) {
    return b_.add1(rewriter_.current(op), operands, suffix);
  }

  ValueId emit(Arranged x, llvm::StringRef suffix) {
    while (x.dims != matcher_.shape(x.base)) {
      const Node *reshape = matcher_.producer<ir::Reshape>(x.base);
      if (!reshape)
        break;
      x.base = reshape->operands[0];
    }
    ValueId now = rewriter_[x.base];
    if (x.dims != matcher_.shape(x.base))
      now = add(ir::Reshape{x.dims}, {now}, suffix.str() + "_heads");
    return inOrder(x.perm) ? now : add(ir::Transpose{x.perm}, {now}, suffix);
  }

  ValueId typed(ValueId x, DType type, llvm::StringRef suffix) {
    return b_.fact(x).dtype == type ? x : add(ir::Cast{type}, {x}, suffix);
  }

  ValueId number(double value) {
    return b_.constant(ir::makeFloatConst(DType::kF32, {}, {value}), "number");
  }

  ValueId joined() {
    ValueId all;
    for (const Condition &c : conditions_) {
      ValueId one = rewriter_[c.value];
      if (c.negated)
        one = add(ir::Unary{UnaryKind::kNot}, {one}, "visible");
      all = all.valid() ? add(ir::Binary{BinaryKind::kAnd}, {all, one}, "visible") : one;
    }
    return all;
  }

  ValueId summed() {
    ValueId all;
    for (ValueId one : biases_) {
      if (!all.valid()) {
        all = one;
        continue;
      }
      if (b_.fact(all).dtype != b_.fact(one).dtype) {
        all = typed(all, DType::kF32, "bias_cast");
        one = typed(one, DType::kF32, "bias_cast");
      }
      all = add(ir::Binary{BinaryKind::kAdd}, {all, one}, "bias_sum");
    }
    return all;
  }

  // Sdpa hides the columns that a mask lacks, where a sum would repeat a single one.
  ValueId wide(ValueId term, llvm::StringRef suffix) {
    if (!term.valid())
      return term;
    Shape dims = b_.fact(term).shape;
    if (!dims.empty() && dims.back() == columns_)
      return term;
    if (!dims.empty())
      dims.pop_back();
    dims.push_back(columns_);
    return add(ir::Expand{dims}, {term}, suffix);
  }

  ValueId withHeads(ValueId term, bool headless, llvm::StringRef suffix) {
    if (!term.valid() || !headless || b_.fact(term).rank() != 3)
      return term;
    Shape dims = b_.fact(term).shape;
    dims.insert(dims.begin() + 1, Dim(1));
    return add(ir::Reshape{dims}, {term}, suffix);
  }

  const ir::Graph &graph_;
  const Matcher matcher_;
  ir::GraphRewriter rewriter_;
  ir::GraphBuilder &b_;

  // Of the attention at hand.
  Dim rows_, columns_;
  BandAt band_;
  std::vector<Condition> conditions_;
  std::vector<ValueId> biases_; // new values
};

} // namespace

ir::Graph recognizeAttention(const ir::Graph &graph) { return Recognizer(graph).run(); }

} // namespace engine::lowering
