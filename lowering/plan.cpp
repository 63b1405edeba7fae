#include "lowering/plan.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>

namespace engine::lowering {

namespace {

constexpr int64_t kAlignment = 64;

bool isElementwise(const ir::Op &op) {
  return std::holds_alternative<ir::Unary>(op) || std::holds_alternative<ir::Binary>(op);
}

class Planner {
public:
  explicit Planner(const ir::Graph &graph) : graph_(graph), inputSymbols_(symbolsOfInputs(graph)) {
    plan_.values.resize(graph.numValues());
    plan_.inPlace.assign(graph.nodes().size(), -1);
    dense_.assign(graph.numValues(), true);
  }

  MemoryPlan run() {
    countUses();
    placeInputs();
    for (size_t i = 0; i < graph_.nodes().size(); ++i)
      placeResults(static_cast<int>(i));
    extendLifetimes();
    makeSlots();
    return std::move(plan_);
  }

private:
  ValuePlan &of(ir::ValueId value) { return plan_.values[value.index]; }
  int numNodes() const { return static_cast<int>(graph_.nodes().size()); }

  void countUses() {
    for (int i = 0; i < numNodes(); ++i)
      for (ir::ValueId operand : graph_.nodes()[i].operands)
        if (operand.valid())
          of(operand).lastUse = i;
    for (ir::ValueId output : graph_.outputs())
      of(output).lastUse = numNodes();
  }

  void placeInputs() {
    for (ir::ValueId input : graph_.inputs())
      of(input).storage = Storage::kInput;
  }

  bool shapeKnownAtStart(const ir::Fact &fact) const {
    llvm::SmallVector<std::string, 8> symbols;
    for (const ir::Dim &dim : fact.shape)
      dim.collectSymbols(symbols);
    return llvm::all_of(symbols, [&](const std::string &s) { return inputSymbols_.count(s) != 0; });
  }

  void placeResults(int index) {
    const ir::Node &node = graph_.nodes()[index];
    if (isLayoutOp(node.op)) {
      placeView(node);
      return;
    }
    for (ir::ValueId result : node.results)
      if (result.valid())
        of(result).storage = ownStorage(node, result);
    if (node.as<ir::Sdpa>())
      chooseOrder(node.results[0]);
    grantInPlace(index);
  }

  void chooseOrder(ir::ValueId y) {
    if (!y.valid() || of(y).storage == Storage::kOutput)
      return;
    for (const ir::Node &user : graph_.nodes())
      if (llvm::is_contained(user.operands, y) && swapsHeadsAndRows(user))
        of(y).rowsFirst = true;
    dense_[y.index] = !of(y).rowsFirst;
  }

  static bool swapsHeadsAndRows(const ir::Node &node) {
    const auto *transpose = node.as<ir::Transpose>();
    return transpose && llvm::ArrayRef<int64_t>(transpose->perm).equals({0, 2, 1, 3});
  }

  Storage ownStorage(const ir::Node &node, ir::ValueId result) {
    if (node.as<ir::Const>())
      return Storage::kConstant;
    if (llvm::is_contained(graph_.outputs(), result))
      return Storage::kOutput;
    return shapeKnownAtStart(graph_.fact(result)) && !node.as<ir::If>() ? Storage::kArena
                                                                        : Storage::kPool;
  }

  void placeView(const ir::Node &node) {
    const ir::ValueId operand = node.operands[0];
    ValuePlan &result = of(node.results[0]);
    result.storage = Storage::kShared;
    result.base = operand;
    // Only a Reshape can fail, and only on strides that are not dense.
    const bool operandDense = dense_[operand.index];
    result.mayCopy = node.as<ir::Reshape>() && !operandDense;
    const bool undoesOrder = of(operand).rowsFirst && swapsHeadsAndRows(node);
    const bool keepsOrder = node.as<ir::Reshape>() || node.as<ir::CheckDims>();
    dense_[node.results[0].index] = undoesOrder || (keepsOrder && operandDense);
  }

  // The first result may take an operand's memory when nobody reads that operand (or anything that
  // shares its memory) afterwards, and both have the same bytes.
  void grantInPlace(int index) {
    const ir::Node &node = graph_.nodes()[index];
    if (!isElementwise(node.op) && !node.as<ir::KvWrite>())
      return;
    const ir::ValueId result = node.results[0];
    if (of(result).storage != Storage::kArena)
      return;
    const size_t candidates = node.as<ir::KvWrite>() ? 1 : node.operands.size();
    for (size_t k = 0; k < candidates; ++k) {
      const ir::ValueId operand = node.operands[k];
      if (!operand.valid() || !mayTakeOver(operand, index, k) || !sameBytes(operand, result))
        continue;
      plan_.inPlace[index] = static_cast<int>(k);
      of(result).storage = Storage::kShared;
      of(result).base = operand;
      return;
    }
  }

  bool mayTakeOver(ir::ValueId operand, int index, size_t position) {
    const ValuePlan &plan = of(operand);
    const bool owns = plan.storage == Storage::kArena ||
                      (plan.storage == Storage::kShared && isInPlaceResult(operand));
    if (!owns || plan.lastUse != index || shared_.count(operand.index))
      return false;
    const ir::Node &node = graph_.nodes()[index];
    for (size_t k = 0; k < node.operands.size(); ++k)
      if (k != position && node.operands[k] == operand)
        return false;
    return true;
  }

  bool isInPlaceResult(ir::ValueId value) const {
    const ir::Node *producer = graph_.producer(value);
    return producer && plan_.inPlace[producer - graph_.nodes().data()] >= 0;
  }

  bool sameBytes(ir::ValueId a, ir::ValueId b) const {
    const ir::Fact &x = graph_.fact(a);
    const ir::Fact &y = graph_.fact(b);
    return dtypeInfo(x.dtype).bits == dtypeInfo(y.dtype).bits && x.shape == y.shape;
  }

  // A value lives as long as whatever shares its memory.
  void extendLifetimes() {
    for (int i = numNodes() - 1; i >= 0; --i)
      for (ir::ValueId result : graph_.nodes()[i].results)
        if (result.valid() && of(result).storage == Storage::kShared) {
          ValuePlan &base = of(of(result).base);
          base.lastUse = std::max(base.lastUse, of(result).lastUse);
        }
  }

  void makeSlots() {
    for (int i = 0; i < numNodes(); ++i)
      for (ir::ValueId result : graph_.nodes()[i].results) {
        if (!result.valid())
          continue;
        ValuePlan &plan = of(result);
        const bool copies = plan.storage == Storage::kShared && plan.mayCopy &&
                            shapeKnownAtStart(graph_.fact(result));
        if (plan.storage != Storage::kArena && !copies)
          continue;
        plan.slot = static_cast<int>(plan_.slots.size());
        plan_.slots.push_back({result, i, std::max(i, plan.lastUse)});
      }
  }

public:
  // Values that some view shares: found before grants are made.
  void collectShared() {
    for (const ir::Node &node : graph_.nodes())
      if (isLayoutOp(node.op))
        shared_.insert({node.operands[0].index, true});
  }

private:
  const ir::Graph &graph_;
  llvm::StringMap<bool> inputSymbols_;
  MemoryPlan plan_;
  std::vector<bool> dense_;
  llvm::DenseMap<uint32_t, bool> shared_;
};

} // namespace

bool isLayoutOp(const ir::Op &op) {
  return std::holds_alternative<ir::Reshape>(op) || std::holds_alternative<ir::Transpose>(op) ||
         std::holds_alternative<ir::Slice>(op) || std::holds_alternative<ir::Expand>(op) ||
         std::holds_alternative<ir::CheckDims>(op);
}

MemoryPlan planMemory(const ir::Graph &graph) {
  Planner planner(graph);
  planner.collectShared();
  return planner.run();
}

ArenaLayout layOutArena(llvm::ArrayRef<ArenaSlot> slots, llvm::ArrayRef<int64_t> sizes) {
  ArenaLayout layout;
  layout.offsets.assign(slots.size(), 0);
  std::vector<size_t> order(slots.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });

  std::vector<size_t> placed; // ascending by offset
  for (size_t slot : order) {
    const int64_t size = (sizes[slot] + kAlignment - 1) / kAlignment * kAlignment;
    int64_t offset = 0;
    for (size_t other : placed) {
      const bool together =
          slots[slot].first <= slots[other].last && slots[other].first <= slots[slot].last;
      if (!together)
        continue;
      if (offset + size <= layout.offsets[other])
        break;
      const int64_t otherSize = (sizes[other] + kAlignment - 1) / kAlignment * kAlignment;
      offset = std::max(offset, layout.offsets[other] + otherSize);
    }
    layout.offsets[slot] = offset;
    layout.bytes = std::max(layout.bytes, offset + size);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), slot,
                         [&](size_t a, size_t b) { return layout.offsets[a] < layout.offsets[b]; }),
        slot);
  }
  return layout;
}

llvm::StringMap<bool> symbolsOfInputs(const ir::Graph &graph) {
  llvm::StringMap<bool> set;
  auto add = [&](const ir::Dim &dim) {
    if (const std::optional<std::string> symbol = dim.asSymbol())
      set[*symbol] = true;
  };
  for (ir::ValueId input : graph.inputs()) {
    const ir::Fact &fact = graph.fact(input);
    llvm::for_each(fact.shape, add);
    if (fact.contents)
      llvm::for_each(*fact.contents, add);
  }
  return set;
}

} // namespace engine::lowering
