// Sessions: steps with kept caches against runs that are fed and fetched, rewinding, limits,
// cancelling, callers' buffers.
#include "runtime/bundle.h"
#include "runtime/decoder_inputs.h"
#include "runtime/session_impl.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <thread>

namespace fs = std::filesystem;
using namespace engine;

namespace {

// The cases that are whole models, by their names.
std::vector<std::string> wholeModels() {
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator("test_cases")) {
    const std::string name = entry.path().filename().string();
    for (const char *exporter : {"genai_", "mobius_", "hf_", "optimum_", "tiny_"})
      if (name.rfind(exporter, 0) == 0 && fs::exists(entry.path() / "model.onnx"))
        names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Moves all rows of a full cache up by one: no state, the caller feeds and fetches it.
constexpr const char *kRolls = "hf_mistral_static_decode";

bool hasCacheName(const std::string &name) {
  for (const char *part : {"past_key_values.", "key_cache.", "value_cache.", ".keys", ".values"})
    if (name.find(part) != std::string::npos)
      return true;
  return false;
}

Model load(const std::string &name) {
  Result<Model> model = Model::load("test_cases/" + name + "/model.onnx");
  REQUIRE_MESSAGE(model.ok(), (model ? "" : model.error().message));
  return *model;
}

Session create(const Model &model, SessionOptions options = {}) {
  options.threads = 1;
  Result<Session> session = Session::create(model, options);
  REQUIRE(session.ok());
  return *session;
}

Tensors ok(Result<Tensors> result) {
  REQUIRE_MESSAGE(result.ok(), (result ? "" : result.error().message));
  return *result;
}

bool sameBytes(const Tensor &a, const Tensor &b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

// A model with what it is fed, step by step.
struct Decoder {
  explicit Decoder(const std::string &name) : model(load(name)), inputs(model, {}) {}

  Tensors feed(const std::vector<int64_t> &tokens, int64_t past) const {
    return inputs.feed({tokens.data(), past, static_cast<int64_t>(tokens.size())}, 0);
  }
  Tensor step(Session &session, const std::vector<int64_t> &tokens, int64_t past) const {
    return ok(session.step(feed(tokens, past)))["logits"];
  }

  Model model;
  DecoderInputs inputs;
};

} // namespace

TEST_CASE("session: a step is a run with the caches fed and fetched") {
  for (const std::string &name : wholeModels()) {
    CAPTURE(name);
    const Model model = load(name);
    for (const ValueInfo &info : model.inputs()) {
      CAPTURE(info.name);
      CHECK((info.state || !hasCacheName(info.name) || name == kRolls));
    }
    int bundles = 0;
    for (const fs::directory_entry &entry : fs::directory_iterator("test_cases/" + name)) {
      if (entry.path().extension() != ".npz")
        continue;
      const std::string file = entry.path().filename().string();
      CAPTURE(file);
      ++bundles;
      Tensors inputs = readBundle(entry.path().string(), model.inputs(), model.outputs()).inputs;
      Session session = create(model);
      const Tensors expected = ok(session.run(inputs));
      for (const ValueInfo &info : model.inputs())
        if (info.state) {
          REQUIRE(session.setState(info.name, inputs.at(info.name)).ok());
          inputs.erase(info.name);
        }
      const Tensors got = ok(session.step(inputs));
      for (const ValueInfo &info : model.outputs()) {
        CAPTURE(info.name);
        if (!info.state) {
          CHECK(sameBytes(got.at(info.name), expected.at(info.name)));
          continue;
        }
        CHECK(got.count(info.name) == 0);
        const Result<Tensor> state = session.state(info.peer);
        REQUIRE(state.ok());
        CHECK(state->shape() == expected.at(info.name).shape());
      }
    }
    CHECK(bundles > 0);
  }
}

// Prompts in chunks and single tokens, without a first value for the caches.
TEST_CASE("session: a sequence of steps is a sequence of runs") {
  for (const char *name : {"genai_llama", "mobius_llama_attention", "mobius_llama_static",
                           "mobius_mistral_window", "mobius_mistral_static_bias"}) {
    CAPTURE(name);
    const Decoder decoder(name);
    Session kept = create(decoder.model), fed = create(decoder.model);
    Tensors caches;
    int64_t past = 0;
    const std::vector<std::vector<int64_t>> steps = {
        {5, 17, 99, 200, 33}, {64}, {7, 123}, {42}, {11}};
    for (const std::vector<int64_t> &tokens : steps) {
      const Tensor got = decoder.step(kept, tokens, past);
      Tensors feed = decoder.feed(tokens, past);
      for (const ValueInfo &info : decoder.model.inputs())
        if (info.state && past == 0) {
          std::vector<int64_t> shape = kept.state(info.name)->shape();
          if (shape.size() == 4)
            shape[2] = 0;
          feed[info.name] = Tensor::zeros(info.dtype, shape);
        } else if (info.state) {
          feed[info.name] = caches[info.peer];
        }
      caches = ok(fed.run(feed));
      CHECK(sameBytes(got, caches["logits"]));
      past += static_cast<int64_t>(tokens.size());
      CHECK(kept.length() == past);
    }
  }
}

TEST_CASE("session: rewind takes tokens back") {
  for (const char *name :
       {"genai_llama", "mobius_llama_attention", "mobius_llama_static", "mobius_mistral_window"}) {
    CAPTURE(name);
    const Decoder decoder(name);
    Session session = create(decoder.model);
    decoder.step(session, {1, 2, 3, 4}, 0);
    const Tensor fifth = decoder.step(session, {5}, 4);
    decoder.step(session, {6}, 5);
    REQUIRE(session.rewind(4).ok());
    CHECK(session.length() == 4);
    CHECK(sameBytes(decoder.step(session, {5}, 4), fifth));
    CHECK_FALSE(session.rewind(6).ok());
    CHECK_FALSE(session.rewind(-1).ok());
    session.reset();
    CHECK(session.length() == 0);
    decoder.step(session, {1, 2, 3, 4}, 0);
    CHECK(sameBytes(decoder.step(session, {5}, 4), fifth));
  }
}

TEST_CASE("session: another batch after a reset") {
  const Model model = load("genai_llama");
  Session session = create(model);
  for (const int64_t batch : {1, 3, 2}) {
    Tensors feed;
    feed["input_ids"] = Tensor::of<int64_t>({batch, 1}, std::vector<int64_t>(batch, 7));
    feed["attention_mask"] = Tensor::of<int64_t>({batch, 1}, std::vector<int64_t>(batch, 1));
    CHECK(ok(session.step(feed))["logits"].shape()[0] == batch);
    feed["attention_mask"] = Tensor::of<int64_t>({batch, 2}, std::vector<int64_t>(2 * batch, 1));
    CHECK(ok(session.step(feed))["logits"].shape()[0] == batch);
    CHECK(session.length() == 2);
    session.reset();
  }
}

TEST_CASE("session: a windowed cache is bounded and rewinds as far as it remembers") {
  const Decoder decoder("tiny_genai_windowed_cache");
  Session session = create(decoder.model), again = create(decoder.model);
  const std::string cache = decoder.model.inputs().back().name;
  size_t memory = 0;
  for (int64_t past = 0; past < 40; ++past) {
    decoder.step(session, {past % 7}, past);
    if (past == 20)
      memory = session.memory();
  }
  CHECK(session.length() == 40);
  CHECK(session.memory() <= memory + 64 * 1024);
  const Status far = session.rewind(2);
  CHECK_FALSE(far.ok());
  CHECK(far.error().message.find("has dropped some that are needed") != std::string::npos);
  CHECK(session.length() == 40);

  const Tensor last = decoder.step(session, {3}, 40);
  if (session.rewind(40))
    CHECK(sameBytes(decoder.step(session, {3}, 40), last));
  session.reset();
  std::vector<int64_t> prompt;
  for (int64_t past = 0; past < 40; ++past)
    prompt.push_back(past % 7);
  decoder.step(session, prompt, 0);
  const Tensor once = decoder.step(session, {3}, 40);
  for (int64_t i = 0; i < once.count(); ++i)
    CHECK(once.as<float>()[i] == doctest::Approx(last.as<float>()[i]).epsilon(1e-4));
}

TEST_CASE("session: capacity grows by doubling or is fixed") {
  const Decoder decoder("genai_llama");
  Session growing = create(decoder.model);
  SessionOptions options;
  options.cacheRows = 8;
  Session fixed = create(decoder.model, options);
  for (int64_t past = 0; past < 8; ++past)
    CHECK(sameBytes(decoder.step(growing, {past}, past), decoder.step(fixed, {past}, past)));
  const Result<Tensors> full = fixed.step(decoder.feed({1}, 8));
  REQUIRE_FALSE(full.ok());
  CHECK(full.error().message.find("the cache is full: it holds 8 rows and 9 are needed") !=
        std::string::npos);
  REQUIRE(fixed.rewind(7).ok());
  CHECK(sameBytes(decoder.step(fixed, {7}, 7), decoder.step(growing, {7}, 8)) == false);
  CHECK(fixed.length() == 8);
}

TEST_CASE("session: keepLast drops the first rows of a cache that grows") {
  const Decoder decoder("mobius_llama_attention");
  Session session = create(decoder.model);
  std::string cache;
  for (const ValueInfo &info : decoder.model.inputs())
    if (info.state)
      cache = info.name;
  Tensors feed = decoder.feed({1, 2, 3, 4, 5, 6}, 0);
  ok(session.step(feed));
  const Tensor before = *session.state(cache);
  REQUIRE(session.keepLast(cache, 2).ok());
  const Tensor after = *session.state(cache);
  CHECK(after.shape()[2] == 2);
  const int64_t width = before.shape()[3];
  for (int64_t head = 0; head < before.shape()[1]; ++head)
    CHECK(std::memcmp(before.as<float>() + (head * 6 + 4) * width,
                      after.as<float>() + head * 2 * width, sizeof(float) * 2 * width) == 0);
  CHECK_FALSE(session.keepLast(cache, -1).ok());
  CHECK_FALSE(session.keepLast("logits", 1).ok());
}

TEST_CASE("session: cancelling") {
  for (const char *name : {"genai_llama", "tiny_genai_windowed_cache"}) {
    CAPTURE(name);
    const Decoder decoder(name);
    Session session = create(decoder.model), undisturbed = create(decoder.model);
    for (Session *one : {&session, &undisturbed})
      decoder.step(*one, {1, 2, 3}, 0);
    int nodes = 0;
    session.impl().executor.setProfile([&](const ir::Node &node, const KernelRow &, double) {
      if (node.as<ir::KvWrite>() || node.as<ir::KvEvict>())
        session.cancel();
      ++nodes;
    });
    const Result<Tensors> cancelled = session.step(decoder.feed({4}, 3));
    session.impl().executor.setProfile(nullptr);
    REQUIRE_FALSE(cancelled.ok());
    CHECK(cancelled.error().kind == Failure::Kind::kCancelled);
    CHECK(nodes > 0);

    const Result<Tensors> next = session.step(decoder.feed({4}, 3));
    const Tensor expected = decoder.step(undisturbed, {4}, 3);
    if (next) {
      CHECK(sameBytes(next->at("logits"), expected));
      continue;
    }
    // A windowed cache had moved its rows.
    CHECK(next.error().message.find("reset the session") != std::string::npos);
    CHECK_FALSE(session.rewind(3).ok());
    session.reset();
    decoder.step(session, {1, 2, 3}, 0);
    CHECK(sameBytes(decoder.step(session, {4}, 3), expected));
  }
}

TEST_CASE("session: the memory limit") {
  const Decoder decoder("genai_llama");
  Session plain = create(decoder.model);
  for (int64_t past = 0; past < 64; ++past)
    decoder.step(plain, {1}, past);
  SessionOptions options;
  options.maxMemory = plain.memory();
  Session limited = create(decoder.model, options);
  for (int64_t past = 0; past < 64; ++past)
    decoder.step(limited, {1}, past);
  // The cache would have to double.
  const Result<Tensors> refused = limited.step(decoder.feed({1}, 64));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == Failure::Kind::kOutOfMemory);
  CHECK(refused.error().message.find("limit") != std::string::npos);
  CHECK(limited.memory() <= options.maxMemory);
  // What it holds is intact.
  REQUIRE(limited.rewind(63).ok());
  REQUIRE(plain.rewind(63).ok());
  CHECK(sameBytes(decoder.step(limited, {2}, 63), decoder.step(plain, {2}, 63)));
}

TEST_CASE("session: outputs in the caller's memory") {
  const Decoder decoder("genai_llama");
  Session session = create(decoder.model), other = create(decoder.model);
  const Tensor expected = decoder.step(other, {1, 2}, 0);
  std::vector<float> memory(static_cast<size_t>(expected.count()) + 1, 7);
  const Tensor mine = Tensor::borrow(DType::kF32, expected.shape(), memory.data());
  const Tensors outputs = ok(session.step(decoder.feed({1, 2}, 0), {{"logits", mine}}));
  CHECK(outputs.at("logits").data() == memory.data());
  CHECK(std::memcmp(memory.data(), expected.data(), expected.bytes()) == 0);
  CHECK(memory.back() == 7);

  struct Row {
    const char *why;
    Tensors given;
    const char *message;
  };
  const Row rows[] = {
      {"another shape", {{"logits", mine}}, "[1, 2, 320], expected "},
      {"another type", {{"logits", Tensor::of<int64_t>({1}, {1})}}, "[1], expected "},
      {"no such output", {{"logit", mine}}, "there is no such output"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    const Result<Tensors> refused = session.step(decoder.feed({3}, 2), row.given);
    REQUIRE_FALSE(refused.ok());
    CAPTURE(refused.error().message);
    CHECK(refused.error().message.find(row.message) != std::string::npos);
  }
}

TEST_CASE("session: two threads with a session each of one model") {
  const Decoder decoder("genai_llama");
  Tensor results[2];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i)
    threads[i] = std::thread([&decoder, &result = results[i]] {
      SessionOptions options;
      options.threads = 1;
      Result<Session> session = Session::create(decoder.model, options);
      for (int64_t past = 0; past < 20; ++past)
        if (Result<Tensors> outputs = session->step(decoder.feed({past + 1}, past)))
          result = outputs->at("logits");
    });
  for (std::thread &thread : threads)
    thread.join();
  REQUIRE(results[0].defined());
  CHECK(sameBytes(results[0], results[1]));
}

TEST_CASE("session: states that do not fit are refused") {
  const Model model = load("genai_llama");
  Session session = create(model);
  const std::string cache = "past_key_values.0.key";
  CHECK_FALSE(session.state(cache).ok());
  struct Row {
    std::string name;
    Tensor value;
    const char *message;
  };
  const Row rows[] = {
      {cache, Tensor::zeros(DType::kF16, {1, 2, 3, 16}), "[1, 2, 3, 16], expected "},
      {cache, Tensor::zeros(DType::kF32, {1, 3, 3, 16}), "[1, 3, 3, 16], expected "},
      {cache, Tensor::zeros(DType::kF32, {1, 2, 3}), "[1, 2, 3], expected "},
      {"logits", Tensor::zeros(DType::kF32, {1}),
       "there is no state 'logits'; the states are: 'past"},
  };
  for (const Row &row : rows) {
    const Status status = session.setState(row.name, row.value);
    REQUIRE_FALSE(status.ok());
    CAPTURE(status.error().message);
    CHECK(status.error().message.find(row.message) != std::string::npos);
  }
}
