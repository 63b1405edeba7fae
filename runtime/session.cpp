#include "runtime/session_impl.h"

#include <thread>

namespace engine {

namespace detail {

namespace {

int threadCount(int wanted) {
  if (wanted > 0)
    return wanted;
  return std::max(1u, std::thread::hardware_concurrency());
}

std::string quotedNames(const std::vector<ValueInfo> &infos) {
  std::string text;
  for (const ValueInfo &info : infos)
    text += (text.empty() ? "'" : ", '") + info.name + "'";
  return text;
}

const ValueInfo *findInfo(const std::vector<ValueInfo> &infos, const std::string &name) {
  for (const ValueInfo &info : infos)
    if (info.name == name)
      return &info;
  return nullptr;
}

std::string shapeText(llvm::ArrayRef<int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

View withRows(View view, int64_t axis, int64_t rows) {
  view.dims[axis] = rows;
  return view;
}

} // namespace

View tensorView(const Tensor &tensor) {
  if (tensor.shape().size() > kMaxRank)
    throw Error("a tensor has " + std::to_string(tensor.shape().size()) + " axes, at most " +
                std::to_string(kMaxRank) + " are supported");
  return makeView(tensor.data(), tensor.dtype(), tensor.shape());
}

SessionImpl::SessionImpl(Model m, const SessionOptions &o)
    : model(std::move(m)), options(o), budget(o.maxMemory),
      executor(*model.impl().compiled, {threadCount(o.threads), &budget, &cancelled}),
      states(model.impl().compiled->states.size()) {}

int SessionImpl::stateOfInput(size_t input) const {
  const ir::ValueId value = compiled().graph.inputs()[input];
  for (size_t i = 0; i < compiled().states.size(); ++i)
    if (compiled().states[i].input == value)
      return static_cast<int>(i);
  return -1;
}

size_t SessionImpl::stateIndex(const std::string &inputName) const {
  const std::vector<ValueInfo> &inputs = model.inputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].name == inputName && stateOfInput(i) >= 0)
      return static_cast<size_t>(stateOfInput(i));
  throw Error("there is no state '" + inputName + "'");
}

void SessionImpl::checkNames(const Tensors &inputs, const Tensors &outputs, bool keepStates) const {
  for (const auto &entry : inputs) {
    const ValueInfo *info = findInfo(model.inputs(), entry.first);
    if (!info)
      throw Error("there is no such input; the inputs are: " + quotedNames(model.inputs()))
          .at("input '" + entry.first + "'");
    if (keepStates && info->state)
      throw Error("is a state that the session keeps; leave it out of a step, or set it with setState")
          .at("input '" + entry.first + "'");
    if (!entry.second.defined())
      throw Error("the tensor is undefined").at("input '" + entry.first + "'");
  }
  for (const ValueInfo &info : model.inputs())
    if (!inputs.count(info.name) && !info.hasDefault && !(keepStates && info.state))
      throw Error("missing; the inputs are: " + quotedNames(model.inputs()))
          .at("input '" + info.name + "'");
  for (const auto &entry : outputs)
    if (!findInfo(model.outputs(), entry.first))
      throw Error("there is no such output; the outputs are: " + quotedNames(model.outputs()))
          .at("output '" + entry.first + "'");
}

View SessionImpl::inputView(size_t input, const Tensors &inputs, bool keepStates) {
  const std::string &name = model.inputs()[input].name;
  if (const int state = stateOfInput(input); keepStates && state >= 0)
    return pastView(static_cast<size_t>(state), inputs);
  const auto given = inputs.find(name);
  if (given != inputs.end())
    return tensorView(given->second);
  const ir::ValueId value = compiled().graph.inputs()[input];
  for (const ir::InputDefault &entry : model.impl().defaults)
    if (entry.input == value)
      return viewOf(*entry.value);
  throw Error::internal("input '" + name + "' has no value");
}

Tensors SessionImpl::run(const Tensors &inputs, const Tensors &outputs, bool keepStates) {
  cancelled = false;
  checkNames(inputs, outputs, keepStates);
  std::vector<View> views;
  for (size_t i = 0; i < model.inputs().size(); ++i)
    views.push_back(inputView(i, inputs, keepStates));

  const std::vector<ValueInfo> &infos = model.outputs();
  llvm::SmallVector<bool, 16> wanted(infos.size(), true);
  if (keepStates)
    for (const lowering::KvState &state : compiled().states)
      wanted[state.output] = false;

  Tensors results;
  Executor::Request request;
  request.inputs = views;
  request.wanted = wanted;
  request.output = [&](size_t index, DType dtype, llvm::ArrayRef<int64_t> dims) {
    const std::string &name = infos[index].name;
    const auto given = outputs.find(name);
    if (given == outputs.end()) {
      Tensor made = Tensor::zeros(dtype, std::vector<int64_t>(dims.begin(), dims.end()));
      if (!made.defined())
        throw Error("output '" + name + "' of shape " + shapeText(dims) + " is too large",
                    Error::Kind::kOutOfMemory);
      return tensorView(results[name] = made);
    }
    const Tensor &tensor = given->second;
    if (tensor.dtype() != dtype || !dims.equals(tensor.shape()))
      throw Error("the given tensor is " + std::string(dtypeName(tensor.dtype())) +
                  shapeText(tensor.shape()) + ", expected " + dtypeName(dtype) + shapeText(dims))
          .at("output '" + name + "'");
    return tensorView(results[name] = tensor);
  };
  if (keepStates)
    request.state = [&](size_t state, int64_t rows) { return presentView(state, rows); };
  executor.run(request);
  if (keepStates)
    for (size_t i = 0; i < states.size(); ++i)
      states[i].rows = states[i].view.dims[compiled().states[i].axis];
  return results;
}

// --- States -------------------------------------------------------------------------------------------------------------

// `view` keeps the rows that are valid; the buffer's capacity shows in its strides.
View SessionImpl::pastView(size_t state, const Tensors &inputs) {
  KeptState &kept = states[state];
  if (!kept.view.present())
    createState(state, inputs);
  return withRows(kept.view, compiled().states[state].axis, kept.rows);
}

View SessionImpl::presentView(size_t state, int64_t rows) {
  reserveRows(state, rows);
  KeptState &kept = states[state];
  kept.view.dims[compiled().states[state].axis] = rows;
  return kept.view;
}

// The dims of a cache that nothing has set yet: from the symbols of the other inputs, or from what the graph writes into it.
void SessionImpl::createState(size_t state, const Tensors &inputs) {
  const lowering::KvState &info = compiled().states[state];
  const ir::Graph &graph = compiled().graph;
  ir::SymbolValues symbols;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto given = inputs.find(model.inputs()[i].name);
    const ir::Shape &shape = graph.fact(graph.inputs()[i]).shape;
    if (given == inputs.end() || given->second.shape().size() != shape.size())
      continue;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (const std::optional<std::string> symbol = shape[axis].asSymbol())
        symbols.try_emplace(*symbol, given->second.shape()[axis]);
  }
  const ir::Fact &input = graph.fact(info.input);
  const ir::Fact &result = graph.fact(info.result);
  llvm::SmallVector<int64_t, 4> dims;
  for (int axis = 0; axis < input.rank(); ++axis) {
    std::optional<int64_t> size = input.shape[axis].tryEvaluate(symbols);
    if (axis == info.axis && info.grows)
      size = 0;
    else if (axis == info.axis && !size && options.cacheRows > 0)
      size = options.cacheRows;
    else if (!size)
      size = result.shape[axis].tryEvaluate(symbols);
    if (!size)
      throw Error("the size of axis " + std::to_string(axis) + " (" + input.shape[axis].str() +
                  ") follows from no other input; give the cache its first value with setState, fix "
                  "the symbol when the model is loaded, or set SessionOptions::cacheRows")
          .at("input '" + graph.value(info.input).name + "'");
    dims.push_back(*size);
  }
  allocateState(state, dims);
  std::memset(states[state].buffer.data(), 0, states[state].buffer.bytes());
}

void SessionImpl::allocateState(size_t state, llvm::ArrayRef<int64_t> dims) {
  const lowering::KvState &info = compiled().states[state];
  KeptState &kept = states[state];
  llvm::SmallVector<int64_t, 4> capacity(dims.begin(), dims.end());
  if (info.grows)
    capacity[info.axis] =
        options.cacheRows > 0 ? options.cacheRows : std::max<int64_t>(64, dims[info.axis]);
  View view = makeView(nullptr, compiled().graph.fact(info.input).dtype, capacity);
  kept.buffer = AlignedBuffer();
  kept.buffer = AlignedBuffer(budget, static_cast<size_t>(std::max<int64_t>(view.bytes(), 1)));
  view.data = kept.buffer.data();
  view.dims[info.axis] = dims[info.axis];
  kept.view = view;
  kept.rows = dims[info.axis];
}

// A buffer that is too small doubles; its rows move along.
void SessionImpl::reserveRows(size_t state, int64_t rows) {
  const lowering::KvState &info = compiled().states[state];
  KeptState &kept = states[state];
  const int64_t axis = info.axis;
  View capacity = kept.view;
  // Rows that the strides leave room for.
  int64_t outer = 1;
  for (int64_t i = 0; i < axis; ++i)
    outer *= kept.view.dims[i];
  int64_t inner = 1;
  for (int64_t i = axis + 1; i < kept.view.rank; ++i)
    inner *= kept.view.dims[i];
  const int64_t room = axis == 0 ? rows : kept.view.strides[axis - 1] / std::max<int64_t>(inner, 1);
  if (rows <= room || outer == 0 || inner == 0)
    return;
  if (options.cacheRows > 0)
    throw Error("the cache is full: it holds " + std::to_string(room) + " rows and " +
                std::to_string(rows) +
                " are needed; create the session with a larger cacheRows, or rewind it")
        .at("input '" + compiled().graph.value(info.input).name + "'");
  capacity.dims[axis] = std::max(rows, 2 * room);
  capacity.setDenseStrides();
  AlignedBuffer larger(budget, static_cast<size_t>(capacity.bytes()));
  capacity.data = larger.data();
  copyView(withRows(kept.view, axis, kept.rows), withRows(capacity, axis, kept.rows));
  kept.buffer = std::move(larger);
  kept.view = capacity;
}

void SessionImpl::setState(const std::string &inputName, const Tensor &value) {
  const size_t state = stateIndex(inputName);
  const lowering::KvState &info = compiled().states[state];
  const ir::Fact &fact = compiled().graph.fact(info.input);
  bool fits = value.dtype() == fact.dtype && static_cast<int>(value.shape().size()) == fact.rank();
  for (int axis = 0; fits && axis < fact.rank(); ++axis)
    fits = !fact.shape[axis].isConstant() || fact.shape[axis].is(value.shape()[axis]);
  if (!fits)
    throw Error("got " + std::string(dtypeName(value.dtype())) + shapeText(value.shape()) +
                ", expected " + fact.str())
        .at("input '" + inputName + "'");
  allocateState(state, value.shape());
  copyView(tensorView(value), states[state].view);
}

Tensor SessionImpl::state(const std::string &inputName) const {
  const size_t state = stateIndex(inputName);
  const KeptState &kept = states[state];
  if (!kept.view.present())
    throw Error("the state '" + inputName + "' has no content before the first step");
  const View view = withRows(kept.view, compiled().states[state].axis, kept.rows);
  Tensor copy = Tensor::zeros(view.dtype, std::vector<int64_t>(view.dims, view.dims + view.rank));
  copyView(view, tensorView(copy));
  return copy;
}

int64_t SessionImpl::length() const {
  for (size_t i = 0; i < states.size(); ++i)
    if (compiled().states[i].grows && states[i].view.present())
      return states[i].rows;
  return 0;
}

void SessionImpl::rewind(int64_t rows) {
  if (rows < 0 || rows > length())
    throw Error("cannot rewind to " + std::to_string(rows) + " rows: the caches hold " +
                std::to_string(length()));
  for (size_t i = 0; i < states.size(); ++i) {
    KeptState &kept = states[i];
    if (compiled().states[i].grows)
      kept.rows = std::min(kept.rows, rows);
    else if (rows == 0 && kept.view.present())
      std::memset(kept.buffer.data(), 0, kept.buffer.bytes());
  }
}

} // namespace detail

Result<Session> Session::create(const Model &model, const SessionOptions &options) {
  Session session;
  const Status status = detail::guarded(model.impl().path, [&] {
    session.impl_ = std::make_shared<detail::SessionImpl>(model, options);
  });
  if (!status)
    return status.error();
  return session;
}

namespace {

Result<Tensors> runGuarded(detail::SessionImpl &impl, const Tensors &inputs, const Tensors &outputs,
                           bool keepStates) {
  Tensors results;
  const Status status = detail::guarded(impl.model.impl().path, [&] {
    results = impl.run(inputs, outputs, keepStates);
  });
  if (!status)
    return status.error();
  return results;
}

} // namespace

Result<Tensors> Session::run(const Tensors &inputs, const Tensors &outputs) {
  return runGuarded(*impl_, inputs, outputs, false);
}

Result<Tensors> Session::step(const Tensors &inputs, const Tensors &outputs) {
  return runGuarded(*impl_, inputs, outputs, true);
}

int64_t Session::length() const { return impl_->length(); }

Status Session::rewind(int64_t rows) {
  return detail::guarded(impl_->model.impl().path, [&] { impl_->rewind(rows); });
}

Status Session::setState(const std::string &inputName, const Tensor &value) {
  return detail::guarded(impl_->model.impl().path, [&] { impl_->setState(inputName, value); });
}

Result<Tensor> Session::state(const std::string &inputName) const {
  Tensor value;
  const Status status =
      detail::guarded(impl_->model.impl().path, [&] { value = impl_->state(inputName); });
  if (!status)
    return status.error();
  return value;
}

void Session::cancel() { impl_->cancelled = true; }

size_t Session::memory() const { return impl_->budget.used(); }

} // namespace engine
