// Any bytes may be loaded: the outcome is a model, blockers or an Error, never a crash or a hang.
// Not part of the build; from the repository root, with build/ configured (for the compiled
// schema):
//
//   clang++-14 -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined
//   -fno-sanitize-recover=undefined
//     -I. -isystem build/proto -isystem $(llvm-config-14 --includedir)
//     tests/fuzz/load_fuzz.cpp frontend/*.cpp ir/*.cpp build/proto/onnx-ml.pb.cc -o build/load_fuzz
//     $(llvm-config-14 --libdir)/libLLVMSupport.a -lprotobuf-lite -lz -ltinfo -lpthread -ldl
//   mkdir -p build/fuzz && cp test_cases/*/model.onnx build/fuzz/  (under different names)
//   build/load_fuzz -max_len=65536 -timeout=10 -rss_limit_mb=2048 build/fuzz
#include "frontend/load.h"
#include "ir/error.h"
#include "ir/infer.h"
#include "ir/text.h"

#include <cstdio>
#include <cstdlib>

using namespace engine;

namespace {

[[noreturn]] void fail(const char *what, const std::string &why) {
  std::fprintf(stderr, "%s: %s\n", what, why.c_str());
  std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ir::Model model;
  frontend::Blockers blockers;
  try {
    model = frontend::loadModel(llvm::ArrayRef<char>(reinterpret_cast<const char *>(data), size),
                                "fuzz", "", {}, blockers);
  } catch (const Error &e) {
    if (e.kind() == Error::Kind::kInternal)
      fail("internal error", e.what());
    return 0;
  }

  // What was loaded holds together and survives the round trip through text.
  try {
    ir::verify(model.graph);
    const std::string text = ir::str(model.graph);
    const ir::Graph again = ir::parseGraph(text);
    std::string why;
    if (!ir::equal(model.graph, again, &why))
      fail("round trip", why);
  } catch (const Error &e) {
    fail("after loading", e.what());
  }
  return 0;
}
