// Loading: what file goes in, what graph or which refusal comes out.
#include "frontend/load.h"

#include "frontend/importer.h"
#include "ir/infer.h"
#include "ir/text.h"
#include "tests/onnx_writer.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include <sys/stat.h>

using namespace engine;
using namespace onnx_writer;
namespace fs = std::filesystem;

namespace {

// --- Helpers ------------------------------------------------------------------------------------

struct Loaded {
  ir::Model model;
  std::vector<std::string> blockers;
};

Loaded load(const std::string &file, const frontend::LoadOptions &options = {}) {
  frontend::Blockers blockers;
  Loaded result;
  result.model = frontend::loadModel(llvm::ArrayRef<char>(file.data(), file.size()), "m.onnx", "",
                                     options, blockers);
  result.blockers = blockers.messages;
  ir::verify(result.model.graph);
  return result;
}

// All refusals as one text: the blockers a line each, or what was thrown.
std::string refusalOf(const std::string &file) {
  try {
    std::string text;
    for (const std::string &message : load(file).blockers)
      text += (text.empty() ? "" : "\n") + message;
    return text;
  } catch (const Error &e) {
    CHECK(e.kind() == Error::Kind::kRefused);
    return e.what();
  }
}

// The refusals of a file on disk.
std::string refusalOfFile(const std::string &path) {
  try {
    frontend::Blockers blockers;
    frontend::loadModel(path, {}, blockers);
    std::string text;
    for (const std::string &message : blockers.messages)
      text += (text.empty() ? "" : "\n") + message;
    return text;
  } catch (const Error &e) {
    return e.what();
  }
}

// A folder that is gone when the test is over.
class TempFolder {
public:
  TempFolder() {
    std::string pattern = (fs::temp_directory_path() / "engine_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() { fs::remove_all(path_); }

  std::string path(const std::string &name) const { return (path_ / name).string(); }
  void write(const std::string &name, const std::string &content) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
  }

private:
  fs::path path_;
};

const std::vector<float> kFour{1, 2, 3, 4};

// y = Identity(w): the smallest model that reads a weight.
std::string modelOfWeight(const Message &weight) {
  Graph g;
  g.initializer(weight).node("Identity", {"w"}, {"y"}).output("y");
  return model(g);
}

std::string onlyConst(const std::string &file) {
  const Loaded loaded = load(file);
  REQUIRE(loaded.blockers.empty());
  const ir::Graph &graph = loaded.model.graph;
  const ir::ConstRef data = graph.fact(graph.outputs()[0]).constant;
  REQUIRE(data);
  std::string text = ir::factOf(data).str() + ":";
  for (int64_t i = 0; i < data->count(); ++i)
    text += " " + std::to_string(static_cast<int>(data->floatAt(i)));
  return text;
}

} // namespace

// --- Files --------------------------------------------------------------------------------------

TEST_CASE("frontend: a file that is no model is refused with the reason") {
  Graph g;
  g.input("x", kFloat, {2}).node("Identity", {"x"}, {"y"}).output("y");
  const std::string good = model(g);
  const std::string graphOnly = Message().message(7, g).str();

  struct Row {
    const char *what;
    std::string file, expected;
  };
  const Row rows[] = {
      {"empty", "", "is empty, an ONNX model was expected"},
      {"text", "this is not a model", "is no ONNX model, or is damaged or cut short"},
      {"zero bytes", std::string(64, '\0'), "a field without a number at byte 0"},
      {"cut short", good.substr(0, good.size() - 5), "a field longer than what is left"},
      {"a group, which no schema has", std::string("\x0b\x0c"),
       "a field of unknown kind at byte 0"},
      {"an integer that does not end", std::string("\x08\xff"), "an integer that does not end"},
      {"no graph", Message().integer(1, 8).message(8, opsetImport("", 21)).str(), "has no graph"},
      {"no outputs", model(Graph().node("Identity", {"x"}, {"y"})), "its graph has no outputs"},
      {"no IR version", graphOnly, "ir_version: is missing; 3 to 14 are supported"},
      {"IR version too new", model(g, {99, {{"", 21}}, {}}),
       "ir_version: 99 was found, 3 to 14 are supported"},
      {"IR version too old", model(g, {2, {{"", 21}}, {}}),
       "ir_version: 2 was found, 3 to 14 are supported"},
      {"no opset", model(g, {10, {}, {}}),
       "opset_import: is missing; ai.onnx 7 to 26 are supported"},
      {"opset too new", model(g, {10, {{"", 999}}, {}}),
       "version 999 of ai.onnx was found, 7 to 26 are supported"},
      {"opset too old", model(g, {10, {{"ai.onnx", 6}}, {}}),
       "version 6 of ai.onnx was found, 7 to 26 are supported"},
      {"com.microsoft too new", model(g, {10, {{"", 21}, {"com.microsoft", 2}}, {}}),
       "version 2 of com.microsoft was found, 1 is supported"},
      {"two versions of one domain", model(g, {10, {{"", 21}, {"ai.onnx", 22}}, {}}),
       "versions 21 and 22 of ai.onnx"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.what);
    const std::string refusal = refusalOf(row.file);
    CAPTURE(refusal);
    CHECK(refusal.find("m.onnx: ") == 0);
    CHECK(refusal.find(row.expected) != std::string::npos);
  }
}

TEST_CASE("frontend: unusual but legal versions load") {
  Graph g;
  g.input("x", kFloat, {2}).node("Identity", {"x"}, {"y"}).output("y");
  CHECK(refusalOf(model(g, {3, {{"", 7}}, {}})) == "");
  CHECK(refusalOf(model(g, {14, {{"", 26}}, {}})) == "");
  CHECK(refusalOf(model(g, {10, {{"", 21}, {"some.unused.domain", 77}}, {}})) == "");
}

TEST_CASE("frontend: what is no regular file is refused") {
  TempFolder folder;
  fs::create_directory(folder.path("d.onnx"));
  CHECK(refusalOfFile(folder.path("d.onnx")) ==
        folder.path("d.onnx") + ": is a folder, a file was expected");
  CHECK(refusalOfFile(folder.path("none.onnx")).find("cannot be opened: No such file") !=
        std::string::npos);
  CHECK(refusalOfFile("/dev/null") == "/dev/null: is no regular file");
  REQUIRE(mkfifo(folder.path("pipe.onnx").c_str(), 0600) == 0);
  CHECK(refusalOfFile(folder.path("pipe.onnx")).find("is no regular file") != std::string::npos);
}

TEST_CASE("frontend: the first bytes of a model, every length, are refused without a crash") {
  Graph g;
  g.input("x", kFloat, {"B", 4})
      .initializer(rawTensor("w", kFloat, {4}, raw(kFour)))
      .node("Identity", {"x"}, {"y"}, {"n", "", {}})
      .output("y")
      .output("w");
  const std::string good = model(g);
  REQUIRE(refusalOf(good) == "");
  for (size_t length = 0; length < good.size(); ++length)
    CHECK(refusalOf(good.substr(0, length)) != "");
  // One byte changed: any outcome but a crash.
  for (size_t at = 0; at < good.size(); ++at) {
    for (int flip : {0x01, 0x08, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      refusalOf(bad);
    }
  }
}

TEST_CASE("frontend: graphs nest to 64 levels and no further") {
  const auto nested = [](int levels) {
    Graph g;
    g.node("Identity", {"x"}, {"y"}).output("y");
    for (int i = 0; i < levels; ++i) {
      Graph outer;
      const std::vector<Message> branches{graphAttribute("then_branch", g),
                                          graphAttribute("else_branch", g)};
      // Both branches double the file: the deep ones have a short second one.
      Graph leaf;
      leaf.node("Identity", {"x"}, {"z"}).output("z");
      outer.node("If", {"c"}, {"y"}, {"", "", {branches[0], graphAttribute("else_branch", leaf)}})
          .output("y");
      g = outer;
    }
    Graph top;
    top.message(11, valueInfo("x", kFloat, {2})).message(11, valueInfo("c", kBool, {}));
    std::string text = top.str() + g.str();
    return model(Message(text));
  };
  CHECK(refusalOf(nested(64)) == "");
  CHECK(refusalOf(nested(65)) == "m.onnx: graphs are nested deeper than 64 levels");
  CHECK(refusalOf(nested(1000)) == "m.onnx: graphs are nested deeper than 64 levels");
}

// --- Tensors ------------------------------------------------------------------------------------

TEST_CASE("frontend: elements of every field arrive as they are meant") {
  struct Row {
    const char *what;
    Message tensor;
    std::string expected;
  };
  const Row rows[] = {
      {"raw f32", rawTensor("w", kFloat, {2, 2}, raw(kFour)), "f32[2, 2]: 1 2 3 4"},
      {"float_data", tensor("w", kFloat, {2}).bytes(4, raw<float>({5, -6})), "f32[2]: 5 -6"},
      {"float_data not packed", tensor("w", kFloat, {2}).real(4, 5).real(4, -6), "f32[2]: 5 -6"},
      {"int64_data", tensor("w", kInt64, {2}).integer(7, -3).integer(7, 4), "i64[2]={-3, 4}: -3 4"},
      {"int32_data as int8", tensor("w", kInt8, {2}).integer(5, -128).integer(5, 127),
       "i8[2]={-128, 127}: -128 127"},
      {"int32_data as f16 bits", tensor("w", kFloat16, {2}).integer(5, 0x4000).integer(5, 0xc000),
       "f16[2]: 2 -2"},
      {"int32_data as bool", tensor("w", kBool, {2}).integer(5, 2).integer(5, 0), "bool[2]: 1 0"},
      {"raw bool other than 0 and 1", rawTensor("w", kBool, {2}, std::string("\x02\x00", 2)),
       "bool[2]: 1 0"},
      {"uint64_data as uint32", tensor("w", kUint32, {1}).integer(11, 70000),
       "u32[1]={70000}: 70000"},
      {"int4, two an entry", tensor("w", kInt4, {3}).integer(5, 0x7f).integer(5, 0x08),
       "i4[3]: -1 7 -8"},
      {"a scalar", rawTensor("w", kFloat, {}, raw<float>({9})), "f32[]: 9"},
      {"no elements, empty raw data", rawTensor("w", kFloat, {0, 4}, ""), "f32[0, 4]:"},
      {"no elements, no field", tensor("w", kFloat, {0, 4}), "f32[0, 4]:"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.what);
    std::string text = onlyConst(modelOfWeight(row.tensor));
    // u32 and i4 carry contents in some versions of the facts; only type, shape and elements matter
    // here.
    const size_t contents = text.find("={"), colon = text.rfind(":");
    std::string expected = row.expected;
    if (contents != std::string::npos)
      text.erase(contents, colon - contents);
    const size_t wanted = expected.find("={");
    if (wanted != std::string::npos)
      expected.erase(wanted, expected.rfind(":") - wanted);
    CHECK(text == expected);
  }
}

TEST_CASE("frontend: sizes are checked before anything is read or allocated") {
  struct Row {
    const char *what;
    Message tensor;
    std::string expected;
  };
  const int64_t big = int64_t(1) << 33;
  const Row rows[] = {
      {"raw too short", rawTensor("w", kFloat, {8}, raw(kFour)),
       "has 16 bytes of data, f32[8] takes 32"},
      {"raw too long", rawTensor("w", kFloat, {2}, raw(kFour)),
       "has 16 bytes of data, f32[2] takes 8"},
      {"raw ragged", rawTensor("w", kFloat, {4}, raw(kFour) + "x"),
       "has 17 bytes of data, f32[4] takes 16"},
      {"raw for nothing", rawTensor("w", kFloat, {0}, raw(kFour)),
       "has 16 bytes of data, f32[0] takes 0"},
      {"typed too short", tensor("w", kFloat, {8}).bytes(4, raw(kFour)),
       "float_data holds 4 entries, f32[8] takes 8"},
      {"typed empty", tensor("w", kInt8, {128}), "has no data, i8[128] was declared"},
      {"huge without data", tensor("w", kFloat, {int64_t(1) << 40}), "has no data"},
      {"negative dim", rawTensor("w", kFloat, {-4}, raw(kFour)), "dims [-4] are negative"},
      {"product overflows", rawTensor("w", kFloat, {big, big}, raw(kFour)), "are too large"},
      {"product wraps to 4",
       rawTensor("w", kFloat, {int64_t(1) << 32, int64_t(1) << 32, 4}, raw(kFour)),
       "are too large"},
      {"bytes overflow", rawTensor("w", kFloat, {int64_t(1) << 62}, raw(kFour)), "are too large"},
      {"empty, but its strides overflow", rawTensor("w", kFloat, {0, big, big}, ""),
       "are too large"},
      {"rank", rawTensor("w", kFloat, {1, 1, 1, 1, 1, 1, 1, 1, 1}, raw<float>({1})),
       "has rank 9, at most 8"},
      {"raw and typed", rawTensor("w", kFloat, {4}, raw(kFour)).bytes(4, raw(kFour)),
       "both raw_data and float_data"},
      {"the field of another type", tensor("w", kFloat, {1}).integer(7, 1),
       "elements in int64_data"},
      {"an element that does not fit", tensor("w", kInt8, {1}).integer(5, 200),
       "int32_data holds 200"},
      {"type 0", rawTensor("w", 0, {4}, raw(kFour)), "element type undefined is not supported"},
      {"type 99", rawTensor("w", 99, {4}, raw(kFour)),
       "element type 99 (unknown) is not supported"},
      {"strings", tensor("w", kString, {1}).bytes(6, "a"), "element type string is not supported"},
      {"float8", rawTensor("w", 17, {1}, "a"), "element type float8e4m3fn is not supported"},
      {"segments", tensor("w", kFloat, {1}).message(3, Message().integer(1, 0).integer(2, 1 << 20)),
       "stored in segments"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.what);
    const std::string refusal = refusalOf(modelOfWeight(row.tensor));
    CAPTURE(refusal);
    CHECK(refusal.find(row.expected) != std::string::npos);
    if (row.what != std::string("segments"))
      CHECK(refusal.find("m.onnx: initializer 'w': ") == 0);
  }
}

TEST_CASE("frontend: raw data stays in the file") {
  TempFolder folder;
  // Names of all lengths: the data comes to lie at aligned and other offsets.
  for (int length = 1; length <= 8; ++length) {
    const std::string pad(length, 'p');
    const std::vector<float> values(1000, 2.5f);
    Graph g;
    g.initializer(rawTensor(pad, kFloat, {1000}, raw(values)))
        .node("Identity", {pad}, {"y"})
        .output("y");
    const std::string file = model(g);
    folder.write("m.onnx", file);
    frontend::Blockers blockers;
    const ir::Model loaded = frontend::loadModel(folder.path("m.onnx"), {}, blockers);
    const ir::ConstRef data = loaded.graph.fact(loaded.graph.outputs()[0]).constant;
    REQUIRE(data);
    CHECK(data->file == "m.onnx");
    CHECK(file.substr(data->offset, data->bytes) == raw(values));
    CHECK(reinterpret_cast<uintptr_t>(data->data) % sizeof(float) == 0);
    CHECK(data->floatAt(999) == 2.5);
  }
}

// --- External data ------------------------------------------------------------------------------

TEST_CASE("frontend: external data is found inside the model's folder only") {
  TempFolder folder;
  folder.write("outside.bin", raw(kFour));
  folder.write("m/w.bin", raw(kFour));
  folder.write("m/w..bin", raw(kFour));
  folder.write("m/..w", raw(kFour));
  folder.write("m/sub/w.bin", raw(kFour));
  fs::create_symlink("../outside.bin", folder.path("m/link.bin"));
  fs::create_symlink("..", folder.path("m/up"));
  fs::create_symlink("sub/w.bin", folder.path("m/inner.bin"));
  fs::create_symlink("loop.bin", folder.path("m/loop.bin"));

  struct Row {
    std::string location, expected;
  };
  const Row rows[] = {
      {"w.bin", ""},
      {"./w.bin", ""},
      {"w..bin", ""},
      {"..w", ""},
      {"sub/w.bin", ""},
      {"sub/../w.bin", ""},
      {"inner.bin", ""},
      {"../outside.bin", "leads outside the model's folder"},
      {"sub/../../outside.bin", "leads outside the model's folder"},
      {"./../outside.bin", "leads outside the model's folder"},
      {"../m/w.bin", "leads outside the model's folder"},
      {folder.path("m/w.bin"), "is an absolute path"},
      {"/etc/passwd", "is an absolute path"},
      {"", "is empty"},
      {".", "names no file"},
      {"./", "names no file"},
      {"sub/..", "names no file"},
      {"sub", "is a folder, a file was expected"},
      {std::string("w\0.bin", 6), "'w\\x00.bin' contains a NUL character"},
      {"..\\outside.bin", "contains a backslash"},
      {"missing.bin", "names no file in the model's folder"},
      {"loop.bin", "names no file in the model's folder"},
      {"link.bin", "is a link that leaves the model's folder"},
      {"up/outside.bin", "is a link that leaves the model's folder"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.location);
    folder.write("m/m.onnx",
                 modelOfWeight(externalTensor("w", kFloat, {4}, {{"location", row.location}})));
    const std::string refusal = refusalOfFile(folder.path("m/m.onnx"));
    CAPTURE(refusal);
    if (row.expected.empty()) {
      CHECK(refusal == "");
      continue;
    }
    CHECK(refusal.find(folder.path("m/m.onnx") + ": initializer 'w': external data location ") ==
          0);
    CHECK(refusal.find(row.expected) != std::string::npos);
  }
}

TEST_CASE("frontend: a download cache keeps model and data as links into one folder") {
  TempFolder folder;
  folder.write("blobs/aaaa",
               modelOfWeight(externalTensor("w", kFloat, {4}, {{"location", "m.onnx.data"}})));
  folder.write("blobs/bbbb", raw(kFour));
  folder.write("outside.bin", raw(kFour));
  fs::create_directories(folder.path("snapshots/r1"));
  fs::create_symlink("../../blobs/aaaa", folder.path("snapshots/r1/m.onnx"));
  fs::create_symlink("../../blobs/bbbb", folder.path("snapshots/r1/m.onnx.data"));
  CHECK(refusalOfFile(folder.path("snapshots/r1/m.onnx")) == "");

  // The same model, its data linked to somewhere else.
  fs::remove(folder.path("snapshots/r1/m.onnx.data"));
  fs::create_symlink("../../outside.bin", folder.path("snapshots/r1/m.onnx.data"));
  CHECK(refusalOfFile(folder.path("snapshots/r1/m.onnx")).find("leaves the model's folder") !=
        std::string::npos);

  // A lone link to a model: the data lies where it points.
  fs::remove(folder.path("snapshots/r1/m.onnx.data"));
  folder.write("blobs/m.onnx.data", raw(kFour));
  CHECK(refusalOfFile(folder.path("snapshots/r1/m.onnx")) == "");
}

TEST_CASE("frontend: external data keys") {
  TempFolder folder;
  folder.write("w.bin", std::string(3, '-') + raw(kFour) + "tail");
  struct Row {
    Entries entries;
    std::string expected; // "" loads
  };
  const Row rows[] = {
      {{{"location", "w.bin"}, {"offset", "3"}, {"length", "16"}}, ""},
      {{{"location", "w.bin"}, {"offset", "3"}, {"checksum", "abc"}}, ""},
      {{{"location", "w.bin"}, {"offset", "7"}}, ""},
      {{{"location", "w.bin"}, {"offset", "8"}}, "has 23 bytes, 16 at offset 8 were declared"},
      {{{"location", "w.bin"}, {"offset", "18446744073709551615"}}, "has 23 bytes"},
      {{{"location", "w.bin"}, {"offset", "18446744073709551616"}},
       "offset is '18446744073709551616'"},
      {{{"location", "w.bin"}, {"offset", "-1"}}, "offset is '-1', a number of bytes was expected"},
      {{{"location", "w.bin"}, {"offset", "0x3"}}, "offset is '0x3'"},
      {{{"location", "w.bin"}, {"length", "15"}}, "has length 15, f32[4] takes 16 bytes"},
      {{{"offset", "3"}}, "external data has no location"},
      {{{"location", "w.bin"}, {"basepath", "/"}},
       "external data key 'basepath' is not understood"},
  };
  for (const Row &row : rows) {
    folder.write("m.onnx", modelOfWeight(externalTensor("w", kFloat, {4}, row.entries)));
    const std::string refusal = refusalOfFile(folder.path("m.onnx"));
    CAPTURE(refusal);
    if (row.expected.empty())
      CHECK(refusal == "");
    else
      CHECK(refusal.find(row.expected) != std::string::npos);
  }

  // Several tensors of one file share one mapping; an offset that is not aligned is usable all the
  // same.
  Graph g;
  g.initializer(externalTensor("a", kFloat, {2}, {{"location", "w.bin"}, {"offset", "3"}}))
      .initializer(externalTensor("b", kUint8, {2}, {{"location", "w.bin"}, {"offset", "19"}}))
      .initializer(externalTensor("c", kUint8, {1}, {{"location", "./w.bin"}, {"offset", "22"}}))
      .output("a")
      .output("b")
      .output("c");
  folder.write("m.onnx", model(g));
  frontend::Blockers blockers;
  const ir::Model loaded = frontend::loadModel(folder.path("m.onnx"), {}, blockers);
  REQUIRE(blockers.messages.empty());
  const auto data = [&](int i) { return loaded.graph.fact(loaded.graph.outputs()[i]).constant; };
  CHECK(data(0)->floatAt(1) == 2);
  CHECK(data(0)->offset == 3);
  CHECK(data(1)->intAt(0) == 't');
  CHECK(data(2)->intAt(0) == 'l');
  CHECK(data(1)->owner == data(2)->owner);
  CHECK(data(1)->file == "w.bin");
}

TEST_CASE("frontend: a model from memory has external data only where a folder is given") {
  TempFolder folder;
  folder.write("w.bin", raw(kFour));
  const std::string file = modelOfWeight(externalTensor("w", kFloat, {4}, {{"location", "w.bin"}}));
  const llvm::ArrayRef<char> bytes(file.data(), file.size());
  frontend::Blockers blockers;
  frontend::loadModel(bytes, "m", folder.path(""), {}, blockers);
  CHECK(blockers.messages.empty());
  frontend::loadModel(bytes, "m", "", {}, blockers);
  REQUIRE(blockers.messages.size() == 1);
  CHECK(blockers.messages[0] ==
        "m: initializer 'w': external data location 'w.bin' cannot be found: the model was "
        "loaded from memory without a folder");
}

// --- Inputs, outputs, initializers --------------------------------------------------------------

TEST_CASE("frontend: inputs keep names and order, and unknown lengths get names") {
  Graph g;
  g.input("ids", kInt64, {"B", "?"})
      .input("unused", kInt32, {2, -1})
      .input("digits", kFloat, {"2", "past len", "B"})
      .node("Identity", {"digits"}, {"y"})
      .output("y")
      .output("ids")
      .output("w")
      .initializer(rawTensor("w", kFloat, {4}, raw(kFour)))
      .initializer(tensor("never_used_and_wrong", 99, {1}));
  frontend::LoadOptions options;
  options.symbols["B"] = 3;
  options.symbols["ids.dim1"] = 7;
  options.symbols["nobody"] = 1;
  const Loaded loaded = load(model(g), options);
  CHECK(loaded.blockers.empty());
  const ir::Graph &graph = loaded.model.graph;
  const char *expected[][2] = {{"ids", "i64[3, 7]"},
                               {"unused", "i32[2, unused.dim1]"},
                               {"digits", "f32[\"2\", \"past len\", 3]"}};
  REQUIRE(graph.inputs().size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(graph.value(graph.inputs()[i]).name == expected[i][0]);
    CHECK(graph.fact(graph.inputs()[i]).str() == expected[i][1]);
  }
  CHECK(graph.outputNames() == llvm::ArrayRef<std::string>({"y", "ids", "w"}));
  CHECK(graph.outputs()[0] == graph.inputs()[2]);
  CHECK(loaded.model.producer == "onnx_writer");
  CHECK(loaded.model.warnings ==
        std::vector<std::string>{"m.onnx: symbol 'nobody' was given a value, but no input has it"});
}

TEST_CASE("frontend: an initializer that is an input too is its default") {
  Graph g;
  g.input("x", kFloat, {"N"})
      .initializer(rawTensor("x", kFloat, {4}, raw(kFour)))
      .node("Identity", {"x"}, {"y"})
      .output("y");
  const Loaded loaded = load(model(g));
  REQUIRE(loaded.model.graph.defaults().size() == 1);
  CHECK(loaded.model.graph.defaults()[0].value->count() == 4);
  CHECK(!loaded.model.graph.fact(loaded.model.graph.outputs()[0]).constant);

  // Before IR version 4 every initializer was listed among the inputs; those are constants.
  const Loaded old = load(model(g, {3, {{"", 7}}, {}}));
  CHECK(old.model.graph.inputs().empty());
  CHECK(old.model.graph.fact(old.model.graph.outputs()[0]).constant);
}

TEST_CASE("frontend: faults of inputs, initializers and outputs are reported together") {
  Graph g;
  g.input("shapeless", kFloat, {})
      .input("twice", kFloat, {1})
      .input("twice", kFloat, {1})
      .input("text", kString, {1})
      .input("negative", kFloat, {-2})
      .input("deep", kFloat, {1, 1, 1, 1, 1, 1, 1, 1, 1})
      .input("default", kFloat, {3});
  g.message(11, Message().bytes(1, "untyped"));
  g.message(11, Message()
                    .bytes(1, "unranked")
                    .message(2, Message().message(1, Message().integer(1, kFloat))));
  g.initializer(rawTensor("default", kFloat, {4}, raw(kFour)))
      .initializer(rawTensor("w", kFloat, {4}, raw(kFour)))
      .initializer(rawTensor("w", kFloat, {4}, raw(kFour)));
  g.message(15, Message().message(1, rawTensor("sparse", kFloat, {1}, raw<float>({1}))));
  g.output("shapeless").output("nowhere");
  CHECK(refusalOf(model(g)) ==
        "m.onnx: input 'twice': is there twice\n"
        "m.onnx: input 'text': element type string is not supported\n"
        "m.onnx: input 'negative': axis 0 has length -2\n"
        "m.onnx: input 'deep': has rank 9, at most 8 is supported\n"
        "m.onnx: input 'default': its default is f32[4], the input is f32[3]\n"
        "m.onnx: input 'untyped': is no tensor, or has no type; a tensor was expected\n"
        "m.onnx: input 'unranked': has no shape; at least its rank must be known\n"
        "m.onnx: initializer 'w': is there twice\n"
        "m.onnx: initializer 'sparse': sparse tensors are not supported\n"
        "m.onnx: output 'nowhere': is not made by any node, and is no input or initializer");
}

TEST_CASE("frontend: declared types that contradict what is inferred are warned of") {
  Graph g;
  g.input("x", kFloat, {"B", 4})
      .node("Identity", {"x"}, {"a"})
      .node("Identity", {"x"}, {"b"})
      .node("Identity", {"x"}, {"c"})
      .value("a", kFloat16, {"B", 4})
      .value("b", kFloat, {"B", 5})
      .value("c", kFloat, {"other", 4})
      .value("nobody", kFloat, {1})
      .output("y", kInt64, {"B", 4})
      .output("c", kFloat, {7, 4});
  g.node("Identity", {"x"}, {"y"});
  CHECK(load(model(g)).model.warnings ==
        std::vector<std::string>{
            "m.onnx: value 'a' is declared as float16, but is f32[B, 4]",
            "m.onnx: value 'b' is declared with length 5 in axis 1, but is f32[B, 4]",
            "m.onnx: output 'y' is declared as int64, but is f32[B, 4]",
        });
}

// --- Nodes --------------------------------------------------------------------------------------

TEST_CASE("frontend: nodes are put in order") {
  Graph g;
  g.input("x", kFloat, {2}).input("c", kBool, {});
  Graph branch;
  branch.node("Identity", {"b"}, {"r"}).output("r");
  g.node("If", {"c"}, {"d"},
         {"", "", {graphAttribute("then_branch", branch), graphAttribute("else_branch", branch)}})
      .node("Identity", {"a"}, {"b"})
      .node("Identity", {"x"}, {"a"})
      .output("d");
  CHECK(refusalOf(model(g)) == "");
}

TEST_CASE("frontend: faults of nodes are reported together with their names") {
  struct Row {
    const char *what;
    std::function<void(Graph &)> build;
    std::string expected;
  };
  const Row rows[] = {
      {"unknown operator",
       [](Graph &g) {
         g.node("Addd", {"x", "x"}, {"y"}, {"n", "", {}});
       },
       "m.onnx: node 'n' (ai.onnx.Addd): the operator Addd is not supported (ai.onnx opset 21)"},
      {"a node without a name goes by its first output",
       [](Graph &g) {
         g.node("Addd", {"x"}, {"", "y"});
       },
       "m.onnx: node 'y' (ai.onnx.Addd): the operator Addd is not supported (ai.onnx opset 21)"},
      {"an operator of another opset",
       [](Graph &g) {
         g.node("Attention", {"x", "x", "x"}, {"y"});
       },
       "m.onnx: node 'y' (ai.onnx.Attention): the operator Attention of ai.onnx opset 21 is not "
       "supported; that of opset"},
      {"a domain without import",
       [](Graph &g) {
         g.node("Foo", {"x"}, {"y"}, {"n", "my.domain", {}});
       },
       "m.onnx: node 'n' (my.domain.Foo): the domain my.domain is not imported (opset_import)"},
      {"com.microsoft without import",
       [](Graph &g) {
         g.node("Gelu", {"x"}, {"y"}, {"n", "com.microsoft", {}});
       },
       "m.onnx: node 'n' (com.microsoft.Gelu): the domain com.microsoft is not imported "
       "(opset_import)"},
      {"unknown attributes, each",
       [](Graph &g) {
         g.node("Identity", {"x"}, {"y"},
                {"n", "", {attribute("axis", 1), attribute("mode", "a")}});
       },
       "m.onnx: node 'n' (ai.onnx.Identity): attribute 'axis': is not understood; the operator "
       "takes none\n"
       "m.onnx: node 'n' (ai.onnx.Identity): attribute 'mode': is not understood; the operator "
       "takes none"},
      {"an attribute of another type",
       [](Graph &g) {
         g.node("Constant", {}, {"y"}, {"n", "", {attribute("value_int", 1.5f)}});
       },
       "m.onnx: node 'n' (ai.onnx.Constant): attribute 'value_int': is of type float, int was "
       "expected"},
      {"an attribute twice",
       [](Graph &g) {
         g.node("Constant", {}, {"y"},
                {"n", "", {attribute("value_int", 1), attribute("value_int", 2)}});
       },
       "m.onnx: node 'n' (ai.onnx.Constant): attribute 'value_int': is given twice"},
      {"a trailing input",
       [](Graph &g) {
         g.node("Identity", {"x", "", "c"}, {"y"}, {"n", "", {}});
       },
       "m.onnx: node 'n' (ai.onnx.Identity): input '': is number 1, counted from 0; the operator "
       "takes at most 1 "
       "inputs, the node has 3"},
      {"trailing blanks are no inputs",
       [](Graph &g) {
         g.node("Identity", {"x", "", ""}, {"y", ""}, {"n", "", {}});
       },
       ""},
      {"a missing input",
       [](Graph &g) {
         g.node("Identity", {}, {"y"}, {"n", "", {}});
       },
       "m.onnx: node 'n' (ai.onnx.Identity): the operator takes at least 1 inputs, the node has 0"},
      {"an output too many",
       [](Graph &g) {
         g.node("Identity", {"x"}, {"y", "z"}, {"n", "", {}});
       },
       "m.onnx: node 'n' (ai.onnx.Identity): output 'z': is number 1, counted from 0; the operator "
       "has at most 1 "
       "outputs, the node names 2"},
      {"an element type",
       [](Graph &g) {
         g.node("If", {"x"}, {"y"}, {"n", "", {}});
       },
       "m.onnx: node 'n' (ai.onnx.If): input 'x': has element type float, bool are supported"},
      {"an undefined name, reported once",
       [](Graph &g) {
         g.node("Identity", {"q"}, {"p"}, {"n", "", {}}).node("Identity", {"q"}, {"y"});
       },
       "m.onnx: node 'n' (ai.onnx.Identity): input 'q': is not made by any node, and is no input "
       "or initializer"},
      {"a result that is there already",
       [](Graph &g) {
         g.node("Identity", {"x"}, {"y"}, {"a", "", {}})
             .node("Identity", {"c"}, {"y"}, {"b", "", {}});
       },
       "m.onnx: node 'b' (ai.onnx.Identity): output 'y': has the name of a result of node 'a'"},
      {"a result named as an input",
       [](Graph &g) {
         g.node("Identity", {"x"}, {"c"}, {"a", "", {}}).node("Identity", {"c"}, {"y"});
       },
       "m.onnx: node 'a' (ai.onnx.Identity): output 'c': has the name of an input or initializer"},
      {"a cycle",
       [](Graph &g) {
         g.node("Identity", {"q"}, {"p"}, {"a", "", {}})
             .node("Identity", {"p"}, {"q"}, {"b", "", {}})
             .node("Identity", {"q"}, {"y"}, {"after", "", {}});
       },
       "m.onnx: the graph has a cycle: 'a' uses 'q' of 'b' uses 'p' of 'a'"},
      {"a node that uses its own result",
       [](Graph &g) {
         g.node("Identity", {"y"}, {"y"}, {"a", "", {}});
       },
       "m.onnx: the graph has a cycle: 'a' uses 'y' of 'a'"},
      {"behind an unknown operator nothing but unknown operators is reported",
       [](Graph &g) {
         g.node("Addd", {"x"}, {"p"}).node("Identity", {"p"}, {"q"}).node("Subb", {"q"}, {"y"});
       },
       "m.onnx: node 'p' (ai.onnx.Addd): the operator Addd is not supported (ai.onnx opset 21)\n"
       "m.onnx: node 'y' (ai.onnx.Subb): the operator Subb is not supported (ai.onnx opset 21)"},
      {"a reference outside a function",
       [](Graph &g) {
         g.node("Constant", {}, {"y"}, {"n", "", {attributeReference("value_int", "v", 2)}});
       },
       "m.onnx: node 'n' (ai.onnx.Constant): an attribute refers to a function's attribute, but "
       "the node is in no "
       "function"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.what);
    Graph g;
    g.input("x", kFloat, {2}).input("c", kBool, {}).output("y");
    row.build(g);
    const std::string refusal = refusalOf(model(g));
    CAPTURE(refusal);
    CHECK(refusal.substr(0, row.expected.size()) == row.expected);
    if (row.expected.empty())
      CHECK(refusal == "");
  }
}

TEST_CASE("frontend: what could not be imported stands in the graph") {
  Graph g;
  g.input("x", kFloat, {2})
      .node("Addd", {"x"}, {"p"}, {"n", "", {}})
      .node("Identity", {"p"}, {"y"})
      .output("y");
  const Loaded loaded = load(model(g));
  CHECK(loaded.blockers.size() == 1);
  const ir::Graph &graph = loaded.model.graph;
  REQUIRE(graph.nodes().size() == 2);
  const ir::Unsupported *first = graph.nodes()[0].as<ir::Unsupported>();
  REQUIRE(first);
  CHECK(first->type == "Addd");
  CHECK(graph.nodes()[0].name == "n");
  CHECK(graph.nodes()[0].onnx == "ai.onnx.Addd");
  CHECK(graph.nodes()[1].as<ir::Unsupported>());
  CHECK(graph.outputNames()[0] == "y");
  CHECK(!graph.fact(graph.outputs()[0]).known);
}

TEST_CASE("frontend: Constant in all its forms") {
  struct Row {
    Message attribute;
    std::string expected;
  };
  const Row rows[] = {
      {tensorAttribute("value", rawTensor("", kFloat, {2, 2}, raw(kFour))), "f32[2, 2]: 1 2 3 4"},
      {attribute("value_int", 7), "i64[]={7}: 7"},
      {attribute("value_ints", std::vector<int64_t>{1, 2}), "i64[2]={1, 2}: 1 2"},
      {attribute("value_float", 2.0f), "f32[]: 2"},
      {attribute("value_floats", std::vector<float>{3, 4}), "f32[2]: 3 4"},
  };
  for (const Row &row : rows) {
    Graph g;
    g.node("Constant", {}, {"y"}, {"n", "", {row.attribute}}).output("y");
    CHECK(onlyConst(model(g)) == row.expected);
  }
  const auto refusal = [](const std::vector<Message> &attributes) {
    Graph g;
    g.node("Constant", {}, {"y"}, {"n", "", attributes}).output("y");
    return refusalOf(model(g));
  };
  CHECK(refusal({}) == "m.onnx: node 'n' (ai.onnx.Constant): the node has 0 attributes, exactly "
                       "one value was expected");
  CHECK(refusal({attribute("value_string", "a")}) ==
        "m.onnx: node 'n' (ai.onnx.Constant): attribute 'value_string': strings are not supported");
  CHECK(refusal({tensorAttribute("value", rawTensor("", kFloat, {3}, raw(kFour)))}) ==
        "m.onnx: node 'n' (ai.onnx.Constant): attribute 'value': has 16 bytes of data, f32[3] "
        "takes 12");
}

// --- Subgraphs ----------------------------------------------------------------------------------

TEST_CASE("frontend: branches take values from around them") {
  // y = c ? (c2 ? a : x) : w    with a made outside, w and k constants
  Graph innerThen, innerElse, thenBranch, elseBranch, g;
  innerThen.node("Identity", {"a"}, {"r"}).output("r");
  innerElse.node("Identity", {"x"}, {"r"}).output("r");
  thenBranch
      .node("If", {"c2"}, {"t"},
            {"inner",
             "",
             {graphAttribute("then_branch", innerThen), graphAttribute("else_branch", innerElse)}})
      .output("t");
  elseBranch.initializer(rawTensor("w", kFloat, {2}, raw<float>({8, 9}))).output("w");
  g.input("x", kFloat, {2})
      .input("c", kBool, {})
      .input("c2", kBool, {})
      .input("z", kFloat, {2})
      .node(
          "If", {"c"}, {"y"},
          {"outer",
           "",
           {graphAttribute("then_branch", thenBranch), graphAttribute("else_branch", elseBranch)}})
      .node("Identity", {"z"}, {"a"})
      .output("y");
  const Loaded loaded = load(model(g));
  REQUIRE(loaded.blockers.empty());
  const ir::Graph &graph = loaded.model.graph;
  REQUIRE(graph.nodes().size() == 1);
  const ir::Node &node = graph.nodes()[0];
  const ir::If *op = node.as<ir::If>();
  REQUIRE(op);
  // Condition, then the captures: both graphs have all of them as inputs.
  REQUIRE(node.operands.size() == 4);
  const auto name = [&](size_t i) { return graph.value(node.operands[i]).name; };
  CHECK(name(0) == "c");
  CHECK(name(1) == "c2");
  CHECK(name(2) == "z"); // a is another name of z
  CHECK(name(3) == "x");
  CHECK(op->thenGraph->inputs().size() == 3);
  CHECK(op->elseGraph->inputs().size() == 3);
  CHECK(op->elseGraph->nodes().size() == 1);
  CHECK(graph.fact(graph.outputs()[0]).str() == "f32[2]");
}

TEST_CASE("frontend: a branch may use a name of its own that the other takes from outside") {
  Graph own, taking, g;
  own.node("Identity", {"x"}, {"a"}).output("a");
  taking.node("Identity", {"a"}, {"r"}).output("r");
  g.input("x", kFloat, {2})
      .input("a", kFloat, {2})
      .input("c", kBool, {})
      .node("If", {"c"}, {"y"},
            {"", "", {graphAttribute("then_branch", own), graphAttribute("else_branch", taking)}})
      .output("y");
  CHECK(refusalOf(model(g)) == "");
}

TEST_CASE("frontend: constants from around a branch are constants in it") {
  Graph branch, g;
  branch.node("Identity", {"w"}, {"r"}).output("r");
  Graph other;
  other.node("Identity", {"k"}, {"r"}).output("r");
  g.input("c", kBool, {})
      .initializer(rawTensor("w", kFloat, {2}, raw<float>({1, 2})))
      .node("Constant", {}, {"k"}, {"", "", {attribute("value_floats", std::vector<float>{3, 4})}})
      .node("If", {"c"}, {"y"},
            {"", "", {graphAttribute("then_branch", branch), graphAttribute("else_branch", other)}})
      .output("y");
  const Loaded loaded = load(model(g));
  REQUIRE(loaded.blockers.empty());
  const ir::Node &node = loaded.model.graph.nodes().back();
  CHECK(node.operands.size() == 1);
  const ir::If *op = node.as<ir::If>();
  REQUIRE(op);
  CHECK(op->thenGraph->fact(op->thenGraph->outputs()[0]).constant->floatAt(1) == 2);
  CHECK(op->elseGraph->fact(op->elseGraph->outputs()[0]).constant->floatAt(1) == 4);
}

TEST_CASE("frontend: faults in branches are reported") {
  Graph good, bad, g;
  good.node("Identity", {"x"}, {"r"}).output("r");
  bad.node("Identity", {"nothing"}, {"p"}, {"in", "", {}}).node("Addd", {"p"}, {"r"}).output("r");
  g.input("x", kFloat, {2})
      .input("c", kBool, {})
      .node("If", {"c"}, {"y"},
            {"n", "", {graphAttribute("then_branch", good), graphAttribute("else_branch", bad)}})
      .output("y");
  CHECK(refusalOf(model(g)) ==
        "m.onnx: node 'in' (ai.onnx.Identity): input 'nothing': is not made by any node, and is no "
        "input or "
        "initializer\n"
        "m.onnx: node 'r' (ai.onnx.Addd): the operator Addd is not supported (ai.onnx opset 21)");

  Graph missing;
  missing.input("x", kFloat, {2})
      .input("c", kBool, {})
      .node("If", {"c"}, {"y"}, {"n", "", {graphAttribute("then_branch", good)}})
      .output("y");
  CHECK(refusalOf(model(missing)) ==
        "m.onnx: node 'n' (ai.onnx.If): attribute 'else_branch': is missing");
}

// --- Functions ----------------------------------------------------------------------------------

TEST_CASE("frontend: a model-local function is imported in the call's place") {
  // pick(a, b?; v) = (Identity(a), Constant(v)) with an inner name that the model uses too.
  const Message pick = function(
      "my", "pick", {"a", "b"}, {"first", "second"}, {"v", "unused"},
      {node("Identity", {"a"}, {"x"}), node("Identity", {"x"}, {"first"}),
       node("Constant", {}, {"second"}, {"k", "", {attributeReference("value_ints", "v", 7)}})});
  Graph g;
  g.input("x", kFloat, {2})
      .node("pick", {"x"}, {"y", "z"}, {"call", "my", {attribute("v", std::vector<int64_t>{4, 5})}})
      .output("y")
      .output("z");
  const Loaded loaded = load(model(g, {10, {{"", 21}, {"my", 1}}, {pick}}));
  REQUIRE(loaded.blockers.empty());
  const ir::Graph &graph = loaded.model.graph;
  CHECK(graph.outputs()[0] == graph.inputs()[0]);
  CHECK(graph.fact(graph.outputs()[1]).str() == "i64[2]={4, 5}");
  CHECK(graph.value(graph.outputs()[1]).name == "z");
  CHECK(graph.nodes()[0].name == "call.k");
}

TEST_CASE("frontend: a native importer comes before the function of that name") {
  const Message own = function("", "Identity", {"a"}, {"b"}, {}, {node("Addd", {"a"}, {"b"})});
  Graph g;
  g.input("x", kFloat, {2}).node("Identity", {"x"}, {"y"}).output("y");
  CHECK(refusalOf(model(g, {10, {{"", 21}}, {own}})) == "");
}

TEST_CASE("frontend: faults of functions") {
  struct Row {
    const char *what;
    std::vector<Message> functions;
    std::string expected;
  };
  const auto call = [](const char *name) { return node(name, {"a"}, {"b"}, {"", "my", {}}); };
  const auto fn = [](const char *name, const std::vector<Message> &nodes) {
    return function("my", name, {"a"}, {"b"}, {"v"}, nodes);
  };
  const Row rows[] = {
      {"calls itself",
       {fn("f", {call("f")})},
       "node 'n.b' (my.f): the model-local function calls itself"},
      {"call each other",
       {fn("f", {call("g")}), fn("g", {call("f")})},
       "node 'n.b.b' (my.f): the model-local function calls itself"},
      {"unknown operator inside",
       {fn("f", {node("Addd", {"a"}, {"b"}, {"in", "", {}})})},
       "node 'n.in' (ai.onnx.Addd): the operator Addd is not supported"},
      {"a result that the body does not make",
       {fn("f", {})},
       "node 'n' (my.f): output 'b': is not made by the body of the model-local function"},
      {"there twice", {fn("f", {}), fn("f", {})}, "function 'my.f' is there twice"},
      {"its opset",
       {function("my", "f", {"a"}, {"b"}, {"v"}, {call("g")}, {{"", 99}})},
       "node 'n' (my.f): opset_import: version 99 of ai.onnx was found"},
      {"too few inputs",
       {function("my", "f", {}, {"b"}, {"v"}, {})},
       "node 'n' (my.f): the model-local function takes 0 inputs, the node has 1"},
      {"too few outputs",
       {function("my", "f", {"a"}, {}, {"v"}, {})},
       "node 'n' (my.f): the model-local function has 0 outputs, the node names 1"},
      {"an attribute it has not",
       {function("my", "f", {"a"}, {"b"}, {}, {})},
       "node 'n' (my.f): attribute 'v': is not one of the model-local function's"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.what);
    Graph g;
    g.input("x", kFloat, {2}).node("f", {"x"}, {"y"}, {"n", "my", {attribute("v", 1)}}).output("y");
    const std::string refusal = refusalOf(model(g, {10, {{"", 21}, {"my", 1}}, row.functions}));
    CAPTURE(refusal);
    CHECK(refusal.find("m.onnx: " + row.expected) == 0);
  }
}

TEST_CASE("frontend: functions that double 40 times are refused and do not hang") {
  std::vector<Message> functions{
      function("my", "f0", {"a"}, {"b"}, {}, {node("Identity", {"a"}, {"b"})})};
  for (int i = 1; i <= 40; ++i) {
    const std::string below = "f" + std::to_string(i - 1);
    functions.push_back(function(
        "my", "f" + std::to_string(i), {"a"}, {"b"}, {},
        {node(below, {"a"}, {"c"}, {"", "my", {}}), node(below, {"c"}, {"b"}, {"", "my", {}})}));
  }
  Graph g;
  g.input("x", kFloat, {2}).node("f40", {"x"}, {"y"}, {"n", "my", {}}).output("y");
  CHECK(refusalOf(model(g, {10, {{"", 21}, {"my", 1}}, functions})).find("m.onnx: is too large") ==
        0);
}

TEST_CASE("frontend: a chain of functions deeper than 64 is refused") {
  std::vector<Message> functions{
      function("my", "f0", {"a"}, {"b"}, {}, {node("Identity", {"a"}, {"b"})})};
  for (int i = 1; i <= 100; ++i)
    functions.push_back(
        function("my", "f" + std::to_string(i), {"a"}, {"b"}, {},
                 {node("f" + std::to_string(i - 1), {"a"}, {"b"}, {"", "my", {}})}));
  const auto refusal = [&](const std::string &top) {
    Graph g;
    g.input("x", kFloat, {2}).node(top, {"x"}, {"y"}, {"n", "my", {}}).output("y");
    return refusalOf(model(g, {10, {{"", 21}, {"my", 1}}, functions}));
  };
  CHECK(refusal("f63") == "");
  CHECK(refusal("f64").find("graphs and functions are nested deeper than 64 levels") !=
        std::string::npos);
}

// --- Dumps --------------------------------------------------------------------------------------

TEST_CASE("frontend: a dump loads as the model that it was printed from") {
  TempFolder folder;
  const std::vector<float> many(100, 1.5f);
  folder.write("w.bin", raw(many));
  Graph g;
  g.input("x", kFloat, {"B", 2})
      .initializer(externalTensor("w", kFloat, {100}, {{"location", "w.bin"}}))
      .initializer(rawTensor("v", kFloat, {100}, raw(many)))
      .node("Identity", {"x"}, {"y"})
      .output("y")
      .output("w")
      .output("v");
  folder.write("m.onnx", model(g));
  frontend::Blockers blockers;
  const ir::Model loaded = frontend::loadModel(folder.path("m.onnx"), {}, blockers);
  std::string text;
  llvm::raw_string_ostream os(text);
  ir::print(loaded, os);
  os.flush();

  folder.write("m.eir", text);
  const ir::Model again = frontend::loadModel(folder.path("m.eir"), {}, blockers);
  std::string why;
  CHECK(ir::equal(loaded.graph, again.graph, &why));
  CHECK(why == "");

  // Elsewhere, with the folder of the weights; and without it.
  folder.write("other/m.eir", text);
  frontend::LoadOptions options;
  options.weights = folder.path("");
  CHECK(ir::equal(loaded.graph,
                  frontend::loadModel(folder.path("other/m.eir"), options, blockers).graph));
  CHECK(refusalOfFile(folder.path("other/m.eir")).find("; --weights (ModelOptions::weights)") !=
        std::string::npos);

  // The same containment holds as for external data.
  std::string outside = text;
  outside.replace(outside.find("\"w.bin\""), 7, "\"../w.bin\"");
  folder.write("other/outside.eir", outside);
  CHECK(refusalOfFile(folder.path("other/outside.eir")).find("leads outside the model's folder") !=
        std::string::npos);
}

TEST_CASE("frontend: rows of the importer table") {
  for (const frontend::ImporterRow &row : frontend::importerTable()) {
    CAPTURE(row.domain);
    CAPTURE(row.type);
    CHECK(static_cast<bool>(row.import));
    CHECK(row.since <= row.until);
    CHECK(row.minInputs <= row.maxInputs);
    CHECK(frontend::findImporter(row.domain, row.type, row.since) ==
          &row); // no two rows for one version
    llvm::SmallVector<llvm::StringRef, 8> words;
    llvm::StringRef(row.attributes).split(words, ' ', -1, false);
    for (llvm::StringRef word : words) {
      const std::string kind = word.split(':').second.str();
      const char *kinds[] = {"int",     "float",  "string", "ints",         "floats",
                             "strings", "tensor", "graph",  "sparse_tensor"};
      CAPTURE(kind);
      CHECK(std::find(std::begin(kinds), std::end(kinds), kind) != std::end(kinds));
    }
    words.clear();
    llvm::StringRef(row.types).split(words, ' ', -1, false);
    for (llvm::StringRef word : words) {
      bool known = false;
      for (int i = 1; i < kNumDTypes; ++i)
        known |= word == dtypeName(static_cast<DType>(i));
      CHECK(known);
    }
  }
}
