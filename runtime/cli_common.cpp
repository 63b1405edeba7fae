#include "frontend/quote.h"
#include "ir/error.h"
#include "runtime/bundle.h"
#include "runtime/cli.h"

#include <cerrno>
#include <cstdio>

namespace engine::cli {

namespace {
int outputError = 0; // errno of the first write to stdout that failed
} // namespace

void printError(llvm::StringRef message) {
  do {
    const auto [line, rest] = message.split('\n');
    if (!line.empty())
      std::fprintf(stderr, "error: %s\n", line.str().c_str());
    message = rest;
  } while (!message.empty());
}

void printWarnings(const std::vector<std::string> &warnings) {
  for (const std::string &warning : warnings)
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
}

int reportInternal(llvm::StringRef message) {
  printError(message);
  std::fprintf(stderr, "error: this is a fault of the engine; please report it with the model and "
                       "the command line\n");
  return kInternal;
}

int report(const Failure &failure) {
  if (failure.kind == Failure::Kind::kInternal)
    return reportInternal(failure.message);
  printError(failure.message);
  return kRefused;
}

void print(llvm::StringRef text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && outputError == 0)
    outputError = errno;
}

void printJson(const nlohmann::json &json) {
  // Names in a model may be any bytes.
  print(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  print("\n");
}

int finishOutput() {
  if (std::fflush(stdout) != 0 && outputError == 0)
    outputError = errno;
  if (outputError == 0 || outputError == EPIPE) // a reader that has seen enough closes its pipe
    return kDone;
  printError(std::string("standard output cannot be written: ") + std::strerror(outputError));
  return kRefused;
}

std::map<std::string, int64_t> parseSymbols(const std::vector<std::string> &settings) {
  std::map<std::string, int64_t> symbols;
  for (const std::string &setting : settings) {
    const auto [name, number] = llvm::StringRef(setting).rsplit('=');
    int64_t value = 0;
    if (name.empty() || number.getAsInteger(10, value) || value < 0)
      throw Error("--set " + frontend::quoted(setting) + ": expected SYM=N, N not negative");
    if (!symbols.emplace(name.str(), value).second)
      throw Error("--set " + frontend::quoted(setting) + ": this symbol is set twice");
  }
  return symbols;
}

llvm::StringMap<int64_t> symbolMap(const std::map<std::string, int64_t> &symbols) {
  llvm::StringMap<int64_t> map;
  for (const auto &[name, value] : symbols)
    map[name] = value;
  return map;
}

ModelOptions modelOptions(const RunFlags &flags) {
  if (flags.backend == "cuda")
    throw Error(
        "--backend cuda: this build has no CUDA backend; the backends are cpu and reference");
  if (!flags.device.empty())
    throw Error("--device " + flags.device +
                ": only the CUDA backend has devices, and this build is without it");
  ModelOptions options;
  options.backend = flags.backend;
  options.isa = flags.isa;
  options.symbols = parseSymbols(flags.set);
  options.kernels = flags.kernels;
  options.disabledPasses = flags.disabled;
  options.stopAfter = flags.stopAfter;
  options.weights = flags.weights;
  options.exact = flags.exact;
  options.pack = !flags.noPack;
  options.roundTrip = flags.roundTrip;
  return options;
}

SessionOptions sessionOptions(const RunFlags &flags) {
  SessionOptions options;
  options.threads = flags.threads;
  options.maxMemory = flags.maxMemory;
  return options;
}

Model loadModel(const RunFlags &flags) {
  Model model = orStop(Model::load(flags.model, modelOptions(flags)));
  printWarnings(model.warnings());
  return model;
}

PartialModel loadPartial(const LoadFlags &flags) {
  frontend::LoadOptions options;
  options.symbols = symbolMap(parseSymbols(flags.set));
  options.weights = flags.weights;
  frontend::Blockers blockers;
  PartialModel partial;
  try {
    partial.model = frontend::loadModel(flags.model, options, blockers);
  } catch (Error &error) {
    throw error.inFile(flags.model);
  }
  printWarnings(partial.model.warnings);
  for (const std::string &message : blockers.messages)
    printError(message);
  partial.status = blockers.messages.empty() ? kDone : kRefused;
  return partial;
}

Tensors makeFeed(const Model &model, const RunFlags &flags) {
  Tensors feed;
  if (!flags.inputBundle.empty())
    feed = readBundle(flags.inputBundle, model.inputs(), model.outputs(), flags.castInputs).inputs;
  if (!flags.randomSeed)
    return feed;
  RandomFeed random =
      randomFeed(model.inputs(), feed, symbolMap(parseSymbols(flags.set)), *flags.randomSeed);
  if (!random.assumed.empty()) {
    std::string text;
    for (const std::string &symbol : random.assumed)
      text += (text.empty() ? "" : ", ") + symbol;
    std::fprintf(stderr, "note: random inputs with %s (--set SYM=N fixes it)\n", text.c_str());
  }
  feed.merge(random.inputs);
  return feed;
}

Runner::Runner(const Model &model, const RunFlags &flags, Tensors feed)
    : session_(orStop(Session::create(model, sessionOptions(flags)))), feed_(std::move(feed)) {
  if (!flags.stateInPlace)
    return;
  for (const ValueInfo &input : model.inputs())
    if (const auto given = feed_.find(input.name); input.state && given != feed_.end()) {
      states_.insert(feed_.extract(given));
      stateInputs_.push_back(input);
    }
  restore();
}

void Runner::restore() {
  for (const auto &[name, value] : states_)
    orStop(session_.setState(name, value));
}

Tensors Runner::call() {
  return orStop(stateInputs_.empty() ? session_.run(feed_) : session_.step(feed_));
}

void Runner::addStates(Tensors &outputs) const {
  for (const ValueInfo &input : stateInputs_)
    outputs[input.peer] = orStop(session_.state(input.name));
}

} // namespace engine::cli
