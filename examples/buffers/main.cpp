// Two sequences of different lengths in one batch, with inputs and logits in the program's own
// memory: the engine reads and writes it in place, and no step allocates for it.
#include <engine/engine.h>

#include <algorithm>
#include <cstdio>
#include <vector>

using engine::DType;
using engine::Tensor;

int fail(const engine::Failure &failure) {
  std::fprintf(stderr, "error: %s\n", failure.message.c_str());
  return 2;
}

int main() {
  const auto model = engine::Model::load(FOLDER "/model.onnx");
  if (!model)
    return fail(model.error());
  engine::SessionOptions options;
  options.cacheRows = 64; // a fixed capacity: no step moves the caches
  auto session = engine::Session::create(*model, options);
  if (!session)
    return fail(session.error());

  // The prompts are padded on the right; the mask says which tokens are real. Later tokens of the
  // second sequence go where its padding is.
  constexpr int64_t kBatch = 2, kPrompt = 5, kSteps = 6;
  std::vector<int64_t> tokens = {5, 17, 99, 200, 33, 64, 7, 123, 0, 0};
  std::vector<int64_t> lengths = {5, 3};
  std::vector<float> logits;
  int64_t vocabulary = 0;
  for (int64_t step = 0; step <= kSteps; ++step) {
    const int64_t count = step == 0 ? kPrompt : 1;
    const int64_t total = kPrompt + step;
    std::vector<int64_t> mask(static_cast<size_t>(kBatch * total), 0);
    for (int64_t b = 0; b < kBatch; ++b)
      std::fill_n(mask.begin() + b * total, lengths[b], 1);
    engine::Tensors feed, outputs;
    feed["input_ids"] = Tensor::borrow(DType::kI64, {kBatch, count}, tokens.data());
    feed["attention_mask"] = Tensor::borrow(DType::kI64, {kBatch, total}, mask.data());
    if (step > 0)
      outputs["logits"] = Tensor::borrow(DType::kF32, {kBatch, 1, vocabulary}, logits.data());
    const auto result = session->step(feed, outputs);
    if (!result)
      return fail(result.error());
    const Tensor &rows = result->at("logits");
    if (step > 0 && rows.data() != logits.data())
      return 1;
    vocabulary = rows.shape()[2];
    tokens.resize(kBatch);
    for (int64_t b = 0; b < kBatch; ++b) {
      const int64_t last = step == 0 ? lengths[b] - 1 : 0;
      const float *row = rows.as<float>() + (b * count + last) * vocabulary;
      tokens[b] = std::max_element(row, row + vocabulary) - row;
      ++lengths[b];
      std::printf("%lld ", static_cast<long long>(tokens[b]));
    }
    std::printf("\n");
    logits.resize(static_cast<size_t>(kBatch * vocabulary));
  }
  return 0;
}
