#include "ir/dims_text.h"
#include "ir/dtype_name.h"
#include "kernels/windowed_cache.h"
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

View withRows(View view, int64_t axis, int64_t rows) {
  view.dims[axis] = rows;
  return view;
}

} // namespace

View tensorView(const Tensor &tensor) {
  return makeView(tensor.data(), tensor.dtype(), tensor.shape());
}

SessionImpl::SessionImpl(Model m, const SessionOptions &o)
    : model(std::move(m)), options(o), budget(o.maxMemory),
      executor(*model.impl().compiled, {threadCount(o.threads), &budget, &cancelled}),
      states(model.impl().compiled->states.size()) {
  for (ir::ValueId input : compiled().graph.inputs()) {
    const auto state = llvm::find_if(compiled().states, [&](const lowering::KvState &candidate) {
      return candidate.input == input;
    });
    const bool found = state != compiled().states.end();
    stateOfInput_.push_back(found ? static_cast<int>(state - compiled().states.begin()) : -1);
  }
}

const std::string &SessionImpl::inputName(size_t state) const {
  return compiled().graph.value(compiled().states[state].input).name;
}

size_t SessionImpl::stateIndex(const std::string &name) const {
  for (size_t i = 0; i < states.size(); ++i)
    if (inputName(i) == name)
      return i;
  std::string all;
  for (size_t i = 0; i < states.size(); ++i)
    all += (i ? ", '" : "'") + inputName(i) + "'";
  throw Error("there is no state '" + name + "'; " +
              (all.empty() ? "the model has none" : "the states are: " + all));
}

void SessionImpl::checkNames(const Tensors &inputs, const Tensors &outputs, bool keepStates) const {
  for (const auto &entry : inputs) {
    const ValueInfo *info = findInfo(model.inputs(), entry.first);
    if (!info)
      throw Error("there is no such input; the inputs are: " + quotedNames(model.inputs()))
          .at("input '" + entry.first + "'");
    if (keepStates && info->state)
      throw Error(
          "is a state that the session keeps; leave it out of a step, or set it with setState")
          .at("input '" + entry.first + "'");
    if (!entry.second.defined())
      throw Error("the tensor is undefined").at("input '" + entry.first + "'");
    if (entry.second.shape().size() > kMaxRank)
      throw Error("has " + std::to_string(entry.second.shape().size()) + " axes, at most " +
                  std::to_string(kMaxRank) + " are supported")
          .at("input '" + entry.first + "'");
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
  if (const int state = stateOfInput_[input]; keepStates && state >= 0)
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
  if (keepStates && torn_)
    throw Error(
        "an earlier step ended while it moved rows of a windowed cache: the caches are lost; "
        "reset the session");
  views_.clear();
  for (size_t i = 0; i < model.inputs().size(); ++i)
    views_.push_back(inputView(i, inputs, keepStates));
  wanted_.assign(model.outputs().size(), true);
  if (keepStates)
    for (const lowering::KvState &state : compiled().states)
      wanted_[state.output] = false;

  Tensors results;
  given_ = &outputs;
  results_ = &results;
  Executor::Request request;
  request.inputs = views_;
  request.wanted = wanted_;
  request.sink = this;
  request.keepsStates = keepStates;
  executor.run(request);
  torn_ = false;
  if (keepStates)
    for (size_t i = 0; i < states.size(); ++i)
      states[i].rows = states[i].view.dims[compiled().states[i].axis];
  return results;
}

View SessionImpl::output(size_t index, DType dtype, llvm::ArrayRef<int64_t> dims) {
  const std::string &name = model.outputs()[index].name;
  const auto given = given_->find(name);
  if (given == given_->end()) {
    Tensor made = Tensor::zeros(dtype, std::vector<int64_t>(dims.begin(), dims.end()));
    if (!made.defined())
      throw Error("output '" + name + "' of shape " + dimsText(dims) + " is too large",
                  Error::Kind::kOutOfMemory);
    return tensorView((*results_)[name] = made);
  }
  const Tensor &tensor = given->second;
  if (tensor.dtype() != dtype || !dims.equals(tensor.shape()))
    throw Error("the given tensor is " + std::string(dtypeLongName(tensor.dtype())) +
                dimsText(tensor.shape()) + ", expected " + dtypeLongName(dtype) + dimsText(dims))
        .at("output '" + name + "'");
  return tensorView((*results_)[name] = tensor);
}

// --- States ------------------------------------------------------------------------------------

View SessionImpl::pastView(size_t state, const Tensors &inputs) {
  KeptState &kept = states[state];
  if (!kept.view.present() || (kept.fresh && !fitsFirstStep(state, inputs)))
    allocateState(state, firstDims(state, inputs));
  kept.fresh = false;
  return withRows(kept.view, compiled().states[state].axis, kept.rows);
}

View SessionImpl::state(size_t state, int64_t rows) {
  reserveRows(state, rows);
  KeptState &kept = states[state];
  kept.view.dims[compiled().states[state].axis] = rows;
  return kept.view;
}

void SessionImpl::stateWritten(size_t state, llvm::ArrayRef<int64_t> lengths) {
  states[state].lengths.assign(lengths.begin(), lengths.end());
  torn_ |= compiled().states[state].window > 0;
}

// The dims of a cache that nothing has set yet: from the symbols of the other inputs, or from what
// the graph writes into it.
llvm::SmallVector<int64_t, 4> SessionImpl::firstDims(size_t state, const Tensors &inputs) const {
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
    else if (axis == info.axis && !size && info.window > 0)
      size = windowedRows(state);
    else if (axis == info.axis && !size && options.cacheRows > 0)
      size = options.cacheRows;
    else if (!size)
      size = result.shape[axis].tryEvaluate(symbols);
    if (!size)
      size = info.update[axis].tryEvaluate(symbols);
    if (!size)
      throw Error(
          "the size of axis " + std::to_string(axis) + " (" + input.shape[axis].str() +
          ") follows from no other input; give the cache its first value with setState, fix "
          "the symbol when the model is loaded, or set SessionOptions::cacheRows")
          .at("input '" + graph.value(info.input).name + "'");
    dims.push_back(*size);
  }
  return dims;
}

// Whether a cache that was emptied can serve as it is.
bool SessionImpl::fitsFirstStep(size_t state, const Tensors &inputs) const {
  const View &view = states[state].view;
  try {
    const llvm::SmallVector<int64_t, 4> dims = firstDims(state, inputs);
    for (int axis = 0; axis < view.rank; ++axis)
      if (axis != compiled().states[state].axis && dims[axis] != view.dims[axis])
        return false;
    return true;
  } catch (const Error &) {
    return true; // only setState gave it its dims
  }
}

// A windowed cache may have any capacity from its window on. Twice the window evicts once in a
// window instead of moving all rows at each step. Caches that share the symbol share the capacity.
int64_t SessionImpl::windowedRows(size_t state) const {
  const ir::Graph &graph = compiled().graph;
  const lowering::KvState &info = compiled().states[state];
  const ir::Dim &rows = graph.fact(info.input).shape[info.axis];
  int64_t window = info.window;
  for (const lowering::KvState &other : compiled().states)
    if (other.window > 0 && graph.fact(other.input).shape[other.axis] == rows)
      window = std::max(window, other.window);
  const int64_t twice = window > INT64_MAX / 2 ? window : 2 * window;
  return options.cacheRows > 0 ? std::max(window, std::min(twice, options.cacheRows)) : twice;
}

void SessionImpl::allocateState(size_t state, llvm::ArrayRef<int64_t> dims) {
  const lowering::KvState &info = compiled().states[state];
  KeptState &kept = states[state];
  llvm::SmallVector<int64_t, 4> capacity(dims.begin(), dims.end());
  if (info.grows && options.cacheRows > 0 && dims[info.axis] > options.cacheRows)
    throw Error("the value has " + std::to_string(dims[info.axis]) +
                " rows, and the session was created with room for " +
                std::to_string(options.cacheRows) + " (cacheRows)")
        .at("input '" + inputName(state) + "'");
  if (info.grows)
    capacity[info.axis] =
        options.cacheRows > 0 ? options.cacheRows : std::max<int64_t>(64, dims[info.axis]);
  View view = makeView(nullptr, compiled().graph.fact(info.input).dtype, capacity);
  kept = KeptState(); // freed before the new one is taken
  kept.buffer = AlignedBuffer(budget, static_cast<size_t>(std::max<int64_t>(view.bytes(), 1)));
  // Zeros: rows that nobody has written show in state() where the entries of a batch differ in
  // length.
  std::memset(kept.buffer.data(), 0, kept.buffer.bytes());
  view.data = kept.buffer.data();
  view.dims[info.axis] = dims[info.axis];
  kept.view = view;
  kept.rows = dims[info.axis];
  kept.capacity = capacity[info.axis];
}

void SessionImpl::clearState(size_t state) {
  KeptState &kept = states[state];
  if (!compiled().states[state].grows)
    std::memset(kept.buffer.data(), 0, kept.buffer.bytes());
  kept.lengths.clear();
  kept.fresh = true;
}

// A buffer that is too small doubles; its rows move along.
void SessionImpl::reserveRows(size_t state, int64_t rows) {
  const lowering::KvState &info = compiled().states[state];
  KeptState &kept = states[state];
  if (rows > kept.capacity && kept.rows <= kept.dropped)
    reclaimDropped(state);
  if (rows <= kept.capacity)
    return;
  if (options.cacheRows > 0)
    throw Error("the cache is full: it holds " + std::to_string(kept.capacity) + " rows and " +
                std::to_string(rows) +
                " are needed; create the session with a larger cacheRows, or rewind it")
        .at("input '" + inputName(state) + "'");
  View larger = kept.view;
  larger.dims[info.axis] = std::max(rows, 2 * kept.capacity);
  const int64_t capacity = larger.dims[info.axis];
  larger.setDenseStrides();
  AlignedBuffer buffer(budget, static_cast<size_t>(std::max<int64_t>(larger.bytes(), 1)));
  std::memset(buffer.data(), 0, buffer.bytes());
  larger.data = buffer.data();
  copyView(withRows(kept.view, info.axis, kept.rows), withRows(larger, info.axis, kept.rows));
  kept.buffer = std::move(buffer);
  kept.view = larger;
  kept.capacity = capacity;
  kept.dropped = 0;
}

// The rows that are left go to the buffer's beginning; they do not overlap with where they were.
void SessionImpl::reclaimDropped(size_t state) {
  KeptState &kept = states[state];
  const int64_t axis = compiled().states[state].axis;
  View front = kept.view;
  front.data = kept.buffer.data();
  copyView(withRows(kept.view, axis, kept.rows), withRows(front, axis, kept.rows));
  kept.view = front;
  kept.capacity += kept.dropped;
  kept.dropped = 0;
}

void SessionImpl::keepLast(const std::string &name, int64_t rows) {
  const size_t state = stateIndex(name);
  const lowering::KvState &info = compiled().states[state];
  KeptState &kept = states[state];
  if (!info.grows || isSubByte(compiled().graph.fact(info.input).dtype))
    throw Error("its rows cannot be dropped: it does not grow").at("input '" + name + "'");
  if (rows < 0)
    throw Error("cannot keep " + std::to_string(rows) + " rows").at("input '" + name + "'");
  const int64_t drop = kept.rows - rows;
  if (drop <= 0 || !kept.view.present())
    return;
  const int64_t bytes = dtypeInfo(kept.view.dtype).bits / 8;
  kept.view.data =
      static_cast<char *>(kept.view.data) + drop * kept.view.strides[info.axis] * bytes;
  kept.rows = rows;
  kept.capacity -= drop;
  kept.dropped += drop;
}

void SessionImpl::setState(const std::string &name, const Tensor &value) {
  const size_t state = stateIndex(name);
  const lowering::KvState &info = compiled().states[state];
  const ir::Fact &fact = compiled().graph.fact(info.input);
  bool fits = value.dtype() == fact.dtype && static_cast<int>(value.shape().size()) == fact.rank();
  for (int axis = 0; fits && axis < fact.rank(); ++axis)
    fits = !fact.shape[axis].isConstant() || fact.shape[axis].is(value.shape()[axis]);
  if (!fits)
    throw Error("got " + std::string(dtypeLongName(value.dtype())) + dimsText(value.shape()) +
                ", expected " + dtypeLongName(fact.dtype) + ir::str(fact.shape))
        .at("input '" + name + "'");
  allocateState(state, value.shape());
  copyView(tensorView(value), states[state].view);
}

Tensor SessionImpl::state(const std::string &name) const {
  const size_t state = stateIndex(name);
  const KeptState &kept = states[state];
  if (!kept.view.present())
    throw Error("the state '" + name + "' has no content before the first step");
  const View view = withRows(kept.view, compiled().states[state].axis, kept.rows);
  Tensor copy = Tensor::zeros(view.dtype, std::vector<int64_t>(view.dims, view.dims + view.rank));
  if (!copy.defined())
    throw Error("out of memory: a copy of the state '" + name + "'", Error::Kind::kOutOfMemory);
  copyView(view, tensorView(copy));
  return copy;
}

int64_t SessionImpl::length() const {
  int64_t longest = 0;
  for (size_t i = 0; i < states.size(); ++i) {
    if (compiled().states[i].grows && states[i].view.present())
      return states[i].rows;
    for (int64_t length : states[i].lengths)
      longest = std::max(longest, length);
  }
  return longest;
}

// A windowed cache can give up tokens as long as it has dropped none that it would hold without
// them.
void SessionImpl::requireRewindable(size_t state, int64_t rows) const {
  const lowering::KvState &info = compiled().states[state];
  const KeptState &kept = states[state];
  if (info.window <= 0 || !kept.view.present())
    return;
  if (kept.lengths.empty())
    throw Error("cannot rewind to " + std::to_string(rows) +
                " rows: the windowed cache was given its content, and no step has said how many "
                "tokens that stands for")
        .at("input '" + inputName(state) + "'");
  for (int64_t length : kept.lengths) {
    const int64_t first = length - residentRows(length, kept.capacity, info.window);
    if (rows < length && rows - residentRows(rows, kept.capacity, info.window) != first)
      throw Error(
          "cannot rewind to " + std::to_string(rows) + " rows: the windowed cache holds rows " +
          std::to_string(first) + " to " + std::to_string(length - 1) +
          " and has dropped some that are needed then; reset the session and run the first " +
          std::to_string(rows) + " tokens again")
          .at("input '" + inputName(state) + "'");
  }
}

void SessionImpl::rewind(int64_t rows) {
  if (rows < 0 || rows > length())
    throw Error("cannot rewind to " + std::to_string(rows) + " rows: the caches hold " +
                std::to_string(length()));
  if (rows > 0 && torn_)
    throw Error("cannot rewind to " + std::to_string(rows) +
                " rows: a step ended while it moved rows of a windowed cache; reset the session");
  for (size_t i = 0; rows > 0 && i < states.size(); ++i)
    requireRewindable(i, rows);
  for (size_t i = 0; i < states.size(); ++i) {
    KeptState &kept = states[i];
    if (compiled().states[i].grows)
      kept.rows = std::min(kept.rows, rows);
    for (int64_t &length : kept.lengths)
      length = std::min(length, rows);
    if (rows == 0 && kept.view.present())
      clearState(i);
  }
  torn_ = torn_ && rows > 0;
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
  const Status status = detail::guarded(impl.model.impl().path,
                                        [&] { results = impl.run(inputs, outputs, keepStates); });
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

Status Session::keepLast(const std::string &inputName, int64_t rows) {
  return detail::guarded(impl_->model.impl().path, [&] { impl_->keepLast(inputName, rows); });
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
