#include "runtime/executor.h"

#include "ir/infer.h"

#include <chrono>

namespace engine {

namespace {

using Dims = llvm::SmallVector<int64_t, 4>;

std::string shapeText(DType dtype, const View &view) {
  std::string text = std::string(dtypeName(dtype)) + "[";
  for (int i = 0; i < view.rank; ++i)
    text += (i ? ", " : "") + std::to_string(view.dims[i]);
  return text + "]";
}

int64_t intElement(const View &view, int64_t index) {
  switch (view.dtype) {
  case DType::kI32:
    return view.as<int32_t>()[index];
  case DType::kI64:
    return view.as<int64_t>()[index];
  case DType::kBool:
    return view.as<uint8_t>()[index];
  default:
    throw Error::internal("integer contents of a tensor of " + std::string(dtypeName(view.dtype)));
  }
}

// Facts of a view as inference wants them at run time: concrete dims, and contents where they may matter.
ir::Fact concreteFact(const View &view) {
  ir::Shape shape;
  for (int i = 0; i < view.rank; ++i)
    shape.push_back(view.dims[i]);
  ir::Fact fact = ir::makeFact(view.dtype, shape);
  if (view.count() > ir::Fact::kMaxContents || !view.isDense())
    return fact;
  ir::ConstData data;
  data.dtype = view.dtype;
  data.dims.assign(view.dims, view.dims + view.rank);
  data.data = view.data;
  data.bytes = static_cast<size_t>(view.bytes());
  return ir::factOf(std::make_shared<const ir::ConstData>(std::move(data)));
}

} // namespace

Executor::Executor(const lowering::CompiledGraph &compiled, const ExecutorOptions &options)
    : compiled_(compiled), graph_(compiled.graph), options_(options), pool_(*options.budget) {
  const size_t numNodes = graph_.nodes().size();
  views_.resize(graph_.numValues());
  pooled_.assign(graph_.numValues(), nullptr);
  releases_.resize(numNodes);
  stateOfNode_.assign(numNodes, -1);
  thenExecutors_.resize(numNodes);
  elseExecutors_.resize(numNodes);
  for (size_t i = 0; i < compiled.states.size(); ++i)
    stateOfNode_[compiled.states[i].node] = static_cast<int>(i);
  for (size_t i = 0; i < numNodes; ++i) {
    const ir::Node &node = graph_.nodes()[i];
    if (const auto *constant = node.as<ir::Const>())
      at(node.results[0]) = viewOf(*constant->data);
    if (node.as<ir::If>()) {
      thenExecutors_[i] = std::make_unique<Executor>(*compiled.nodes[i].thenGraph, options);
      elseExecutors_[i] = std::make_unique<Executor>(*compiled.nodes[i].elseGraph, options);
    }
    for (ir::ValueId result : node.results) {
      if (!result.valid())
        continue;
      const lowering::ValuePlan &plan = compiled.plan.values[result.index];
      const int last = std::max(plan.lastUse, static_cast<int>(i));
      if (last < static_cast<int>(numNodes))
        releases_[last].push_back(result);
    }
  }
}

// --- Binding a feed -----------------------------------------------------------------------------------------------------

void Executor::bindInputs(llvm::ArrayRef<View> inputs) {
  symbols_.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::Value &value = graph_.value(graph_.inputs()[i]);
    const View &view = inputs[i];
    if (view.dtype != value.fact.dtype || view.rank != value.fact.rank())
      throw Error("got " + shapeText(view.dtype, view) + ", expected " + value.fact.str())
          .at("input '" + value.name + "'");
    bindDims(i, view, false);
    bindContents(i, view);
    at(graph_.inputs()[i]) = view;
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    bindDims(i, inputs[i], true);
}

void Executor::bindDims(size_t input, const View &view, bool compositeOnly) {
  const ir::Value &value = graph_.value(graph_.inputs()[input]);
  for (int axis = 0; axis < view.rank; ++axis) {
    const ir::Dim &dim = value.fact.shape[axis];
    const std::optional<std::string> symbol = dim.asSymbol();
    if (symbol.has_value() == compositeOnly)
      continue;
    if (symbol && !symbols_.count(*symbol)) {
      symbols_[*symbol] = view.dims[axis];
      continue;
    }
    const std::optional<int64_t> expected = dim.tryEvaluate(symbols_);
    if (expected && *expected != view.dims[axis])
      throw Error("got " + shapeText(view.dtype, view) + ", expected " + value.fact.str() +
                  ": axis " + std::to_string(axis) + " must be " + std::to_string(*expected) +
                  (dim.isConstant() ? "" : " (" + dim.str() + ")"))
          .at("input '" + value.name + "'");
  }
}

void Executor::bindContents(size_t input, const View &view) {
  const ir::Fact &fact = graph_.fact(graph_.inputs()[input]);
  if (!fact.contents)
    return;
  for (size_t i = 0; i < fact.contents->size() && static_cast<int64_t>(i) < view.count(); ++i)
    if (const std::optional<std::string> symbol = (*fact.contents)[i].asSymbol())
      symbols_[*symbol] = intElement(view, static_cast<int64_t>(i));
}

// --- Memory -------------------------------------------------------------------------------------------------------------

// Offsets hold for all shapes up to the bounds: they are laid out again only when a symbol outgrows its bound, which then
// doubles, so that a growing cache settles quickly.
void Executor::planArena() {
  bool fits = laidOut_;
  for (const auto &symbol : symbols_) {
    auto bound = bounds_.find(symbol.getKey());
    if (bound == bounds_.end() || bound->getValue() < symbol.getValue())
      fits = false;
  }
  if (fits)
    return;
  ir::SymbolRanges ranges;
  for (const auto &symbol : symbols_) {
    int64_t &bound = bounds_[symbol.getKey()];
    if (symbol.getValue() > bound)
      bound = laidOut_ ? std::max(symbol.getValue(), 2 * bound) : symbol.getValue();
    ranges[symbol.getKey()] = {std::min<int64_t>(0, symbol.getValue()), bound};
  }
  std::vector<int64_t> sizes;
  for (const lowering::ArenaSlot &slot : compiled_.plan.slots) {
    const ir::Fact &fact = graph_.fact(slot.value);
    int64_t count = 1;
    for (const ir::Dim &dim : fact.shape) {
      const int64_t most = std::max<int64_t>(dim.bounds(ranges).max, 0);
      if (most != 0 && count > (INT64_MAX >> 8) / most)
        throw Error("out of memory: value '" + graph_.value(slot.value).name + "' of shape " +
                        fact.str() + " is too large",
                    Error::Kind::kOutOfMemory);
      count *= most;
    }
    sizes.push_back(byteSize(fact.dtype, count));
  }
  layout_ = lowering::layOutArena(compiled_.plan.slots, sizes);
  arena_.reserve(*options_.budget, static_cast<size_t>(layout_.bytes));
  laidOut_ = true;
}

View Executor::allocate(size_t index, ir::ValueId value, llvm::ArrayRef<int64_t> dims,
                        const Request &request) {
  const lowering::ValuePlan &plan = compiled_.plan.values[value.index];
  const ir::Node &node = graph_.nodes()[index];
  if (stateOfNode_[index] >= 0 && request.state && value == node.results[0])
    return stateResult(index, value, dims, request);

  View view = makeView(nullptr, graph_.fact(value).dtype, dims);
  if (plan.storage == lowering::Storage::kOutput) {
    const auto outputs = graph_.outputs();
    const size_t output = static_cast<size_t>(llvm::find(outputs, value) - outputs.begin());
    if (request.wanted[output]) {
      outputWritten_[output] = true;
      return request.output(output, view.dtype, dims);
    }
  }
  if (plan.storage == lowering::Storage::kShared && plan.slot < 0 && !plan.mayCopy) {
    view.data = at(plan.base).data;
    return view;
  }
  if (plan.slot >= 0) {
    view.data = arena_.data() + layout_.offsets[plan.slot];
  } else {
    view.data = pool_.take(static_cast<size_t>(view.bytes()));
    pooled_[value.index] = static_cast<char *>(view.data);
  }
  if (plan.rowsFirst) { // [B, N, S, H] stored as [B, S, N, H]
    view.strides[1] = view.dims[3];
    view.strides[2] = view.dims[1] * view.dims[3];
  }
  return view;
}

View Executor::stateResult(size_t index, ir::ValueId value, llvm::ArrayRef<int64_t> dims,
                           const Request &request) {
  const size_t state = static_cast<size_t>(stateOfNode_[index]);
  const lowering::KvState &info = compiled_.states[state];
  View view = request.state(state, dims[info.axis]);
  if (!view.present())
    throw Error::internal("state of '" + graph_.value(value).name + "' has no buffer");
  return view;
}

View Executor::denseCopy(const View &view) {
  View dense = makeView(nullptr, view.dtype, llvm::ArrayRef<int64_t>(view.dims, view.rank));
  dense.data = pool_.take(static_cast<size_t>(dense.bytes()));
  copyView(view, dense);
  return dense;
}

void Executor::releaseAfter(size_t index) {
  for (ir::ValueId value : releases_[index]) {
    if (!pooled_[value.index])
      continue;
    pool_.give(pooled_[value.index]);
    pooled_[value.index] = nullptr;
  }
}

// --- Shapes -------------------------------------------------------------------------------------------------------------

bool Executor::resultDims(const ir::Node &node, size_t result, llvm::SmallVectorImpl<int64_t> &dims) {
  dims.clear();
  for (const ir::Dim &dim : graph_.fact(node.results[result]).shape) {
    const std::optional<int64_t> size = dim.tryEvaluate(symbols_);
    if (!size)
      return false;
    dims.push_back(*size);
  }
  return true;
}

void Executor::inferResults(const ir::Node &node, llvm::SmallVectorImpl<Dims> &dims) {
  std::vector<ir::Fact> operands(node.operands.size());
  llvm::SmallVector<const ir::Fact *, 8> pointers;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if (node.operands[i].valid())
      operands[i] = concreteFact(at(node.operands[i]));
    pointers.push_back(node.operands[i].valid() ? &operands[i] : nullptr);
  }
  llvm::SmallVector<ir::Fact, 4> facts(node.results.size());
  ir::InferContext context(pointers, facts, "run");
  ir::infer(node.op, context);
  dims.assign(node.results.size(), {});
  for (size_t r = 0; r < node.results.size(); ++r) {
    if (!node.results[r].valid())
      continue;
    const ir::Shape &symbolic = graph_.fact(node.results[r]).shape;
    for (size_t axis = 0; axis < symbolic.size(); ++axis) {
      const int64_t size = facts[r].shape[axis].evaluate(symbols_);
      if (const std::optional<std::string> symbol = symbolic[axis].asSymbol())
        symbols_[*symbol] = size;
      dims[r].push_back(size);
    }
  }
}

// --- Nodes --------------------------------------------------------------------------------------------------------------

void Executor::run(const Request &request) {
  bindInputs(request.inputs);
  planArena();
  pool_.reset();
  pooled_.assign(graph_.numValues(), nullptr);
  outputWritten_.assign(graph_.outputs().size(), false);
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    const ir::Node &node = graph_.nodes()[i];
    if (options_.cancelled && options_.cancelled->load(std::memory_order_relaxed))
      throw Error("cancelled", Error::Kind::kCancelled);
    try {
      runNode(i, request);
    } catch (Error &error) {
      throw error.inNode(node.name, node.onnx);
    }
    releaseAfter(i);
  }
  copyRemainingOutputs(request);
}

void Executor::runNode(size_t index, const Request &request) {
  const ir::Node &node = graph_.nodes()[index];
  if (node.as<ir::Const>())
    return;
  if (node.as<ir::DimValues>())
    runDimValues(index, request);
  else if (node.as<ir::If>())
    runIf(index, request);
  else if (lowering::needsKernel(node.op))
    runKernel(index, request);
  else
    runLayout(index);
}

void Executor::runDimValues(size_t index, const Request &request) {
  const ir::Node &node = graph_.nodes()[index];
  const auto &values = std::get<ir::DimValues>(node.op);
  const View view = allocate(index, node.results[0], values.dims, request);
  for (size_t i = 0; i < values.values.size(); ++i) {
    const int64_t value = values.values[i].evaluate(symbols_);
    if (view.dtype == DType::kI32)
      view.as<int32_t>()[i] = static_cast<int32_t>(value);
    else
      view.as<int64_t>()[i] = value;
  }
  at(node.results[0]) = view;
}

void Executor::runLayout(size_t index) {
  const ir::Node &node = graph_.nodes()[index];
  const View operand = at(node.operands[0]);
  std::optional<View> view = asView(node.op, operand, symbols_);
  if (!view) {
    const ir::ValueId result = node.results[0];
    const int slot = compiled_.plan.values[result.index].slot;
    View dense = makeView(nullptr, operand.dtype, llvm::ArrayRef<int64_t>(operand.dims, operand.rank));
    if (slot >= 0) {
      dense.data = arena_.data() + layout_.offsets[slot];
    } else {
      dense.data = pool_.take(static_cast<size_t>(dense.bytes()));
      pooled_[result.index] = static_cast<char *>(dense.data);
    }
    copyView(operand, dense);
    view = asView(node.op, dense, symbols_);
    if (!view)
      throw Error::internal("a dense tensor could not be viewed in another layout");
  }
  at(node.results[0]) = *view;
}

void Executor::runKernel(size_t index, const Request &request) {
  const ir::Node &node = graph_.nodes()[index];
  const lowering::CompiledNode &compiled = compiled_.nodes[index];

  llvm::SmallVector<Dims, 4> dims(node.results.size());
  bool known = true;
  for (size_t r = 0; r < node.results.size() && known; ++r)
    known = !node.results[r].valid() || resultDims(node, r, dims[r]);
  if (!known)
    inferResults(node, dims);

  llvm::SmallVector<View, 16> operands, results;
  for (ir::ValueId operand : node.operands)
    operands.push_back(operand.valid() ? at(operand) : View());
  for (size_t r = 0; r < node.results.size(); ++r) {
    const ir::ValueId result = node.results[r];
    results.push_back(result.valid() ? allocate(index, result, dims[r], request) : View());
    if (result.valid())
      at(result) = results.back();
  }
  if (stateOfNode_[index] >= 0 && request.state) {
    // The cache may have moved to a larger buffer.
    operands[0].data = results[0].data;
    std::copy_n(results[0].strides, results[0].rank, operands[0].strides);
  }

  llvm::SmallVector<View, 16> given;
  llvm::SmallVector<char *, 4> temporaries;
  std::string objections;
  for (size_t k = 0; k < compiled.kernels.size(); ++k) {
    const KernelRow &row = *compiled.selection.rows[k];
    given = operands;
    for (View &view : given)
      if (!row.acceptsStrides && view.present() && !view.isDense()) {
        view = denseCopy(view);
        temporaries.push_back(static_cast<char *>(view.data));
      }
    KernelCall call{given, results, symbols_, options_.threads, nullptr};
    const Kernel &kernel = *compiled.kernels[k];
    if (std::string why = kernel.whyNotNow(call); !why.empty()) {
      objections += std::string("\n  ") + row.name + ": " + why;
      continue;
    }
    scratch_.reserve(*options_.budget, static_cast<size_t>(kernel.scratchBytes(call)));
    call.scratch = scratch_.data();
    const auto start = std::chrono::steady_clock::now();
    kernel.run(call);
    if (profile_) {
      const std::chrono::duration<double, std::milli> spent =
          std::chrono::steady_clock::now() - start;
      profile_(node, row, spent.count());
    }
    for (char *temporary : temporaries)
      pool_.give(temporary);
    return;
  }
  throw Error("no kernel can run this call:" + objections);
}

void Executor::runIf(size_t index, const Request &request) {
  const ir::Node &node = graph_.nodes()[index];
  const View condition = at(node.operands[0]);
  Executor &branch =
      *(intElement(condition, 0) != 0 ? thenExecutors_[index] : elseExecutors_[index]);
  llvm::SmallVector<View, 8> inputs;
  for (ir::ValueId capture : llvm::ArrayRef<ir::ValueId>(node.operands).drop_front())
    inputs.push_back(at(capture));
  llvm::SmallVector<bool, 4> wanted;
  for (ir::ValueId result : node.results)
    wanted.push_back(result.valid());
  Request inner;
  inner.inputs = inputs;
  inner.wanted = wanted;
  inner.output = [&](size_t output, DType, llvm::ArrayRef<int64_t> dims) {
    const ir::ValueId result = node.results[output];
    const ir::Shape &symbolic = graph_.fact(result).shape;
    for (size_t axis = 0; axis < symbolic.size(); ++axis)
      if (const std::optional<std::string> symbol = symbolic[axis].asSymbol())
        symbols_.try_emplace(*symbol, dims[axis]);
    return at(result) = allocate(index, result, dims, request);
  };
  branch.profile_ = profile_;
  branch.run(inner);
}

void Executor::copyRemainingOutputs(const Request &request) {
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    if (outputWritten_[i] || !request.wanted[i])
      continue;
    const View &view = at(graph_.outputs()[i]);
    const View output =
        request.output(i, view.dtype, llvm::ArrayRef<int64_t>(view.dims, view.rank));
    copyView(view, output);
  }
}

} // namespace engine
