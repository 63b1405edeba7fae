// Decodes eight tokens greedily with a decoder whose inputs are input_ids, attention_mask and
// caches.
#include <engine/engine.h>

#include <algorithm>
#include <cstdio>

using engine::Tensor;

int fail(const engine::Failure &failure) {
  std::fprintf(stderr, "error: %s\n", failure.message.c_str());
  return 2;
}

int main(int argc, char **argv) {
  const auto model = engine::Model::load(argc > 1 ? argv[1] : MODEL);
  if (!model)
    return fail(model.error());
  auto session = engine::Session::create(*model);
  if (!session)
    return fail(session.error());

  std::vector<int64_t> tokens = {1, 2, 3}; // the prompt, then one token a step
  for (int step = 0; step < 8; ++step) {
    const auto count = static_cast<int64_t>(tokens.size());
    const int64_t total = session->length() + count;
    engine::Tensors feed;
    feed["input_ids"] = Tensor::of<int64_t>({1, count}, tokens);
    feed["attention_mask"] = Tensor::of<int64_t>({1, total}, std::vector<int64_t>(total, 1));
    auto outputs = session->step(feed); // the caches stay in the session
    if (!outputs)
      return fail(outputs.error());
    const Tensor &logits = (*outputs)["logits"]; // [1, count, vocabulary]
    const float *end = logits.as<float>() + logits.count(), *last = end - logits.shape()[2];
    tokens = {std::max_element(last, end) - last};
    std::printf("%lld\n", static_cast<long long>(tokens[0]));
  }
}
