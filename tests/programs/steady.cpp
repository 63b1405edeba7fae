// Decodes 10,000 tokens and watches memory: steps whose shapes stay within the arena's bounds and
// the caches' capacity must not allocate more than the API's own maps, and nothing may grow. usage:
// test_steady FOLDER...    closes with `N passed, N failed`
#include "runtime/decoder_inputs.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <malloc.h>
#include <new>
#include <string>
#include <unistd.h>

namespace {
size_t allocations = 0, allocatedBytes = 0; // by new, since the start
} // namespace

void *operator new(size_t bytes) {
  ++allocations;
  allocatedBytes += bytes;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace {

// Of malloc, as the process counts it.
size_t bytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

size_t residentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

struct Sample {
  size_t session = 0, heap = 0, resident = 0;
};

std::string judge(const std::string &folder) {
  constexpr int64_t kSteps = 10000, kCapacity = 56, kAgain = 24;
  const auto model = engine::Model::load(folder + "/model.onnx");
  if (!model)
    return model.error().message;
  const engine::DecoderInputs inputs(*model, {});
  engine::SessionOptions options;
  options.threads = 1;
  const int64_t capacity = inputs.capacity() ? inputs.capacity() : kCapacity;
  options.cacheRows = capacity;
  auto session = engine::Session::create(*model, options);
  if (!session)
    return session.error().message;

  Sample before;
  engine::Tensors outputs;
  int64_t past = 0;
  size_t most = 0, mostBytes = 0; // of one step's allocations
  for (int64_t i = 0; i < kSteps; ++i) {
    if (past == capacity) { // room again: as a server that keeps a prefix
      past = capacity - kAgain;
      if (const auto rewound = session->rewind(past); !rewound) {
        session->reset();
        past = 0;
      }
    }
    const int64_t token = i % 32;
    const engine::Tensors feed = inputs.feed({&token, past, 1}, 0);
    const size_t count = allocations, bytes = allocatedBytes;
    auto result = session->step(feed, outputs);
    if (!result)
      return result.error().message;
    if (i > kSteps / 10) {
      most = std::max(most, allocations - count);
      mostBytes = std::max(mostBytes, allocatedBytes - bytes);
    }
    outputs = {{"logits", result->at("logits")}};
    ++past;
    if (i == kSteps / 10)
      before = {session->memory(), bytesInUse(), residentBytes()};
  }
  const Sample after{session->memory(), bytesInUse(), residentBytes()};
  std::printf("%s: at most %zu allocations of %zu bytes a step, session %zu bytes, heap %+lld "
              "bytes, resident %+lld bytes over the last 9,000 steps\n",
              folder.c_str(), most, mostBytes, after.session,
              static_cast<long long>(after.heap) - static_cast<long long>(before.heap),
              static_cast<long long>(after.resident) - static_cast<long long>(before.resident));
  // The maps of the API, lengths in kernels: a few bytes each.
  if (most > 64 || mostBytes > 4096)
    return "a step allocates";
  if (after.session != before.session)
    return "the session's buffers grew from " + std::to_string(before.session);
  if (after.heap > before.heap + 4096)
    return "the heap grew";
  if (after.resident > before.resident + (1 << 20))
    return "resident memory grew";
  return "";
}

} // namespace

int main(int argc, char **argv) {
  int passed = 0, failed = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string why = judge(argv[i]);
    why.empty() ? ++passed : ++failed;
    if (!why.empty())
      std::printf("FAILED %s: %s\n", argv[i], why.c_str());
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed || !passed;
}
