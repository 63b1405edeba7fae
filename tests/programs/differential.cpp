// Runs directories of one call each (model.onnx, io.npz, case.txt) in one process, every one with
// symbolic and static shapes, on the reference and the CPU kernels, with 1 and 2 threads: all must
// give the expected values, and the same bits when the same thing is done again.
//
//   differential FOLDER [--stop]   every directory in FOLDER, or up to the first that fails; closes
//                                  with `N passed, N failed`
#include "ir/error.h"
#include "runtime/case.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace engine;

namespace {

struct Variant {
  const char *name;
  const char *backend;
  const char *isa; // "": the machine's
  int threads;
  bool fixed; // static shapes
};

// The static ones take turns with the instruction sets.
constexpr Variant kVariants[] = {
    {"reference", "reference", "", 1, false},      {"cpu", "cpu", "", 1, false},
    {"cpu, 2 threads", "cpu", "", 2, false},       {"reference, static", "reference", "", 1, true},
    {"cpu, static", "cpu", "", 1, true},           {"cpu, static, 2 threads", "cpu", "", 2, true},
    {"cpu, static, avx2", "cpu", "avx2", 1, true}, {"cpu, static, base", "cpu", "base", 2, true},
};
constexpr size_t kFirstIsaVariant = 6;

std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error("it cannot be read").inFile(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

template <class T> T orThrow(Result<T> result) {
  if (!result)
    throw Error(result.error().message);
  return std::move(*result);
}

// Deep copies: a run must leave its inputs as they are.
Tensors copyOf(const Tensors &tensors) {
  Tensors copies;
  for (const auto &[name, tensor] : tensors) {
    Tensor copy = Tensor::zeros(tensor.dtype(), tensor.shape());
    if (tensor.bytes())
      std::memcpy(copy.data(), tensor.data(), tensor.bytes());
    copies[name] = copy;
  }
  return copies;
}

std::string firstDifference(const Tensors &a, const Tensors &b) {
  for (const auto &[name, tensor] : a) {
    const auto other = b.find(name);
    if (other == b.end() || tensor.shape() != other->second.shape() ||
        (tensor.bytes() && std::memcmp(tensor.data(), other->second.data(), tensor.bytes()) != 0))
      return name;
  }
  return "";
}

class Call {
public:
  explicit Call(const std::string &directory) : directory_(directory) {
    text_ = parseCaseText(readText(directory + "/case.txt"));
  }

  // Empty, or what is wrong.
  std::string check(size_t number) {
    for (size_t i = 0; i < std::size(kVariants); ++i) {
      const bool ofThisCall = i < kFirstIsaVariant || i == kFirstIsaVariant + number % 2;
      if (!ofThisCall)
        continue;
      if (const std::string wrong = guarded(kVariants[i]); !wrong.empty())
        return std::string(kVariants[i].name) + ": " + wrong;
    }
    return "";
  }

private:
  std::string guarded(const Variant &variant) {
    try {
      return checkVariant(variant);
    } catch (const std::exception &error) {
      return error.what();
    }
  }

  std::string checkVariant(const Variant &variant) {
    ModelOptions options;
    options.backend = variant.backend;
    options.isa = variant.isa;
    if (variant.fixed)
      options.symbols = text_.statics["io.npz"];
    const Model model = orThrow(Model::load(directory_ + "/model.onnx", options));
    if (bundle_.inputs.empty())
      bundle_ = readBundle(directory_ + "/io.npz", model.inputs(), model.outputs());
    SessionOptions session;
    session.threads = variant.threads;
    const Tensors inputs = copyOf(bundle_.inputs);
    const Tensors got = run(orThrow(Session::create(model, session)), model, inputs);
    if (const std::string name = firstDifference(inputs, bundle_.inputs); !name.empty())
      return "input '" + name + "' was changed";
    const Tensors again = run(orThrow(Session::create(model, session)), model, inputs);
    if (const std::string name = firstDifference(got, again); !name.empty())
      return "output '" + name + "' has other bits when the same is run again";
    return compare(model, got);
  }

  // A cache that shares its buffer with its present is kept by the session.
  Tensors run(Session session, const Model &model, Tensors feed) const {
    if (!text_.stateInPlace)
      return orThrow(session.run(feed));
    std::vector<const ValueInfo *> states;
    for (const ValueInfo &input : model.inputs())
      if (const auto given = feed.find(input.name); input.state && given != feed.end()) {
        orThrow(session.setState(input.name, given->second));
        feed.erase(given);
        states.push_back(&input);
      }
    if (states.empty())
      throw Error("the model has no state");
    Tensors outputs = orThrow(session.step(feed));
    for (const ValueInfo *state : states)
      outputs[state->peer] = orThrow(session.state(state->name));
    return outputs;
  }

  // Against what is expected, and against the first variant: within rounding of each other.
  std::string compare(const Model &model, const Tensors &got) {
    const Tolerances tolerances(*text_.tolerance);
    std::vector<std::string> wrong =
        compareOutputs(model.outputs(), got, bundle_.expected, bundle_.masks, tolerances);
    if (wrong.empty() && first_.empty())
      first_ = got;
    else if (wrong.empty())
      wrong = compareOutputs(model.outputs(), got, first_, bundle_.masks, tolerances);
    return wrong.empty() ? "" : wrong.front();
  }

  std::string directory_;
  CaseText text_;
  Bundle bundle_;
  Tensors first_; // results of the first variant
};

} // namespace

int main(int argc, char **argv) {
  const bool stops = argc == 3 && std::strcmp(argv[2], "--stop") == 0;
  if (argc != 2 && !stops) {
    std::fprintf(stderr, "usage: differential FOLDER [--stop]\n");
    return 2;
  }
  std::vector<std::string> directories;
  for (const auto &entry : std::filesystem::directory_iterator(argv[1]))
    if (entry.is_directory())
      directories.push_back(entry.path().string());
  llvm::sort(directories);
  size_t passed = 0, failed = 0;
  for (size_t i = 0; i < directories.size() && !(stops && failed); ++i) {
    std::string wrong;
    try {
      wrong = Call(directories[i]).check(i);
    } catch (const std::exception &error) {
      wrong = error.what();
    }
    ++(wrong.empty() ? passed : failed);
    if (!wrong.empty())
      std::printf("%s: %s\n", directories[i].c_str(), wrong.c_str());
  }
  std::printf("%zu passed, %zu failed\n", passed, failed);
  return failed || !passed ? 1 : 0;
}
