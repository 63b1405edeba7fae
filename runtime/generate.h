// Text generation with a folder of exported models: token ids in, token ids out.
//
//   genai_config.json              the decoder that it names, with its input and output names,
//                                  context length and end tokens
//   prefill.onnx and decode.onnx   the prompt at once if prefill takes its length, then token by
//                                  token; config.json beside them
//   model.onnx                     alone
//
// What an input is, its name and shape tell; a caller need not know the exporter. An
// input that is not recognised is refused with what was looked for.
#pragma once

#include "engine.h" // stands beside it where both are installed

#include <functional>

namespace engine {

// Greedy at temperature 0. Otherwise: logits / temperature; the topK largest (0: all; equal ones in
// order of id); softmax; of these, in descending order, the fewest that reach topP together; drawn
// in proportion. One draw of std::mt19937_64 a token, its upper 53 bits a number in [0, 1): the
// same tokens for the same seed and logits on every machine.
struct Sampling {
  double temperature = 0;
  int64_t topK = 0;
  double topP = 1;
  uint64_t seed = 0;
};

struct GenerateRequest {
  std::vector<int64_t> prompt;
  int64_t maxTokens = 16;
  int64_t chunk = 256; // most tokens of the prompt in one call
  Sampling sampling;
  std::function<void(int64_t token)> onToken;
  std::function<void(int64_t done, int64_t total)> onPrompt; // tokens of the prompt
};

struct Generation {
  enum class Stop {
    kCount,
    kEnd,
    kFull
  }; // maxTokens; an end token, which is the last; no room in cache or context
  std::vector<int64_t> tokens;
  Stop stop = Stop::kCount;
  double prefillSeconds = 0; // until the first token
  double decodeSeconds = 0;  // from there on
};

namespace detail {
struct GeneratorImpl;
} // namespace detail

class ENGINE_API Generator {
public:
  static Result<Generator> load(const std::string &folder, const ModelOptions &model = {},
                                const SessionOptions &session = {});

  // Begins anew each time.
  Result<Generation> generate(const GenerateRequest &request);
  const std::vector<std::string> &warnings() const;
  // Stops a generation in another thread: Failure::kCancelled.
  void cancel();

private:
  std::shared_ptr<detail::GeneratorImpl> impl_;
};

} // namespace engine
