// Continues a prompt with a folder of exported models, whatever exporter it is from, and prints
// each token as it comes. usage: stream [FOLDER]
#include <engine/generate.h>

#include <cstdio>
#include <set>

int fail(const engine::Failure &failure) {
  std::fprintf(stderr, "error: %s\n", failure.message.c_str());
  return 2;
}

int main(int argc, char **argv) {
  auto generator = engine::Generator::load(argc > 1 ? argv[1] : FOLDER);
  if (!generator)
    return fail(generator.error());

  engine::GenerateRequest request;
  request.prompt = {5, 17, 99, 200, 33};
  request.maxTokens = 12;
  request.chunk = 2; // long prompts are processed in pieces
  request.onToken = [](int64_t token) {
    std::printf("%lld ", static_cast<long long>(token));
    std::fflush(stdout);
  };
  const auto greedy = generator->generate(request);
  if (!greedy)
    return fail(greedy.error());
  std::printf("\n");

  // The same seed draws the same tokens.
  request.sampling = {.temperature = 0.8, .topK = 40, .topP = 0.95, .seed = 7};
  const auto once = generator->generate(request);
  std::printf("\n");
  const auto twice = generator->generate(request);
  std::printf("\n");
  if (!once || !twice)
    return fail(once ? twice.error() : once.error());
  return once->tokens == twice->tokens && greedy->tokens.size() == 12 ? 0 : 1;
}
