#include "ir/error.h"
#include "runtime/case.h"
#include "runtime/typical.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;
using namespace engine;

namespace {

constexpr const char *kGood = "test_cases/gqa_decode";

// A case directory to spoil.
struct Copy {
  fs::path path = fs::temp_directory_path() / ("case_test." + std::to_string(getpid()));

  Copy() {
    fs::remove_all(path);
    fs::create_directory(path);
    for (const char *file : {"model.onnx", "io.npz", "case.txt"})
      fs::copy_file(fs::path(kGood) / file, path / file);
  }
  ~Copy() { fs::remove_all(path); }

  void write(const char *file, const std::string &text) const {
    std::ofstream(path / file, std::ios::binary) << text;
  }
  std::string run(Way way = Way::kPasses) const { return Case(path.string()).run(way, {}).failure; }
};

bool mentions(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("case.txt") {
  const CaseText text = parseCaseText("tolerance: 1e-05 0.5\n"
                                      "expected: onnxruntime 1.32.0 CPU; more: text\n"
                                      "static: batch=2 past=7\n"
                                      "static io_step1.npz: batch=3\n"
                                      "\n"
                                      "state-in-place: yes\n"
                                      "exact: yes\n"
                                      "skip: round-trip too large for text\n"
                                      "refuse: this text\n"
                                      "refuse: and that");
  CHECK(text.tolerance->absolute == 1e-5);
  CHECK(text.tolerance->relative == 0.5);
  CHECK(text.statics.at("io.npz").at("past") == 7);
  CHECK(text.statics.at("io_step1.npz").at("batch") == 3);
  CHECK(text.stateInPlace);
  CHECK(text.exact);
  CHECK_FALSE(text.loadOnly);
  CHECK(text.skip.at("round-trip") == "too large for text");
  CHECK(text.refuse == std::vector<std::string>{"this text", "and that"});

  for (const char *fault :
       {"nonsense", "unknown: key", "tolerance: 1", "tolerance: -1 1",
        "tolerance: 1 1\ntolerance: 1 1", "static: batch", "static: batch=-1", "state-in-place: no",
        "exact: yes\nexact: yes", "skip: all of it", "skip: static", "refuse:", "load-only: yes",
        "static: a=1\nstatic: a=1"}) {
    CAPTURE(fault);
    CHECK_THROWS_WITH_AS(
        parseCaseText(fault),
        doctest::Contains(fault == std::string("load-only: yes") ? "refuse" : "line"), Error);
  }
}

TEST_CASE("a good case passes every way") {
  Case test(kGood);
  for (Way way : kWays) {
    CAPTURE(wayName(way));
    CHECK(test.run(way, {}).failure == "");
  }
}

TEST_CASE("what is wrong with a case is its failure") {
  CHECK(mentions(Case("no/such/directory").run({}).failure, "no directory"));
  CHECK(mentions(Case("tests").run({}).failure, "no tests/model.onnx"));

  Copy copy;
  CHECK(copy.run() == "");
  copy.write("case.txt", "tolerance: 0 0\n");
  CHECK(mentions(copy.run(), "elements are off"));
  copy.write("case.txt", "mystery: 1\n");
  CHECK(mentions(copy.run(), "line 1"));
  copy.write("case.txt", "static io_7.npz: batch=2\n");
  CHECK(mentions(copy.run(), "io_7.npz"));
  copy.write("case.txt", "refuse: anything\n");
  CHECK(mentions(copy.run(), "it ran, but must be refused"));
  copy.write("case.txt", "refuse: anything\nload-only: yes\n");
  CHECK(mentions(copy.run(), "it was loaded, but must be refused"));
  copy.write("case.txt", "static: batch=3\n");
  CHECK(copy.run() == "");
  CHECK(copy.run(Way::kStatic) != "");
  copy.write("case.txt", "skip: static it takes too long\n");
  CHECK(Case(copy.path.string()).run(Way::kStatic, {}).skipped == "it takes too long");

  copy.write("case.txt", "");
  copy.write("io.npz", "no archive");
  CHECK(mentions(copy.run(), "zip"));
  fs::remove(copy.path / "io.npz");
  CHECK(mentions(copy.run(), "no io.npz"));
  copy.write("model.onnx", "no model");
  copy.write("case.txt", "refuse: model.onnx\nload-only: yes\n");
  CHECK(copy.run() == "");
  copy.write("case.txt", "refuse: other words\nload-only: yes\n");
  CHECK(mentions(copy.run(), "without 'other words'"));
}

TEST_CASE("typical values of symbols") {
  const TypicalSizes sizes{2, 3, 10};
  CHECK(typicalValue("batch_size", sizes) == 2);
  CHECK(typicalValue("sequence_length", sizes) == 3);
  CHECK(typicalValue("past_sequence_length", sizes) == 10);
  CHECK(typicalValue("total_sequence_length", sizes) == 13);
  CHECK(typicalValue("past_sequence_length + 1", sizes) == 11);
  CHECK(typicalValue("past + seq", sizes) == 13);
  CHECK(typicalValue("$seqlens_k", sizes) == 12);
  CHECK_FALSE(typicalValue("kv_cache_dim", sizes).has_value());

  llvm::StringMap<int64_t> fixed;
  fixed["total"] = 20;
  fixed["S"] = 4;
  CHECK(agreeing({}, fixed).past == 16);
}

TEST_CASE("random feeds are the same for the same seed") {
  ValueInfo ids, mask, past;
  ids.name = "input_ids", ids.dtype = DType::kI64, ids.shape = {"batch", "S"};
  mask.name = "attention_mask", mask.dtype = DType::kI64, mask.shape = {"batch", "P + S"};
  past.name = "past_key_values.0.key", past.dtype = DType::kF16,
  past.shape = {"batch", "2", "P", "8"};
  llvm::StringMap<int64_t> symbols;
  symbols["P"] = 5;
  const RandomFeed a = randomFeed({ids, mask, past}, {}, symbols, 1);
  const RandomFeed b = randomFeed({ids, mask, past}, {}, symbols, 1);
  CHECK(a.inputs.at("attention_mask").shape() == std::vector<int64_t>{1, 9});
  CHECK(a.inputs.at("attention_mask").as<int64_t>()[8] == 1);
  CHECK(a.assumed == std::vector<std::string>{"batch = 1", "S = 4"});
  for (const auto &[name, tensor] : a.inputs)
    CHECK(std::memcmp(tensor.data(), b.inputs.at(name).data(), tensor.bytes()) == 0);
  for (int i = 0; i < 4; ++i)
    CHECK(a.inputs.at("input_ids").as<int64_t>()[i] < 16);
  ValueInfo odd;
  odd.name = "x", odd.dtype = DType::kF32, odd.shape = {"kv_cache_dim"};
  CHECK_THROWS_WITH_AS(randomFeed(odd, {}, symbols, 1), doctest::Contains("--set"), Error);
}
