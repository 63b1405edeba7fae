#include "runtime/generate.h"

#include "runtime/decoder_inputs.h"
#include "runtime/elements.h"
#include "runtime/sampler.h"
#include "runtime/session_impl.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>

namespace engine {

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr uintmax_t kMaxConfigBytes = 16 << 20;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class T> T orThrow(Result<T> result) {
  if (result)
    return std::move(*result);
  const Failure &failure = result.error();
  Error::Kind kind = Error::Kind::kRefused;
  if (failure.kind == Failure::Kind::kOutOfMemory)
    kind = Error::Kind::kOutOfMemory;
  else if (failure.kind == Failure::Kind::kCancelled)
    kind = Error::Kind::kCancelled;
  else if (failure.kind == Failure::Kind::kInternal)
    kind = Error::Kind::kInternal;
  throw Error(failure.message, kind);
}

// Null where there is no such file.
Json readConfig(const fs::path &path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored))
    return nullptr;
  if (fs::file_size(path, ignored) > kMaxConfigBytes)
    throw Error("it is too large for a configuration").inFile(path.string());
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Json config = Json::parse(text, nullptr, false);
  if (config.is_discarded() || !config.is_object())
    throw Error("it is no JSON object").inFile(path.string());
  return config;
}

Json member(const Json &object, const char *name) {
  return object.is_object() && object.contains(name) ? object[name] : Json();
}

int64_t integerOr(const Json &value, int64_t otherwise) {
  return value.is_number_integer() ? value.get<int64_t>() : otherwise;
}

// One id, or a list of them.
void addEndTokens(const Json &value, std::vector<int64_t> &tokens) {
  if (value.is_number_integer())
    tokens.push_back(value.get<int64_t>());
  else if (value.is_array())
    for (const Json &one : value)
      addEndTokens(one, tokens);
}

// What the folder holds.
struct Folder {
  std::string prefill, decode; // paths; prefill empty: decode takes the prompt too
  std::map<std::string, std::string> inputNames;
  std::string logits;
  std::vector<int64_t> endTokens;
  int64_t contextLength = 0; // 0: not said
  int64_t window = 0;        // of layers whose caller keeps the last rows only
  int64_t maskWindow = 0;    // the same where all layers have it
};

void readGenai(const fs::path &folder, const Json &config, Folder &found) {
  const std::string path = (folder / "genai_config.json").string();
  const Json model = member(config, "model"), decoder = member(model, "decoder");
  const Json filename = member(decoder, "filename");
  if (!filename.is_string())
    throw Error("model.decoder.filename is missing: it names the decoder's file").inFile(path);
  const fs::path file = filename.get<std::string>();
  if (file.has_root_path() || llvm::is_contained(file, fs::path("..")))
    throw Error("model.decoder.filename leaves the folder").inFile(path);
  found.decode = (folder / file).string();
  const Json names = member(decoder, "inputs");
  for (const char *role : {"input_ids", "attention_mask", "position_ids", "past_sequence_length",
                           "total_sequence_length"})
    if (const Json name = member(names, role); name.is_string())
      found.inputNames[role] = name.get<std::string>();
  if (const Json name = member(member(decoder, "outputs"), "logits"); name.is_string())
    found.logits = name.get<std::string>();
  addEndTokens(member(model, "eos_token_id"), found.endTokens);
  found.contextLength = integerOr(member(model, "context_length"), 0);
}

void readTransformers(const fs::path &folder, Folder &found) {
  const Json config = readConfig(folder / "config.json");
  const Json generation = readConfig(folder / "generation_config.json");
  addEndTokens(member(generation, "eos_token_id"), found.endTokens);
  if (found.endTokens.empty())
    addEndTokens(member(config, "eos_token_id"), found.endTokens);
  found.window = integerOr(member(config, "sliding_window"), 0);
  if (found.window == 0) // of models that are not for text alone
    found.window = integerOr(member(member(config, "text_config"), "sliding_window"), 0);
  const Json layers = member(config, "layer_types");
  const bool all = !layers.is_array() || llvm::all_of(layers, [](const Json &layer) {
    return layer == "sliding_attention";
  });
  found.maskWindow = all ? found.window : 0;
}

Folder examine(const std::string &name) {
  const fs::path folder = name;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw Error("it is no folder; expected one with genai_config.json, with prefill.onnx and "
                "decode.onnx, or with model.onnx");
  Folder found;
  if (const Json genai = readConfig(folder / "genai_config.json"); !genai.is_null()) {
    readGenai(folder, genai, found);
    return found;
  }
  const auto path = [&](const char *file) { return (folder / file).string(); };
  const bool prefill = fs::exists(folder / "prefill.onnx", ignored);
  const bool decode = fs::exists(folder / "decode.onnx", ignored);
  if (prefill != decode)
    throw Error(std::string("there is ") + (prefill ? "prefill.onnx" : "decode.onnx") + " but no " +
                (prefill ? "decode.onnx" : "prefill.onnx"));
  if (prefill) {
    found.prefill = path("prefill.onnx");
    found.decode = path("decode.onnx");
  } else if (fs::exists(folder / "model.onnx", ignored)) {
    found.decode = path("model.onnx");
  } else {
    throw Error("no model is in it; looked for genai_config.json, prefill.onnx with decode.onnx, "
                "and model.onnx");
  }
  readTransformers(folder, found);
  return found;
}

// A model with what its inputs are and where its logits are.
struct Part {
  Part(const std::string &path, const Folder &folder, const ModelOptions &options)
      : model(orThrow(Model::load(path, options))) {
    try {
      inputs = std::make_unique<DecoderInputs>(model, folder.inputNames, folder.maskWindow);
      logits = findLogits(folder.logits);
    } catch (Error &error) {
      throw error.inFile(path);
    }
  }

  std::string findLogits(const std::string &configured) const {
    const std::string wanted = configured.empty() ? "logits" : configured;
    const ValueInfo *found = nullptr;
    int candidates = 0;
    for (const ValueInfo &output : model.outputs()) {
      if (output.name == wanted)
        return output.name;
      if (output.state || output.shape.size() > 3 || output.shape.size() < 2)
        continue;
      found = &output;
      ++candidates;
    }
    if (candidates != 1)
      throw Error(
          "no output '" + wanted +
          "', and not exactly one other that could be logits: [batch, sequence, vocabulary] "
          "or [batch, vocabulary]");
    return found->name;
  }

  Model model;
  std::unique_ptr<DecoderInputs> inputs;
  std::string logits;
};

// The last row of logits, as floats.
class LastRow {
public:
  const float *of(const Tensor &logits) {
    const int64_t size = logits.shape().back();
    const int64_t first = logits.count() - size;
    if (size <= 0 || first < 0)
      throw Error("the logits are empty");
    if (logits.dtype() == DType::kF32)
      return logits.as<float>() + first;
    row_.resize(static_cast<size_t>(size));
    withLoader(logits.dtype(), [&](auto load) {
      for (int64_t i = 0; i < size; ++i)
        row_[i] = static_cast<float>(load(logits.data(), first + i));
    });
    return row_.data();
  }

private:
  std::vector<float> row_;
};

} // namespace

namespace detail {

struct GeneratorImpl {
  Folder folder;
  SessionOptions options;
  std::unique_ptr<Part> prefill; // null: the decoder takes the prompt
  std::unique_ptr<Part> decode;
  std::vector<std::string> warnings;

  std::mutex mutex; // of the two below
  Session *running = nullptr;
  bool cancelled = false;
};

} // namespace detail

namespace {

// One sequence, from its prompt on.
class Run {
public:
  Run(detail::GeneratorImpl &impl, const GenerateRequest &request)
      : impl_(impl), decode_(*impl.decode), request_(request), sampler_(request.sampling) {
    const lowering::CompiledGraph &compiled = *decode_.model.impl().compiled;
    for (const lowering::KvState &state : compiled.states)
      callerSizes_ |= !state.grows && state.window == 0 &&
                      !compiled.graph.fact(state.input).shape[state.axis].isConstant();
    findSlidingCaches();
  }

  Generation generate() {
    checkPrompt();
    const Clock::time_point start = Clock::now();
    startSession();
    runPrompt();
    const int64_t most = room(); // the prefill model may have set the caches' size

    Generation result;
    result.stop = Generation::Stop::kCount;
    Clock::time_point decoding = start;
    while (static_cast<int64_t>(result.tokens.size()) < request_.maxTokens) {
      const int64_t token = sampler_.choose(lastRow_.of(logits_), logits_.shape().back());
      if (result.tokens.empty()) {
        result.prefillSeconds = secondsSince(start);
        decoding = Clock::now();
      }
      result.tokens.push_back(token);
      if (request_.onToken)
        request_.onToken(token);
      if (llvm::is_contained(impl_.folder.endTokens, token)) {
        result.stop = Generation::Stop::kEnd;
        break;
      }
      if (static_cast<int64_t>(result.tokens.size()) == request_.maxTokens)
        break;
      if (most > 0 && past_ >= most) {
        result.stop = Generation::Stop::kFull;
        break;
      }
      step(*session_, decode_, &token, 1);
    }
    if (!result.tokens.empty())
      result.decodeSeconds = secondsSince(decoding);
    return result;
  }

private:
  // Tokens that cache and context can hold; 0: no limit.
  int64_t room() const {
    int64_t most = impl_.folder.contextLength;
    auto atMost = [&](int64_t limit) {
      if (limit > 0)
        most = most > 0 ? std::min(most, limit) : limit;
    };
    atMost(decode_.inputs->capacity());
    atMost(cacheRows_);
    atMost(impl_.options.cacheRows);
    return most;
  }

  void checkPrompt() const {
    if (request_.prompt.empty())
      throw Error("the prompt is empty; at least one token is needed");
    if (request_.maxTokens < 0 || request_.chunk < 1)
      throw Error("the count of tokens must not be negative, and a chunk has at least one");
    const int64_t length = static_cast<int64_t>(request_.prompt.size());
    if (const int64_t most = room(); most > 0 && length > most)
      throw Error("the prompt has " + std::to_string(length) +
                  " tokens; the model's context and caches hold " + std::to_string(most));
    const int64_t fixed = decode_.inputs->fixedCount();
    if (!decode_.inputs->hasCaches())
      throw Error("the decoder keeps nothing between calls; looked for caches among its inputs: "
                  "past_key_values.N.key, key_cache.N, input.cache.layers.N.keys");
    if (fixed > 1)
      throw Error("the decoder takes " + std::to_string(fixed) +
                  " tokens a call, expected 1 or any")
          .inFile(impl_.folder.decode);
  }

  // Caches of layers with a window whose decoder neither drops rows nor masks them.
  void findSlidingCaches() {
    for (const std::string &name : decode_.inputs->with(DecoderInputs::Role::kConstant)) {
      const llvm::StringRef layer = llvm::StringRef(name).rsplit('.').first;
      for (const ValueInfo &info : decode_.model.inputs())
        if (info.state && llvm::StringRef(info.name).rsplit('.').first == layer)
          sliding_.push_back(info.name);
    }
    if (!sliding_.empty() && impl_.folder.window < 1)
      throw Error("the model has sliding windows; looked for their size as 'sliding_window' in "
                  "config.json beside it");
  }

  void startSession() {
    SessionOptions options = impl_.options;
    if (callerSizes_ && options.cacheRows == 0) {
      const int64_t wanted = static_cast<int64_t>(request_.prompt.size()) + request_.maxTokens;
      const int64_t most = room();
      options.cacheRows = cacheRows_ = most > 0 ? std::min(most, wanted) : wanted;
    } else if (callerSizes_) {
      cacheRows_ = options.cacheRows;
    }
    session_.emplace(orThrow(Session::create(decode_.model, options)));
    decode_.inputs->reset();
  }

  void runPrompt() {
    const int64_t total = static_cast<int64_t>(request_.prompt.size());
    if (impl_.prefill)
      runPrefill();
    const int64_t fixed = decode_.inputs->fixedCount();
    const int64_t chunk = fixed > 0 ? fixed : sliding_.empty() ? request_.chunk : 1;
    while (past_ < total) {
      if (request_.onPrompt)
        request_.onPrompt(past_, total);
      const int64_t count = std::min(chunk, total - past_);
      step(*session_, decode_, request_.prompt.data() + past_, count);
    }
    if (request_.onPrompt)
      request_.onPrompt(total, total);
  }

  // The beginning of the prompt that the prefill model takes: all of it, a fixed number of tokens,
  // or nothing where the prompt is shorter than that.
  void runPrefill() {
    Part &prefill = *impl_.prefill;
    const int64_t total = static_cast<int64_t>(request_.prompt.size());
    const int64_t fixed = prefill.inputs->fixedCount();
    const int64_t count = fixed > 0 ? fixed : total;
    if (count > total)
      return;
    SessionOptions options = impl_.options;
    options.cacheRows = 0;
    Session session = orThrow(Session::create(prefill.model, options));
    prefill.inputs->reset();
    const Running running(impl_, session);
    DecoderStep prompt{request_.prompt.data(), 0, count};
    Tensors outputs = orThrow(session.run(prefill.inputs->feed(prompt, 0)));
    logits_ = outputs[prefill.logits];
    past_ = count;
    takeCaches(outputs);
  }

  void takeCaches(const Tensors &outputs) {
    std::vector<std::string> missing;
    for (const ValueInfo &info : decode_.model.inputs())
      if (info.state)
        missing.push_back(info.name);
    for (const auto &[name, value] : outputs) {
      const ValueInfo *input = cacheInput(decode_.model.inputs(), name);
      if (!input || value.shape().size() < 3)
        continue;
      if (input->state)
        orThrow(session_->setState(input->name, value));
      else
        decode_.inputs->set(input->name, value);
      if (callerSizes_)
        cacheRows_ = value.shape()[value.shape().size() == 3 ? 1 : 2];
      llvm::erase_value(missing, input->name);
    }
    if (!missing.empty())
      throw Error("no output of the prefill model is the content of '" + missing.front() +
                  "' of decode.onnx; looked for a like name without 'input.'")
          .inFile(impl_.folder.prefill);
    dropOldRows();
  }

  void step(Session &session, Part &part, const int64_t *tokens, int64_t count) {
    const Running running(impl_, session);
    const DecoderStep step{tokens, past_, count};
    Tensors given;
    if (reusable_ && count == 1)
      given[part.logits] = logits_;
    Tensors outputs = orThrow(session.step(part.inputs->feed(step, cacheRows_), given));
    part.inputs->carry(outputs);
    logits_ = outputs[part.logits];
    reusable_ = count == 1;
    past_ += count;
    dropOldRows();
  }

  // A window of W sees W - 1 rows of the past.
  void dropOldRows() {
    for (const std::string &name : sliding_)
      orThrow(session_->keepLast(name, impl_.folder.window - 1));
  }

  // While it lives, cancel() reaches the session.
  class Running {
  public:
    Running(detail::GeneratorImpl &impl, Session &session) : impl_(impl) {
      const std::lock_guard<std::mutex> lock(impl_.mutex);
      if (impl_.cancelled)
        throw Error("cancelled", Error::Kind::kCancelled);
      impl_.running = &session;
    }
    ~Running() {
      const std::lock_guard<std::mutex> lock(impl_.mutex);
      impl_.running = nullptr;
    }

  private:
    detail::GeneratorImpl &impl_;
  };

  detail::GeneratorImpl &impl_;
  Part &decode_;
  const GenerateRequest &request_;
  Sampler sampler_;
  LastRow lastRow_;
  std::optional<Session> session_;
  std::vector<std::string> sliding_;
  bool callerSizes_ = false; // caches whose size the model leaves to the caller
  int64_t cacheRows_ = 0;    // that size
  int64_t past_ = 0;
  Tensor logits_;
  bool reusable_ = false; // logits_ is of one token: the next step may write it in place
};

} // namespace

Result<Generator> Generator::load(const std::string &folder, const ModelOptions &model,
                                  const SessionOptions &session) {
  detail::installBadAllocHandler();
  Generator generator;
  const Status status = detail::guarded(folder, [&] {
    auto impl = std::make_shared<detail::GeneratorImpl>();
    impl->folder = examine(folder);
    impl->options = session;
    if (!impl->folder.prefill.empty())
      impl->prefill = std::make_unique<Part>(impl->folder.prefill, impl->folder, model);
    impl->decode = std::make_unique<Part>(impl->folder.decode, impl->folder, model);
    for (const Part *part : {impl->prefill.get(), impl->decode.get()})
      if (part)
        impl->warnings.insert(impl->warnings.end(), part->model.warnings().begin(),
                              part->model.warnings().end());
    generator.impl_ = std::move(impl);
  });
  if (!status)
    return status.error();
  return generator;
}

Result<Generation> Generator::generate(const GenerateRequest &request) {
  Generation generation;
  const Status status = detail::guarded(impl_->folder.decode, [&] {
    {
      const std::lock_guard<std::mutex> lock(impl_->mutex);
      impl_->cancelled = false;
    }
    generation = Run(*impl_, request).generate();
  });
  if (!status)
    return status.error();
  return generation;
}

const std::vector<std::string> &Generator::warnings() const { return impl_->warnings; }

void Generator::cancel() {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->cancelled = true;
  if (impl_->running)
    impl_->running->cancel();
}

} // namespace engine
