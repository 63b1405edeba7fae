// Generation: what is drawn from logits, what a decoder's inputs are taken for, and whole models
// against onnxruntime's tokens.
#include "ir/error.h"
#include "runtime/decoder_inputs.h"
#include "runtime/generate.h"
#include "runtime/sampler.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace engine;

namespace {

const std::vector<int64_t> kPrompt = {5, 17, 99, 200, 33, 64, 7, 123, 42, 11, 250, 77};

struct Folder {
  fs::path path = fs::temp_directory_path() / ("generate_test." + std::to_string(getpid()));
  Folder() {
    fs::remove_all(path);
    fs::create_directory(path);
  }
  ~Folder() { fs::remove_all(path); }
  void write(const char *file, const std::string &text) const {
    std::ofstream(path / file, std::ios::binary) << text;
  }
  void copyModel(const std::string &from, const char *as) const {
    for (const char *end : {"", ".data"})
      if (fs::exists(from + "/model.onnx" + end))
        fs::copy_file(from + "/model.onnx" + end, path / (end[0] ? "model.onnx.data" : as),
                      fs::copy_options::overwrite_existing);
  }
};

std::string refusal(const std::string &folder) {
  const Result<Generator> generator = Generator::load(folder);
  return generator ? "" : generator.error().message;
}

Generation generate(const std::string &folder, const GenerateRequest &request) {
  Result<Generator> generator = Generator::load(folder);
  REQUIRE_MESSAGE(generator.ok(), (generator ? "" : generator.error().message));
  Result<Generation> generation = generator->generate(request);
  REQUIRE_MESSAGE(generation.ok(), (generation ? "" : generation.error().message));
  return *generation;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("sampler: the likeliest token") {
  struct Row {
    const char *why;
    std::vector<float> logits;
    int64_t token;
  };
  const Row rows[] = {
      {"the largest", {1, 3, 2}, 1},
      {"the first of equal ones", {1, 3, 3}, 1},
      {"NaN is no number", {NAN, 0, 1}, 2},
      {"infinity", {0, INFINITY, 1}, 1},
      {"all minus infinity but one", {-INFINITY, -INFINITY, -5}, 2},
  };
  Sampler greedy({});
  Sampling one;
  one.temperature = 1;
  one.topK = 1;
  Sampler first(one);
  for (const Row &row : rows) {
    CAPTURE(row.why);
    const int64_t count = static_cast<int64_t>(row.logits.size());
    CHECK(greedy.choose(row.logits.data(), count) == row.token);
    CHECK(first.choose(row.logits.data(), count) == row.token);
  }
  const float nothing[] = {NAN, NAN};
  CHECK_THROWS_WITH_AS(greedy.choose(nothing, 2),
                       "the logits hold no number: there is no token to choose", Error);
}

TEST_CASE("sampler: shares of draws") {
  struct Row {
    const char *why;
    Sampling sampling;
    std::vector<double> shares; // of tokens 0 to 3
  };
  // softmax 0.5, 0.25, 0.125, 0.125
  const float logits[] = {std::log(4.0f), std::log(2.0f), 0, 0};
  const Row rows[] = {
      {"softmax", {1, 0, 1, 1}, {0.5, 0.25, 0.125, 0.125}},
      {"temperature 0.5 squares", {0.5, 0, 1, 2}, {16 / 22.0, 4 / 22.0, 1 / 22.0, 1 / 22.0}},
      {"the two largest", {1, 2, 1, 3}, {2 / 3.0, 1 / 3.0, 0, 0}},
      {"of equal ones the lower ids", {1, 3, 1, 4}, {4 / 7.0, 2 / 7.0, 1 / 7.0, 0}},
      {"up to half", {1, 0, 0.5, 5}, {1, 0, 0, 0}},
      {"more than half", {1, 0, 0.51, 6}, {2 / 3.0, 1 / 3.0, 0, 0}},
      {"top-p of what top-k left", {1, 2, 0.6, 7}, {1, 0, 0, 0}},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    Sampler sampler(row.sampling), same(row.sampling);
    constexpr int kDraws = 20000;
    std::vector<int> counts(4);
    for (int i = 0; i < kDraws; ++i) {
      const int64_t token = sampler.choose(logits, 4);
      REQUIRE(same.choose(logits, 4) == token);
      ++counts[static_cast<size_t>(token)];
    }
    for (size_t i = 0; i < 4; ++i)
      CHECK(counts[i] / double{kDraws} == doctest::Approx(row.shares[i]).epsilon(0.06));
  }
}

TEST_CASE("sampler: what makes no sense") {
  CHECK_THROWS_AS(Sampler({-1, 0, 1, 0}), Error);
  CHECK_THROWS_AS(Sampler({NAN, 0, 1, 0}), Error);
  CHECK_THROWS_AS(Sampler({1, -1, 1, 0}), Error);
  CHECK_THROWS_AS(Sampler({1, 0, 0, 0}), Error);
  CHECK_THROWS_AS(Sampler({1, 0, 1.5, 0}), Error);
}

// Tokens of onnxruntime 1.32.0, greedy, full precision.
TEST_CASE("generate: whole models") {
  struct Row {
    const char *folder;
    std::vector<int64_t> tokens;
  };
  const Row rows[] = {
      {"genai_llama", {112, 156, 6, 268, 70, 126, 169, 178, 99, 316, 14, 119, 241, 245, 151, 296}},
      {"mobius_llama_attention",
       {112, 156, 6, 268, 70, 126, 169, 178, 99, 316, 14, 119, 241, 245, 151, 296}},
      {"mobius_llama_static",
       {112, 156, 6, 268, 70, 126, 169, 178, 99, 316, 14, 119, 241, 245, 151, 296}},
      {"mobius_mistral_window",
       {101, 83, 101, 221, 169, 84, 114, 106, 63, 198, 114, 308, 216, 22, 26, 116}},
      {"mobius_mistral_static_bias",
       {101, 83, 101, 221, 169, 84, 114, 106, 63, 198, 114, 308, 216, 22, 26, 116}},
  };
  for (const Row &row : rows)
    for (const int64_t chunk : {256, 5, 1}) {
      CAPTURE(row.folder);
      CAPTURE(chunk);
      GenerateRequest request;
      request.prompt = kPrompt;
      request.maxTokens = static_cast<int64_t>(row.tokens.size());
      request.chunk = chunk;
      std::vector<int64_t> streamed;
      request.onToken = [&](int64_t token) { streamed.push_back(token); };
      const Generation generation = generate(std::string("test_cases/") + row.folder, request);
      CHECK(generation.tokens == row.tokens);
      CHECK(streamed == row.tokens);
      CHECK(generation.stop == Generation::Stop::kCount);
    }
}

TEST_CASE("generate: a genai folder's end token, context and names") {
  const Folder folder;
  folder.copyModel("test_cases/genai_llama", "model.onnx");
  const std::string begin = R"({"model": {"context_length": )";
  const std::string decoder =
      R"(, "decoder": {"filename": "model.onnx", "inputs": {"input_ids": "input_ids"}, "outputs": {"logits": "logits"}}}})";
  GenerateRequest request;
  request.prompt = kPrompt;
  folder.write("genai_config.json", begin + R"(100, "eos_token_id": [6, 999])" + decoder);
  Generation generation = generate(folder.path.string(), request);
  CHECK(generation.tokens.size() == 3);
  CHECK(generation.stop == Generation::Stop::kEnd);

  folder.write("genai_config.json", begin + "14" + decoder);
  generation = generate(folder.path.string(), request);
  CHECK(generation.tokens.size() == 3);
  CHECK(generation.stop == Generation::Stop::kFull);

  folder.write("genai_config.json", begin + "11" + decoder);
  Result<Generator> generator = Generator::load(folder.path.string());
  REQUIRE(generator.ok());
  const Result<Generation> refused = generator->generate(request);
  REQUIRE_FALSE(refused.ok());
  CHECK(contains(refused.error().message,
                 "the prompt has 12 tokens; the model's context and caches hold 11"));
}

TEST_CASE("generate: folders that are refused") {
  const Folder folder;
  const std::string path = folder.path.string();
  CHECK(contains(refusal(path + "/none"), "it is no folder"));
  CHECK(contains(refusal(path), "no model is in it; looked for genai_config.json, prefill.onnx"));
  folder.copyModel("test_cases/genai_llama", "decode.onnx");
  CHECK(contains(refusal(path), "there is decode.onnx but no prefill.onnx"));
  folder.write("genai_config.json", "[1");
  CHECK(contains(refusal(path), "genai_config.json: it is no JSON object"));
  folder.write("genai_config.json", "{}");
  CHECK(contains(refusal(path), "model.decoder.filename is missing"));
  folder.write("genai_config.json", R"({"model": {"decoder": {"filename": "../model.onnx"}}})");
  CHECK(contains(refusal(path), "leaves the folder"));
  CHECK(contains(refusal("test_cases/rms_norm"),
                 "is not recognised; looked for a name that ends in"));
}

TEST_CASE("generate: requests that are refused, and cancelling") {
  Result<Generator> generator = Generator::load("test_cases/genai_llama");
  REQUIRE(generator.ok());
  GenerateRequest request;
  Result<Generation> refused = generator->generate(request);
  REQUIRE_FALSE(refused.ok());
  CHECK(contains(refused.error().message, "the prompt is empty"));

  request.prompt = {1 << 30};
  refused = generator->generate(request);
  REQUIRE_FALSE(refused.ok());
  CHECK(contains(refused.error().message, "1073741824"));

  request.prompt = kPrompt;
  request.onToken = [&](int64_t) { generator->cancel(); };
  refused = generator->generate(request);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == Failure::Kind::kCancelled);
  request.onToken = nullptr;
  CHECK(generator->generate(request).ok());
}
