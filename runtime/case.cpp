#include "runtime/case.h"

#include "frontend/quote.h"
#include "frontend/tensor_file.h"
#include "ir/error.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>

namespace engine {

namespace fs = std::filesystem;

namespace {

constexpr const char *kFirstBundle = "io.npz";

std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (file.bad() || !file.is_open())
    throw Error("it cannot be read").inFile(path);
  return text;
}

std::string joined(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += (text.empty() ? "" : "\n") + line;
  return text;
}

// What goes wrong inside a case, for its report.
struct CaseFailure {
  std::string reason;
};

[[noreturn]] void fail(std::string reason) { throw CaseFailure{std::move(reason)}; }

// --- case.txt ------------------------------------------------------------------------------------

class CaseParser {
public:
  CaseText parse(llvm::StringRef text) {
    while (!text.empty()) {
      const auto [line, rest] = text.split('\n');
      text = rest;
      ++line_;
      if (!line.trim().empty())
        parseLine(line.trim());
    }
    if (case_.loadOnly && case_.refuse.empty())
      throw Error("load-only says nothing without refuse");
    return std::move(case_);
  }

private:
  [[noreturn]] void fault(const std::string &what) const {
    throw Error("line " + std::to_string(line_) + ": " + what);
  }

  void parseLine(llvm::StringRef line) {
    const size_t colon = line.find(':');
    if (colon == llvm::StringRef::npos)
      fault("expected KEY: VALUE");
    const llvm::StringRef key = line.take_front(colon), value = line.drop_front(colon + 1).trim();
    const auto [word, argument] = key.split(' ');
    if (word == "static" &&
        case_.statics.count(argument.empty() ? kFirstBundle : argument.str()) == 0)
      case_.statics[argument.empty() ? kFirstBundle : argument.str()] = symbols(value);
    else if (key == "tolerance" && !case_.tolerance)
      case_.tolerance = tolerance(value);
    else if (key == "expected" && case_.expected.empty())
      case_.expected = value.str();
    else if (key == "skip")
      skip(value);
    else if (key == "refuse" && !value.empty())
      case_.refuse.push_back(value.str());
    else if (bool *flag = flagOf(key); flag && !*flag && value == "yes")
      *flag = true;
    else
      fault("not understood, or given twice: " + frontend::quoted(line));
  }

  bool *flagOf(llvm::StringRef key) {
    if (key == "state-in-place")
      return &case_.stateInPlace;
    if (key == "exact")
      return &case_.exact;
    return key == "load-only" ? &case_.loadOnly : nullptr;
  }

  void skip(llvm::StringRef value) {
    const auto [way, reason] = value.split(' ');
    for (Way known : kWays)
      if (way == wayName(known) && !reason.trim().empty()) {
        case_.skip[way.str()] = reason.trim().str();
        return;
      }
    fault("expected one of import, passes, round-trip and static, and the reason");
  }

  Tolerance tolerance(llvm::StringRef value) const {
    const auto [absolute, relative] = value.split(' ');
    Tolerance result;
    if (absolute.getAsDouble(result.absolute) || relative.trim().getAsDouble(result.relative) ||
        !(result.absolute >= 0) || !(result.relative >= 0))
      fault("expected two numbers: ATOL RTOL");
    return result;
  }

  std::map<std::string, int64_t> symbols(llvm::StringRef value) const {
    std::map<std::string, int64_t> result;
    llvm::SmallVector<llvm::StringRef, 4> words;
    value.split(words, ' ', -1, false);
    for (llvm::StringRef word : words) {
      const auto [name, number] = word.rsplit('=');
      int64_t size = 0;
      if (name.empty() || number.getAsInteger(10, size) || size < 0)
        fault("expected NAME=N, not " + frontend::quoted(word));
      result[name.str()] = size;
    }
    return result;
  }

  CaseText case_;
  int line_ = 0;
};

// --- The ONNX project's form ---------------------------------------------------------------------

// Files PREFIX_K.pb of a folder, by K.
std::map<int, std::string> numberedFiles(const fs::path &folder, llvm::StringRef prefix) {
  std::map<int, std::string> files;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    llvm::StringRef name = file;
    int number = 0;
    if (name.consume_front(prefix) && name.consume_back(".pb") && !name.getAsInteger(10, number) &&
        number >= 0)
      files[number] = entry.path().string();
  }
  return files;
}

std::map<int, fs::path> dataSets(const std::string &directory) {
  std::map<int, fs::path> sets;
  for (const fs::directory_entry &entry : fs::directory_iterator(directory)) {
    const std::string file = entry.path().filename().string();
    llvm::StringRef name = file;
    int number = 0;
    if (entry.is_directory() && name.consume_front("test_data_set_") &&
        !name.getAsInteger(10, number))
      sets[number] = entry.path();
  }
  return sets;
}

Tensor tensorOf(const ir::ConstRef &constant) {
  // Nobody writes to a feed or to an expected value.
  return Tensor::adopt(constant->dtype, {constant->dims.begin(), constant->dims.end()},
                       const_cast<void *>(constant->data),
                       std::shared_ptr<void>(constant, const_cast<void *>(constant->data)));
}

// Values by file, for the names in order. Files may be missing: what they stand for is left out.
Tensors readTensors(const std::map<int, std::string> &files, llvm::ArrayRef<ValueInfo> values,
                    bool inputs) {
  Tensors tensors;
  for (const auto &[number, path] : files) {
    if (static_cast<size_t>(number) >= values.size())
      throw Error("the model has " + std::to_string(values.size()) +
                  (inputs ? " inputs without a default" : " outputs"))
          .inFile(path);
    const ValueInfo &value = values[number];
    const Tensor tensor = tensorOf(frontend::readTensorFile(path));
    tensors[value.name] = inputs ? fitInput(tensor, value.dtype, false) : tensor;
  }
  return tensors;
}

std::optional<Tolerance> readTolJson(const std::string &path) {
  if (!fs::exists(path))
    return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(readText(path), nullptr, false);
  if (!json.is_object())
    throw Error("it is no JSON object").inFile(path);
  auto number = [&](const char *key) {
    const auto it = json.find(key);
    if (it == json.end())
      return 0.0;
    if (!it->is_number() || !(it->get<double>() >= 0))
      throw Error(std::string("'") + key + "' is no number that is not negative").inFile(path);
    return it->get<double>();
  };
  return Tolerance{number("atol"), number("rtol")};
}

} // namespace

const char *wayName(Way way) {
  switch (way) {
  case Way::kImport:
    return "import";
  case Way::kPasses:
    return "passes";
  case Way::kRoundTrip:
    return "round-trip";
  case Way::kStatic:
    return "static";
  }
  return "?";
}

CaseText parseCaseText(llvm::StringRef text) { return CaseParser().parse(text); }

// --- One directory -------------------------------------------------------------------------------

Case::Case(std::string directory) : directory_(std::move(directory)) {
  while (directory_.size() > 1 && directory_.back() == '/')
    directory_.pop_back();
}

CaseOutcome Case::guarded(llvm::function_ref<void()> body) const {
  try {
    body();
    return {};
  } catch (const CaseFailure &failure) {
    return {failure.reason, ""};
  } catch (const Error &error) {
    return {error.what(), ""};
  } catch (const std::bad_alloc &) {
    return {"out of memory", ""};
  } catch (const std::exception &error) {
    return {error.what(), ""};
  }
}

void Case::prepare() {
  if (prepared_)
    return;
  if (!fs::is_regular_file(modelPath()))
    fail("there is no " + modelPath());
  const std::string path = directory_ + "/case.txt";
  if (fs::exists(path)) {
    try {
      text_ = parseCaseText(readText(path));
    } catch (Error &error) {
      throw error.inFile(path);
    }
  }
  for (const fs::directory_entry &entry : fs::directory_iterator(directory_)) {
    const std::string name = entry.path().filename().string();
    if (name == kFirstBundle || (name.rfind("io_", 0) == 0 && entry.path().extension() == ".npz"))
      bundles_.push_back(name);
  }
  llvm::sort(bundles_);
  if (bundles_.empty() && !text_.loadOnly)
    fail("there is no io.npz and no test_data_set_N in " + directory_);
  for (const auto &[bundle, symbols] : text_.statics)
    if (!llvm::is_contained(bundles_, bundle))
      throw Error("static: there is no bundle " + frontend::quoted(bundle)).inFile(path);
  prepared_ = true;
}

CaseOutcome Case::run(const CaseOptions &options) {
  bool own = false;
  const CaseOutcome outcome = guarded([&] {
    if (!fs::is_directory(directory_))
      fail("there is no directory " + directory_);
    own = dataSets(directory_).empty();
    if (!own)
      runOnnxForm(options);
  });
  return own ? run(Way::kPasses, options) : outcome;
}

CaseOutcome Case::run(Way way, const CaseOptions &options) {
  std::string skipped;
  CaseOutcome outcome = guarded([&] {
    prepare();
    if (const auto skip = text_.skip.find(wayName(way)); skip != text_.skip.end()) {
      skipped = skip->second;
      return;
    }
    if (!text_.refuse.empty())
      return runRefused(way, options);
    for (const std::string &bundle : bundles_)
      runBundle(bundle, way, options);
  });
  outcome.skipped = skipped;
  return outcome;
}

ModelOptions Case::modelOptions(const std::string &bundle, Way way,
                                const CaseOptions &options) const {
  ModelOptions model = options.model;
  model.exact = model.exact || text_.exact;
  switch (way) {
  case Way::kImport:
    model.backend = "reference";
    model.stopAfter = "import";
    model.kernels.clear();
    break;
  case Way::kPasses:
    break;
  case Way::kRoundTrip:
    model.roundTrip = true;
    break;
  case Way::kStatic:
    if (const auto symbols = text_.statics.find(bundle); symbols != text_.statics.end())
      model.symbols = symbols->second;
    break;
  }
  return model;
}

Result<Tensors> Case::call(const Model &model, const Bundle &bundle, Way way,
                           const CaseOptions &options) const {
  Result<Session> session = Session::create(model, options.session);
  if (!session)
    return session.error();
  Tensors feed = bundle.inputs;
  std::vector<const ValueInfo *> states;
  if (text_.stateInPlace)
    for (const ValueInfo &input : model.inputs())
      if (const auto given = feed.find(input.name); input.state && given != feed.end()) {
        if (const Status status = session->setState(input.name, given->second); !status)
          return status.error();
        feed.erase(given);
        states.push_back(&input);
      }
  if (states.empty()) {
    // Caches that only a pass recognises are ordinary inputs before it ran.
    if (text_.stateInPlace && way != Way::kImport)
      fail("state-in-place: the model has no state");
    return session->run(feed);
  }
  Result<Tensors> outputs = session->step(feed);
  for (const ValueInfo *state : states) {
    if (!outputs)
      break;
    Result<Tensor> value = session->state(state->name);
    if (!value)
      return value.error();
    (*outputs)[state->peer] = *value;
  }
  return outputs;
}

void Case::runBundle(const std::string &name, Way way, const CaseOptions &options) {
  const Result<Model> model = Model::load(modelPath(), modelOptions(name, way, options));
  if (!model)
    fail(model.error().message);
  const std::string path = directory_ + "/" + name;
  const Bundle bundle = readBundle(path, model->inputs(), model->outputs());
  const Result<Tensors> outputs = call(*model, bundle, way, options);
  if (!outputs)
    fail(name + ": " + outputs.error().message);

  const Tolerances tolerances = text_.tolerance ? Tolerances(*text_.tolerance) : Tolerances();
  std::vector<std::string> wrong =
      compareOutputs(model->outputs(), *outputs, bundle.expected, bundle.masks, tolerances);
  for (std::string &message : wrong)
    message = name + ": " + message;
  if (const auto symbolic = results_.find(name); way == Way::kStatic && symbolic != results_.end())
    for (const std::string &message :
         compareOutputs(model->outputs(), *outputs, symbolic->second, bundle.masks, tolerances))
      wrong.push_back(name + ", against symbolic shapes: " + message);
  if (way == Way::kPasses)
    results_[name] = *outputs;
  if (!wrong.empty())
    fail(joined(wrong));
}

void Case::checkRefusal(const Failure &failure) const {
  if (failure.kind != Failure::Kind::kRefused)
    fail("refused, but not as the file's fault: " + failure.message);
  for (const std::string &text : text_.refuse)
    if (failure.message.find(text) == std::string::npos)
      fail("refused without " + frontend::quoted(text) + " in the message: " + failure.message);
}

void Case::runRefused(Way way, const CaseOptions &options) {
  const std::vector<std::string> bundles =
      bundles_.empty() ? std::vector<std::string>{kFirstBundle} : bundles_;
  for (const std::string &name : bundles) {
    const Result<Model> model = Model::load(modelPath(), modelOptions(name, way, options));
    if (!model) {
      checkRefusal(model.error());
      continue;
    }
    if (text_.loadOnly)
      fail("it was loaded, but must be refused with " + frontend::quoted(text_.refuse.front()));
    Bundle bundle;
    try {
      bundle = readBundle(directory_ + "/" + name, model->inputs(), model->outputs());
    } catch (const Error &error) {
      checkRefusal({Failure::Kind::kRefused, error.what()});
      continue;
    }
    const Result<Tensors> outputs = call(*model, bundle, way, options);
    if (outputs)
      fail(name + ": it ran, but must be refused with " + frontend::quoted(text_.refuse.front()));
    checkRefusal(outputs.error());
  }
}

void Case::runOnnxForm(const CaseOptions &options) const {
  const Result<Model> model = Model::load(modelPath(), options.model);
  if (!model)
    fail(model.error().message);
  std::vector<ValueInfo> fed;
  for (const ValueInfo &input : model->inputs())
    if (!input.hasDefault)
      fed.push_back(input);
  Tolerances tolerances;
  if (const std::optional<Tolerance> given = readTolJson(directory_ + "/tol.json"))
    tolerances.widen(*given);

  std::vector<std::string> wrong;
  for (const auto &[number, folder] : dataSets(directory_)) {
    const std::string name = folder.filename().string();
    const Tensors inputs = readTensors(numberedFiles(folder, "input_"), fed, true);
    const Tensors expected = readTensors(numberedFiles(folder, "output_"), model->outputs(), false);
    Result<Session> session = Session::create(*model, options.session);
    if (!session)
      fail(session.error().message);
    const Result<Tensors> outputs = session->run(inputs);
    if (!outputs)
      fail(name + ": " + outputs.error().message);
    for (const std::string &message :
         compareOutputs(model->outputs(), *outputs, expected, {}, tolerances))
      wrong.push_back(name + ": " + message);
  }
  if (!wrong.empty())
    fail(joined(wrong));
}

} // namespace engine
