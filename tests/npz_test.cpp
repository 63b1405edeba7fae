#include "ir/error.h"
#include "runtime/npz.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;
using namespace engine;

namespace {

struct TemporaryFile {
  std::string path =
      (fs::temp_directory_path() / ("npz_test." + std::to_string(getpid()))).string();
  ~TemporaryFile() { std::remove(path.c_str()); }

  std::string read() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(llvm::StringRef bytes) const {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
};

std::string faultOf(llvm::StringRef header) {
  try {
    parseNpyHeader(header);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

bool mentions(const std::string &text, llvm::StringRef part) {
  return text.find(part.str()) != std::string::npos;
}

} // namespace

TEST_CASE("npy headers as numpy and ml_dtypes write them") {
  NpyHeader header =
      parseNpyHeader("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }     \n");
  CHECK(header.dtype == DType::kF32);
  CHECK(header.shape == std::vector<int64_t>{2, 3});
  CHECK(header.payload == 24);
  CHECK_FALSE(header.fortranOrder);
  CHECK_FALSE(header.swapped);

  header = parseNpyHeader("{'descr': '>i8', 'fortran_order': True, 'shape': (3,)}");
  CHECK(header.dtype == DType::kI64);
  CHECK(header.swapped);
  CHECK(header.fortranOrder);
  CHECK(parseNpyHeader("{'descr': '|b1', 'fortran_order': False, 'shape': ()}").payload == 1);
  CHECK(parseNpyHeader("{'descr': '<V2', 'fortran_order': False, 'shape': (0, 5)}").dtype ==
        DType::kBF16);
  CHECK_FALSE(parseNpyHeader("{'descr': '>u1', 'fortran_order': False, 'shape': (4,)}").swapped);
}

TEST_CASE("npy headers that are refused") {
  CHECK(mentions(faultOf("{'descr': '<f4', 'fortran_order': False}"), "lacks"));
  CHECK(mentions(faultOf("{'descr': '<c8', 'fortran_order': False, 'shape': ()}"), "'<c8'"));
  CHECK(mentions(faultOf("{'descr': '|f4', 'fortran_order': False, 'shape': ()}"), "byte order"));
  CHECK(mentions(faultOf("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}"),
                 "structured"));
  CHECK(mentions(faultOf("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}"),
                 "twice"));
  CHECK(mentions(faultOf("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}"), "'x'"));
  CHECK(mentions(faultOf("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"), "dimension"));
  CHECK(mentions(faultOf("{'descr': '<f4', 'fortran_order': False, 'shape': (3)}"), "tuple"));
  CHECK(mentions(faultOf("{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}"), "','"));
  CHECK(mentions(faultOf("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}"), "True or False"));
  CHECK(mentions(faultOf("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x"), "behind"));
  CHECK(mentions(
      faultOf("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 4)}"),
      "too many"));
  CHECK(mentions(
      faultOf("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}"),
      "63 bits"));
  for (const char *text : {"", "{", "{'", "{'descr'", "{'descr':", "{'descr': '<f4'", "x"})
    CHECK_FALSE(faultOf(text).empty());
  const std::string whole = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  for (size_t length = 0; length < whole.size(); ++length)
    CHECK_FALSE(faultOf(llvm::StringRef(whole).take_front(length)).empty());
}

TEST_CASE("what is written is read again, with its names, types, shapes and bits") {
  TemporaryFile file;
  std::vector<NamedTensor> arrays;
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (isSubByte(dtype))
      continue;
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{}, std::vector<int64_t>{3}, std::vector<int64_t>{2, 0, 4}}) {
      Tensor tensor = Tensor::zeros(dtype, shape);
      for (size_t byte = 0; byte < tensor.bytes(); ++byte)
        tensor.as<uint8_t>()[byte] =
            dtype == DType::kBool ? byte % 2 : static_cast<uint8_t>(byte * 37 + 1);
      arrays.push_back(
          {"in:" + std::string(dtypeName(dtype)) + "/" + std::to_string(shape.size()), tensor});
    }
  }
  arrays.push_back({"", Tensor::of<float>({1}, {1})});
  arrays.push_back({"caf\xc3\xa9 \"'\\", Tensor::of<float>({1}, {2})});
  writeNpz(file.path, arrays);
  const std::string bytes = file.read();
  const std::vector<NamedTensor> read = readNpz(file.path);
  REQUIRE(read.size() == arrays.size());
  for (size_t i = 0; i < read.size(); ++i) {
    CAPTURE(arrays[i].name);
    CHECK(read[i].name == arrays[i].name);
    CHECK(read[i].tensor.dtype() == arrays[i].tensor.dtype());
    CHECK(read[i].tensor.shape() == arrays[i].tensor.shape());
    CHECK(std::memcmp(read[i].tensor.data(), arrays[i].tensor.data(), arrays[i].tensor.bytes()) ==
          0);
  }
  writeNpz(file.path, arrays);
  CHECK(file.read() == bytes);
}

TEST_CASE("half bytes are widened") {
  TemporaryFile file;
  Tensor packed = Tensor::zeros(DType::kI4, {3});
  packed.as<uint8_t>()[0] = 0x9f; // -1, -7
  packed.as<uint8_t>()[1] = 0x03;
  writeNpz(file.path, NamedTensor{"x", packed});
  const Tensor read = readNpz(file.path).front().tensor;
  CHECK(read.dtype() == DType::kI8);
  CHECK(read.as<int8_t>()[0] == -1);
  CHECK(read.as<int8_t>()[1] == -7);
  CHECK(read.as<int8_t>()[2] == 3);
}

TEST_CASE("damaged archives are refused or read, never worse") {
  TemporaryFile file;
  writeNpz(file.path,
           {{"a", Tensor::of<float>({2, 2}, {1, 2, 3, 4})}, {"b", Tensor::of<int64_t>({1}, {7})}});
  const std::string good = file.read();
  size_t refused = 0;
  auto attempt = [&](const std::string &bytes) {
    file.write(bytes);
    try {
      readNpz(file.path);
    } catch (const Error &error) {
      ++refused;
      CHECK(error.kind() == Error::Kind::kRefused);
      CHECK(mentions(error.what(), file.path));
    } catch (const std::bad_alloc &) {
      ++refused;
    }
  };
  for (size_t length = 0; length < good.size(); ++length)
    attempt(good.substr(0, length));
  CHECK(refused == good.size());
  for (size_t i = 0; i < good.size(); ++i)
    for (int bit : {0, 3, 7}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      attempt(bytes);
    }
  CHECK(refused > 2 * good.size());
}

TEST_CASE("files that cannot be") {
  CHECK_THROWS_WITH_AS(readNpz("/nowhere/x.npz"), doctest::Contains("no such file"), Error);
  CHECK_THROWS_AS(readNpz("tests"), Error);
  CHECK_THROWS_AS(writeNpz("/nowhere/x.npz", {}), Error);
  CHECK_THROWS_AS(writeNpz("/dev/full", NamedTensor{"x", Tensor::of<float>({1}, {1})}), Error);
}

TEST_CASE("tensors of impossible shapes are undefined") {
  CHECK_FALSE(Tensor::zeros(DType::kF32, {-1}).defined());
  CHECK_FALSE(Tensor::zeros(DType::kF32, {INT64_MAX, 4}).defined());
  CHECK_FALSE(Tensor::zeros(DType::kF32, {int64_t{1} << 60}).defined());
  CHECK(Tensor::zeros(DType::kF32, {0, INT64_MAX}).defined());
  CHECK(Tensor::zeros(DType::kF32, {}).count() == 1);
  CHECK(Tensor().count() == 0);
}
