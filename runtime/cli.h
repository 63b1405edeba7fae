// The commands of the executable. main.cpp parses the command line into these options and calls one
// function; each returns the exit status. Only main.cpp sees CLI11.
#pragma once

#include "frontend/load.h"
#include "runtime/compare.h"
#include "runtime/engine.h"
#include "runtime/typical.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace engine::cli {

enum Exit {
  kDone = 0,
  kDiffers = 1,  // a comparison failed
  kRefused = 2,  // usage, file, model, feed, unsupported, out of memory
  kInternal = 3, // the engine is at fault
};

// What every command that loads a model takes.
struct LoadFlags {
  std::string model;
  std::vector<std::string> set; // SYM=N
  std::string weights;
};

// What every command that runs a model takes.
struct RunFlags : LoadFlags {
  std::string inputBundle;
  std::string backend = "cpu", device, isa;
  std::vector<std::string> kernels, disabled;
  int threads = 0;
  bool exact = false, noPack = false, castInputs = false, stateInPlace = false, roundTrip = false;
  std::optional<uint64_t> randomSeed;
  uint64_t maxMemory = 0;
  std::string stopAfter;
};

struct RunCommand : RunFlags {
  std::string saveOutputs, assertBundle, approx = "close";
};

struct BenchCommand : RunFlags {
  int warmup = 3, runs = 20;
  bool profile = false, json = false;
  std::string trace;
};

struct TestCommand {
  std::vector<std::string> directories;
  bool ways = false;
  std::string backend = "cpu", isa;
  int threads = 0;
};

struct DumpCommand : LoadFlags {
  std::string after = "import";
  bool json = false, summary = false;
};

struct ExplainCommand : LoadFlags {
  std::string inputBundle;
  bool json = false;
};

// `model` is the folder.
struct GenerateCommand : RunFlags {
  std::string promptIds;
  int64_t count = 16, chunk = 256;
  std::optional<double> temperature, topP;
  std::optional<int64_t> topK;
  std::optional<uint64_t> seed;
  bool json = false;
};

struct OpsCommand {
  bool json = false;
};

int run(const RunCommand &command);
int bench(const BenchCommand &command);
int test(const TestCommand &command);
int dump(const DumpCommand &command);
int explain(const ExplainCommand &command);
int generate(const GenerateCommand &command);
int ops(const OpsCommand &command);

// --- Shared by the commands (cli_common.cpp) -----------------------------------------------------

// Each line of a message on stderr behind "error: ".
void printError(llvm::StringRef message);
void printWarnings(const std::vector<std::string> &warnings);
// Prints the failure and gives the exit status for it.
int report(const Failure &failure);
int reportInternal(llvm::StringRef message);

// Text for stdout, checked when the program ends.
void print(llvm::StringRef text);
void printJson(const nlohmann::json &json);
// kDone, or kRefused if not all of what was printed could be written.
int finishOutput();

// What stops a command early, with the exit status; the message is printed already.
struct Stop {
  int status;
};
template <class T> T orStop(Result<T> result) {
  if (!result)
    throw Stop{report(result.error())};
  return std::move(*result);
}

std::map<std::string, int64_t> parseSymbols(const std::vector<std::string> &settings);
llvm::StringMap<int64_t> symbolMap(const std::map<std::string, int64_t> &symbols);
ModelOptions modelOptions(const RunFlags &flags);
SessionOptions sessionOptions(const RunFlags &flags);
Model loadModel(const RunFlags &flags);

// A model as far as it could be imported. The blockers are printed; `status` is kRefused if there
// are any.
struct PartialModel {
  ir::Model model;
  int status = kDone;
};
PartialModel loadPartial(const LoadFlags &flags);

// The feed of --input-from-bundle, completed by --random-inputs; what was assumed for random ones
// is noted on stderr.
Tensors makeFeed(const Model &model, const RunFlags &flags);

// A session ready to be called as often as one likes, with its caches in place if --state-in-place
// asks for it.
class Runner {
public:
  Runner(const Model &model, const RunFlags &flags, Tensors feed);

  // Caches as the feed has them: before each call after the first.
  void restore();
  Tensors call();
  // The outputs that a call with caches in place leaves in the session.
  void addStates(Tensors &outputs) const;
  Session &session() { return session_; }

private:
  Session session_;
  Tensors feed_, states_;
  std::vector<ValueInfo> stateInputs_;
};

} // namespace engine::cli
