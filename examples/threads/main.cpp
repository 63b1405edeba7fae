// One model, two sessions in two threads: the weights are shared, caches and buffers are each
// session's own. A third is cancelled from outside.
#include <engine/engine.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

using engine::Tensor;

// Greedy tokens after a prompt of one; empty where a step failed.
std::vector<int64_t> decode(engine::Session &session, int64_t token, int64_t count) {
  std::vector<int64_t> tokens;
  while (static_cast<int64_t>(tokens.size()) < count) {
    const int64_t total = session.length() + 1;
    engine::Tensors feed;
    feed["input_ids"] = Tensor::of<int64_t>({1, 1}, {token});
    feed["attention_mask"] = Tensor::of<int64_t>({1, total}, std::vector<int64_t>(total, 1));
    const auto outputs = session.step(feed);
    if (!outputs)
      return {};
    const Tensor &logits = outputs->at("logits");
    token = std::max_element(logits.as<float>(), logits.as<float>() + logits.count()) -
            logits.as<float>();
    tokens.push_back(token);
  }
  return tokens;
}

int main() {
  const auto model = engine::Model::load(FOLDER "/model.onnx");
  if (!model) {
    std::fprintf(stderr, "error: %s\n", model.error().message.c_str());
    return 2;
  }
  engine::SessionOptions options;
  options.threads = 1;
  std::vector<int64_t> results[2];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i)
    threads[i] = std::thread([&, i] {
      auto session = engine::Session::create(*model, options);
      if (session)
        results[i] = decode(*session, 17, 20);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int64_t token : results[0])
    std::printf("%lld ", static_cast<long long>(token));
  std::printf("\n");
  if (results[0].empty() || results[0] != results[1])
    return 1;

  auto session = engine::Session::create(*model, options);
  if (!session)
    return 2;
  std::atomic<bool> ended{false};
  std::thread worker([&] {
    while (!decode(*session, 17, 100).empty())
      session->reset();
    ended = true;
  });
  while (!ended) // a call clears what was asked of the one before it
    session->cancel();
  worker.join();
  std::printf("cancelled\n");
  return 0;
}
