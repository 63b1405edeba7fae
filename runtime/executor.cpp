#include "runtime/executor.h"

#include "ir/dims_text.h"
#include "ir/dtype_name.h"
#include "ir/infer.h"

#include <chrono>

namespace engine {

namespace {

using Dims = llvm::SmallVector<int64_t, 4>;

std::string shapeText(DType dtype, const View &view) {
  return dtypeLongName(dtype) + dimsText({view.dims, static_cast<size_t>(view.rank)});
}

std::string expectedText(const ir::Fact &fact) {
  return dtypeLongName(fact.dtype) + ir::str(fact.shape);
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

// Facts of a view as inference wants them at run time: concrete dims, and contents where they may
// matter.
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
  compileDims();
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

// --- Dims --------------------------------------------------------------------------------------

void Executor::compileDims() {
  for (ir::ValueId input : graph_.inputs()) {
    const ir::Fact &fact = graph_.fact(input);
    for (const ir::Dim &dim : fact.shape)
      if (const std::optional<std::string> symbol = dim.asSymbol())
        dims_.addInputSymbol(*symbol);
    if (fact.contents)
      for (const ir::Dim &dim : *fact.contents)
        if (const std::optional<std::string> symbol = dim.asSymbol())
          dims_.addInputSymbol(*symbol);
  }
  bounds_.assign(dims_.numInputSymbols(), -1);
  for (ir::ValueId input : graph_.inputs()) {
    const ir::Fact &fact = graph_.fact(input);
    InputDims dims;
    for (const ir::Dim &dim : fact.shape)
      dims.axes.push_back(compileInputAxis(dim));
    if (fact.contents)
      for (const ir::Dim &dim : *fact.contents) {
        const std::optional<std::string> symbol = dim.asSymbol();
        dims.contents.push_back(symbol ? static_cast<int>(dims_.addInputSymbol(*symbol)) : -1);
      }
    inputDims_.push_back(std::move(dims));
  }
  llvm::StringMap<bool> known; // late symbols that an earlier node binds
  for (const ir::Node &node : graph_.nodes())
    nodeDims_.push_back(compileNodeDims(node, known));
}

// The first axis that a lone symbol stands for binds it; all others are compared.
Executor::InputAxis Executor::compileInputAxis(const ir::Dim &dim) {
  InputAxis axis;
  axis.dim = dims_.add(dim);
  const std::optional<std::string> symbol = dim.asSymbol();
  if (symbol && !boundByAxis_.count(*symbol)) {
    boundByAxis_[*symbol] = true;
    axis.binds = static_cast<int>(dims_.addInputSymbol(*symbol));
  }
  llvm::SmallVector<std::string, 4> names;
  dim.collectSymbols(names);
  axis.compares = axis.binds < 0 && llvm::all_of(names, [&](const std::string &name) {
                    return dims_.isInputSymbol(name);
                  });
  return axis;
}

Executor::NodeDims Executor::compileNodeDims(const ir::Node &node, llvm::StringMap<bool> &known) {
  NodeDims dims;
  if (const auto *write = node.as<ir::KvWrite>())
    dims.offset = dims_.add(write->offset);
  llvm::SmallVector<std::string, 4> own; // late symbols that this node binds
  for (ir::ValueId result : node.results) {
    llvm::SmallVector<DimTable::Index, 4> axes;
    if (result.valid())
      for (const ir::Dim &dim : graph_.fact(result).shape) {
        axes.push_back(dims_.add(dim));
        llvm::SmallVector<std::string, 4> names;
        dim.collectSymbols(names);
        for (const std::string &name : names)
          dims.fromData |= !dims_.isInputSymbol(name) && !known.count(name);
        if (const std::optional<std::string> symbol = dim.asSymbol();
            symbol && !dims_.isInputSymbol(*symbol))
          own.push_back(*symbol);
      }
    dims.results.push_back(std::move(axes));
  }
  for (const std::string &name : own)
    known[name] = true;
  return dims;
}

// --- Binding a feed ----------------------------------------------------------------------------

void Executor::bindInputs(llvm::ArrayRef<View> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::Value &value = graph_.value(graph_.inputs()[i]);
    const View &view = inputs[i];
    if (view.dtype != value.fact.dtype || view.rank != value.fact.rank())
      throw Error("got " + shapeText(view.dtype, view) + ", expected " + expectedText(value.fact))
          .at("input '" + value.name + "'");
    bindDims(i, view);
    at(graph_.inputs()[i]) = view;
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    bindContents(i, inputs[i]);
  dims_.evaluateInputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    checkDims(i, inputs[i]);
}

void Executor::bindDims(size_t input, const View &view) {
  const InputDims &dims = inputDims_[input];
  for (int axis = 0; axis < view.rank; ++axis)
    if (dims.axes[axis].binds >= 0)
      dims_.setInput(static_cast<size_t>(dims.axes[axis].binds), view.dims[axis]);
}

void Executor::checkDims(size_t input, const View &view) {
  const InputDims &dims = inputDims_[input];
  for (int axis = 0; axis < view.rank; ++axis) {
    if (!dims.axes[axis].compares)
      continue;
    const int64_t expected = dims_[dims.axes[axis].dim];
    if (expected == view.dims[axis])
      continue;
    const ir::Value &value = graph_.value(graph_.inputs()[input]);
    const ir::Dim &dim = value.fact.shape[axis];
    throw Error("got " + shapeText(view.dtype, view) + ", expected " + expectedText(value.fact) +
                ": axis " + std::to_string(axis) + " must be " + std::to_string(expected) +
                (dim.isConstant() ? "" : " (" + dim.str() + ")"))
        .at("input '" + value.name + "'");
  }
}

void Executor::bindContents(size_t input, const View &view) {
  const InputDims &dims = inputDims_[input];
  for (size_t i = 0; i < dims.contents.size() && static_cast<int64_t>(i) < view.count(); ++i)
    if (dims.contents[i] >= 0)
      dims_.setInput(static_cast<size_t>(dims.contents[i]),
                     intElement(view, static_cast<int64_t>(i)));
}

// --- Memory ------------------------------------------------------------------------------------

// Offsets hold for all shapes up to the bounds: they are laid out again only when a symbol outgrows
// its bound, which then doubles, so that a growing cache settles quickly.
void Executor::planArena() {
  bool fits = laidOut_;
  for (size_t i = 0; i < bounds_.size(); ++i)
    fits &= dims_.input(i) <= bounds_[i];
  if (fits)
    return;
  std::vector<int64_t> wide(bounds_.size()), tight(bounds_.size());
  for (size_t i = 0; i < bounds_.size(); ++i) {
    const int64_t value = dims_.input(i);
    const bool outgrown = value > bounds_[i];
    const int64_t twice = bounds_[i] > INT64_MAX / 2 ? INT64_MAX : 2 * bounds_[i];
    wide[i] = !outgrown ? bounds_[i] : laidOut_ ? std::max(value, twice) : value;
    tight[i] = outgrown ? wide[i] : value;
  }
  // A long prompt followed by long decoding: the arena for the prompt's queries times the cache's
  // later lengths is never needed.
  constexpr int64_t kSmall = 1 << 20;
  lowering::ArenaLayout layout = layOut(tight);
  bounds_ = tight;
  if (wide != tight) {
    lowering::ArenaLayout roomy;
    bool sensible = true;
    try {
      roomy = layOut(wide);
    } catch (const Error &) {
      sensible = false;
    }
    const int64_t have = std::max(static_cast<int64_t>(arena_.bytes()), layout.bytes);
    if (sensible && roomy.bytes <= std::max(have, kSmall)) {
      layout = std::move(roomy);
      bounds_ = wide;
    }
  }
  laidOut_ = false; // until there is memory for it
  layout_ = std::move(layout);
  arena_.reserve(*options_.budget, static_cast<size_t>(layout_.bytes));
  laidOut_ = true;
}

lowering::ArenaLayout Executor::layOut(llvm::ArrayRef<int64_t> bounds) const {
  ir::SymbolRanges ranges;
  for (size_t i = 0; i < bounds.size(); ++i)
    ranges[dims_.inputSymbol(i)] = {std::min<int64_t>(0, dims_.input(i)), bounds[i]};
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
  return lowering::layOutArena(compiled_.plan.slots, sizes);
}

View Executor::allocate(size_t index, ir::ValueId value, llvm::ArrayRef<int64_t> dims,
                        const Request &request) {
  const lowering::ValuePlan &plan = compiled_.plan.values[value.index];
  const ir::Node &node = graph_.nodes()[index];
  if (stateOfNode_[index] >= 0 && request.keepsStates && value == node.results[0])
    return stateResult(index, value, dims, request);

  View view = makeView(nullptr, graph_.fact(value).dtype, dims);
  if (plan.storage == lowering::Storage::kOutput) {
    const auto outputs = graph_.outputs();
    const size_t output = static_cast<size_t>(llvm::find(outputs, value) - outputs.begin());
    if (request.wanted[output]) {
      outputWritten_[output] = true;
      return request.sink->output(output, view.dtype, dims);
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
  View view = request.sink->state(state, dims[info.axis]);
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

// --- Shapes ------------------------------------------------------------------------------------

void Executor::resultDims(size_t index, size_t result, llvm::SmallVectorImpl<int64_t> &dims) {
  dims.clear();
  for (DimTable::Index dim : nodeDims_[index].results[result])
    dims.push_back(dims_[dim]);
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
      const int64_t size = facts[r].shape[axis].evaluate(dims_.symbols());
      if (const std::optional<std::string> symbol = symbolic[axis].asSymbol())
        dims_.bindLate(*symbol, size);
      dims[r].push_back(size);
    }
  }
}

// --- Nodes -------------------------------------------------------------------------------------

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
    const int64_t value = values.values[i].evaluate(dims_.symbols());
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
  std::optional<View> view = asView(node.op, operand, dims_.symbols());
  if (!view) {
    const ir::ValueId result = node.results[0];
    const int slot = compiled_.plan.values[result.index].slot;
    View dense =
        makeView(nullptr, operand.dtype, llvm::ArrayRef<int64_t>(operand.dims, operand.rank));
    if (slot >= 0) {
      dense.data = arena_.data() + layout_.offsets[slot];
    } else {
      dense.data = pool_.take(static_cast<size_t>(dense.bytes()));
      pooled_[result.index] = static_cast<char *>(dense.data);
    }
    copyView(operand, dense);
    view = asView(node.op, dense, dims_.symbols());
    if (!view)
      throw Error::internal("a dense tensor could not be viewed in another layout");
  }
  at(node.results[0]) = *view;
}

void Executor::runKernel(size_t index, const Request &request) {
  const ir::Node &node = graph_.nodes()[index];
  const lowering::CompiledNode &compiled = compiled_.nodes[index];

  llvm::SmallVector<Dims, 4> dims(node.results.size());
  if (nodeDims_[index].fromData)
    inferResults(node, dims);
  else
    for (size_t r = 0; r < node.results.size(); ++r)
      resultDims(index, r, dims[r]);

  llvm::SmallVector<View, 16> operands, results;
  for (ir::ValueId operand : node.operands)
    operands.push_back(operand.valid() ? at(operand) : View());
  for (size_t r = 0; r < node.results.size(); ++r) {
    const ir::ValueId result = node.results[r];
    results.push_back(result.valid() ? allocate(index, result, dims[r], request) : View());
    if (result.valid())
      at(result) = results.back();
  }
  if (stateOfNode_[index] >= 0 && request.keepsStates) {
    // The cache may have moved to a larger buffer.
    operands[0].data = results[0].data;
    std::copy_n(results[0].strides, results[0].rank, operands[0].strides);
    reportState(index, operands, *request.sink);
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
    KernelCall call{given, results, dims_.symbols(), options_.threads, nullptr};
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
  // A branch's outputs are this node's results.
  class Results final : public Sink {
  public:
    Results(Executor &executor, size_t index, const Request &request)
        : executor_(executor), index_(index), request_(request) {}

    View output(size_t output, DType, llvm::ArrayRef<int64_t> dims) override {
      const ir::ValueId result = executor_.graph_.nodes()[index_].results[output];
      const ir::Shape &symbolic = executor_.graph_.fact(result).shape;
      for (size_t axis = 0; axis < symbolic.size(); ++axis)
        if (const std::optional<std::string> symbol = symbolic[axis].asSymbol())
          executor_.dims_.bindLate(*symbol, dims[axis]);
      return executor_.at(result) = executor_.allocate(index_, result, dims, request_);
    }

  private:
    Executor &executor_;
    size_t index_;
    const Request &request_;
  };
  Results results(*this, index, request);
  Request inner;
  inner.inputs = inputs;
  inner.wanted = wanted;
  inner.sink = &results;
  branch.profile_ = profile_;
  branch.run(inner);
}

// How many tokens each entry's cache holds after the node.
void Executor::reportState(size_t index, llvm::ArrayRef<View> operands, Sink &sink) {
  const ir::Node &node = graph_.nodes()[index];
  auto element = [&](size_t operand, int64_t b, int64_t otherwise) {
    const View view = operand < operands.size() ? operands[operand] : View();
    return view.present() ? view.as<int64_t>()[b * view.strides[0]] : otherwise;
  };
  llvm::SmallVector<int64_t, 16> lengths;
  const View &update = operands[1];
  for (int64_t b = 0; b < update.dims[0]; ++b) {
    if (const auto *write = node.as<ir::KvWrite>()) {
      const int64_t axis = write->axis < 0 ? write->axis + update.rank : write->axis;
      lengths.push_back(element(2, b, dims_[nodeDims_[index].offset]) +
                        element(3, b, update.dims[axis]));
    } else { // cache update split keyStart len
      lengths.push_back(element(2, b, 0) + element(3, b, 0) + element(4, b, 0));
    }
  }
  sink.stateWritten(static_cast<size_t>(stateOfNode_[index]), lengths);
}

View Executor::Sink::state(size_t, int64_t) {
  throw Error::internal("a state without a session that keeps it");
}

void Executor::copyRemainingOutputs(const Request &request) {
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    if (outputWritten_[i] || !request.wanted[i])
      continue;
    const View &view = at(graph_.outputs()[i]);
    const View output =
        request.sink->output(i, view.dtype, llvm::ArrayRef<int64_t>(view.dims, view.rank));
    copyView(view, output);
  }
}

} // namespace engine
