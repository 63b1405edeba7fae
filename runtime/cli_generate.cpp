#include "frontend/quote.h"
#include "ir/error.h"
#include "runtime/cli.h"
#include "runtime/generate.h"

#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace engine::cli {

namespace {

using Clock = std::chrono::steady_clock;

std::vector<int64_t> parseIds(llvm::StringRef text) {
  std::vector<int64_t> ids;
  while (!text.empty()) {
    const auto [item, rest] = text.split(',');
    int64_t id = 0;
    if (item.trim().getAsInteger(10, id) || id < 0)
      throw Error("--prompt-ids: " + frontend::quoted(item) +
                  " is no token id; expected ids with commas between them: 1,2,3");
    ids.push_back(id);
    text = rest;
  }
  return ids;
}

// On stderr, for a prompt that takes a while; only where somebody looks.
class ProgressBar {
public:
  ProgressBar() : visible_(isatty(STDERR_FILENO) != 0), start_(Clock::now()) {}
  ~ProgressBar() { clear(); }

  void show(int64_t done, int64_t total) {
    const std::chrono::duration<double> spent = Clock::now() - start_;
    if (!visible_ || spent.count() < 0.5)
      return;
    if (done >= total)
      return clear();
    constexpr int64_t kWidth = 40;
    const int64_t filled = kWidth * done / total;
    std::fprintf(stderr, "\rprompt [%s%s] %lld/%lld", std::string(filled, '#').c_str(),
                 std::string(kWidth - filled, ' ').c_str(), static_cast<long long>(done),
                 static_cast<long long>(total));
    std::fflush(stderr);
    shown_ = true;
  }

private:
  void clear() {
    if (shown_)
      std::fprintf(stderr, "\r\x1b[K");
    shown_ = false;
  }

  bool visible_, shown_ = false;
  Clock::time_point start_;
};

double rate(double count, double seconds) { return seconds > 0 ? count / seconds : 0; }

const char *stopText(Generation::Stop stop) {
  switch (stop) {
  case Generation::Stop::kCount:
    return "count";
  case Generation::Stop::kEnd:
    return "end";
  case Generation::Stop::kFull:
    break;
  }
  return "full";
}

Sampling samplingOf(const GenerateCommand &command) {
  Sampling sampling;
  const bool asked = command.topK || command.topP || command.seed;
  sampling.temperature = command.temperature.value_or(asked ? 1 : 0);
  sampling.topK = command.topK.value_or(0);
  sampling.topP = command.topP.value_or(1);
  sampling.seed = command.seed.value_or(0);
  return sampling;
}

} // namespace

int generate(const GenerateCommand &command) {
  GenerateRequest request;
  request.prompt = parseIds(command.promptIds);
  request.maxTokens = command.count;
  request.chunk = command.chunk;
  request.sampling = samplingOf(command);

  const Clock::time_point loading = Clock::now();
  Generator generator =
      orStop(Generator::load(command.model, modelOptions(command), sessionOptions(command)));
  const std::chrono::duration<double, std::milli> loaded = Clock::now() - loading;
  printWarnings(generator.warnings());

  ProgressBar bar;
  request.onPrompt = [&](int64_t done, int64_t total) { bar.show(done, total); };
  bool first = true;
  if (!command.json)
    request.onToken = [&](int64_t token) {
      print((first ? "" : ",") + std::to_string(token));
      std::fflush(stdout);
      first = false;
    };
  const Result<Generation> result = generator.generate(request);
  if (!command.json && !first) {
    print("\n");
    std::fflush(stdout); // before what goes to stderr
  }
  const Generation generation = orStop(result);

  const double prompt = static_cast<double>(request.prompt.size());
  const double decoded =
      generation.tokens.empty() ? 0 : static_cast<double>(generation.tokens.size()) - 1;
  const double prefillRate = rate(prompt, generation.prefillSeconds);
  const double decodeRate = rate(decoded, generation.decodeSeconds);
  if (command.json) {
    printJson({{"tokens", generation.tokens},
               {"prompt_tokens", request.prompt.size()},
               {"stop", stopText(generation.stop)},
               {"prefill_tokens_per_s", prefillRate},
               {"decode_tokens_per_s", decodeRate},
               {"prefill_ms", generation.prefillSeconds * 1000},
               {"decode_ms", generation.decodeSeconds * 1000},
               {"load_ms", loaded.count()}});
  } else {
    std::fprintf(stderr, "prefill %.0f tokens, %.1f tokens/s; decode %.0f tokens, %.1f tokens/s\n",
                 prompt, prefillRate, decoded, decodeRate);
  }
  return kDone;
}

} // namespace engine::cli
