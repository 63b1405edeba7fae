#include "frontend/mapped_file.h"
#include "ir/text.h"
#include "runtime/session_impl.h"

#include "llvm/Support/ErrorHandling.h"

#include <mutex>
#include <new>

namespace engine {

namespace {

Failure::Kind failureKind(Error::Kind kind) {
  switch (kind) {
  case Error::Kind::kRefused:
    return Failure::Kind::kRefused;
  case Error::Kind::kOutOfMemory:
    return Failure::Kind::kOutOfMemory;
  case Error::Kind::kCancelled:
    return Failure::Kind::kCancelled;
  case Error::Kind::kInternal:
    break;
  }
  return Failure::Kind::kInternal;
}

Isa isaByName(const std::string &name) {
  const Isa best = bestIsa();
  if (name.empty())
    return best;
  for (Isa isa : kAllIsas) {
    if (name != isaName(isa))
      continue;
    if (isa > best)
      throw Error("this machine does not have the instruction set '" + name +
                  "'; its highest is '" + isaName(best) + "'");
    // avx512 stands for all that the machine has of it.
    return isa == Isa::kAvx512 ? best : isa;
  }
  throw Error("there is no instruction set '" + name + "'; expected base, avx2 or avx512");
}

std::vector<std::string> shapeTexts(const ir::Fact &fact) {
  std::vector<std::string> texts;
  for (const ir::Dim &dim : fact.shape)
    texts.push_back(dim.str());
  return texts;
}

void describe(detail::ModelImpl &impl) {
  const lowering::CompiledGraph &compiled = *impl.compiled;
  const ir::Graph &graph = compiled.graph;
  for (ir::ValueId input : graph.inputs()) {
    const ir::Value &value = graph.value(input);
    ValueInfo info;
    info.name = value.name;
    info.dtype = value.fact.dtype;
    info.shape = shapeTexts(value.fact);
    impl.inputs.push_back(std::move(info));
  }
  for (const ir::InputDefault &entry : graph.defaults()) {
    const size_t index = llvm::find(graph.inputs(), entry.input) - graph.inputs().begin();
    impl.inputs[index].hasDefault = true;
    impl.defaults.push_back(entry);
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const ir::Fact &fact = graph.fact(graph.outputs()[i]);
    ValueInfo info;
    info.name = graph.outputNames()[i];
    info.dtype = fact.dtype;
    info.shape = shapeTexts(fact);
    impl.outputs.push_back(std::move(info));
  }
  for (const lowering::KvState &state : compiled.states) {
    const size_t index = llvm::find(graph.inputs(), state.input) - graph.inputs().begin();
    impl.inputs[index].state = impl.outputs[state.output].state = true;
    impl.inputs[index].peer = impl.outputs[state.output].name;
    impl.outputs[state.output].peer = impl.inputs[index].name;
  }
}

frontend::LoadOptions loadOptions(const ModelOptions &options) {
  frontend::LoadOptions load;
  for (const auto &symbol : options.symbols)
    load.symbols[symbol.first] = symbol.second;
  load.weights = options.weights;
  return load;
}

std::shared_ptr<const detail::ModelImpl> build(ir::Model model, const frontend::Blockers &blockers,
                                               const ModelOptions &options) {
  if (!blockers.messages.empty()) {
    std::string all;
    for (const std::string &message : blockers.messages)
      all += (all.empty() ? "" : "\n") + message;
    // The messages name the file already.
    throw Error(all).inFile("");
  }
  auto impl = std::make_shared<detail::ModelImpl>();
  impl->path = model.path;
  impl->options = options;
  impl->warnings = model.warnings;
  ir::Graph graph = lowering::runPasses(std::move(model.graph), detail::pipelineOptions(options));
  // What a kernel holds a copy of need not stay in memory as the file has it.
  const auto packed = [](const ir::ConstData &weight) {
    frontend::giveBackPages(
        llvm::ArrayRef<char>(static_cast<const char *>(weight.data), weight.bytes));
  };
  impl->compiled = lowering::compile(std::move(graph), detail::selectOptions(options), packed);
  describe(*impl);
  return impl;
}

} // namespace

namespace detail {

void installBadAllocHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_bad_alloc_error_handler(
        [](void *, const char *, bool) { throw std::bad_alloc(); });
  });
}

lowering::PipelineOptions pipelineOptions(const ModelOptions &options) {
  lowering::PipelineOptions pipeline;
  pipeline.disabled = options.disabledPasses;
  pipeline.stopAfter = options.stopAfter;
  pipeline.roundTrip = options.roundTrip;
  pipeline.verify = options.roundTrip;
  pipeline.context.kernels = selectOptions(options).kernels;
  return pipeline;
}

lowering::SelectOptions selectOptions(const ModelOptions &options) {
  lowering::SelectOptions select;
  select.backends = lowering::backendsFor(options.backend);
  select.forced = options.kernels;
  select.kernels.isa = isaByName(options.isa);
  select.kernels.exact = options.exact;
  select.kernels.pack = options.pack;
  return select;
}

Status guarded(const std::string &file, const std::function<void()> &body) {
  try {
    body();
    return Done{};
  } catch (Error &error) {
    // Several blockers come as one text whose lines name the file themselves.
    const bool named = std::string_view(error.what()).substr(0, file.size() + 1) == file + ":";
    if (!file.empty() && !named)
      error.inFile(file);
    return Failure{failureKind(error.kind()), error.what()};
  } catch (const std::bad_alloc &) {
    return Failure{Failure::Kind::kOutOfMemory, "out of memory"};
  } catch (const std::exception &error) {
    return Failure{Failure::Kind::kInternal, std::string("unexpected: ") + error.what()};
  }
}

} // namespace detail

Result<Model> Model::load(const std::string &path, const ModelOptions &options) {
  detail::installBadAllocHandler();
  Model model;
  const Status status = detail::guarded(path, [&] {
    frontend::Blockers blockers;
    ir::Model loaded = frontend::loadModel(path, loadOptions(options), blockers);
    model.impl_ = build(std::move(loaded), blockers, options);
  });
  if (!status)
    return status.error();
  return model;
}

Result<Model> Model::load(const void *data, size_t bytes, const std::string &folder,
                          const ModelOptions &options) {
  detail::installBadAllocHandler();
  Model model;
  const std::string name = "(memory)";
  const Status status = detail::guarded(name, [&] {
    frontend::Blockers blockers;
    const llvm::ArrayRef<char> span(static_cast<const char *>(data), bytes);
    ir::Model loaded = frontend::loadModel(span, name, folder, loadOptions(options), blockers);
    model.impl_ = build(std::move(loaded), blockers, options);
  });
  if (!status)
    return status.error();
  return model;
}

const std::vector<ValueInfo> &Model::inputs() const { return impl_->inputs; }
const std::vector<ValueInfo> &Model::outputs() const { return impl_->outputs; }
const std::vector<std::string> &Model::warnings() const { return impl_->warnings; }
std::string Model::text() const { return ir::str(impl_->compiled->graph); }

} // namespace engine
