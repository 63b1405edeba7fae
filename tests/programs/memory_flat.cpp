// New sequence lengths must not cost memory for ever: lengths 1 to 512, shuffled, twice, on one
// session of MatMul -> Attention -> MatMul. Four lengths are checked against plain loops, and the
// second pass may add at most 8 MiB to the resident memory. Closes with `N passed, N failed`.
#include "runtime/engine.h"
#include "tests/onnx_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <random>

#include <unistd.h>

using namespace engine;
using namespace onnx_writer;

namespace {

constexpr int kWidth = 64, kHeads = 4, kKvHeads = 2, kHeadSize = 32, kLongest = 512;
constexpr int64_t kAllowedBytes = int64_t{8} << 20;

using Matrix = std::vector<float>;

Matrix randomMatrix(std::mt19937 &random, int64_t count) {
  std::normal_distribution<float> normal(0, 1.0f / std::sqrt(static_cast<float>(kWidth)));
  Matrix matrix(count);
  for (float &value : matrix)
    value = normal(random);
  return matrix;
}

struct Weights {
  Matrix q, k, v, out;

  explicit Weights(std::mt19937 &random)
      : q(randomMatrix(random, kWidth * kHeads * kHeadSize)),
        k(randomMatrix(random, kWidth * kKvHeads * kHeadSize)),
        v(randomMatrix(random, kWidth * kKvHeads * kHeadSize)),
        out(randomMatrix(random, kHeads * kHeadSize * kWidth)) {}
};

std::string modelFile(const Weights &weights) {
  onnx_writer::Graph g;
  g.input("x", kFloat, {1, "S", kWidth})
      .initializer(rawTensor("wq", kFloat, {kWidth, kHeads * kHeadSize}, raw(weights.q)))
      .initializer(rawTensor("wk", kFloat, {kWidth, kKvHeads * kHeadSize}, raw(weights.k)))
      .initializer(rawTensor("wv", kFloat, {kWidth, kKvHeads * kHeadSize}, raw(weights.v)))
      .initializer(rawTensor("wo", kFloat, {kHeads * kHeadSize, kWidth}, raw(weights.out)))
      .node("MatMul", {"x", "wq"}, {"q"})
      .node("MatMul", {"x", "wk"}, {"k"})
      .node("MatMul", {"x", "wv"}, {"v"})
      .node("Attention", {"q", "k", "v"}, {"a"},
            {"attention",
             "",
             {attribute("is_causal", 1), attribute("q_num_heads", kHeads),
              attribute("kv_num_heads", kKvHeads)}})
      .node("MatMul", {"a", "wo"}, {"y"})
      .output("y", kFloat, {1, "S", kWidth});
  return model(g, {10, {{"", 23}}, {}});
}

using Doubles = std::vector<double>;

// x [rows, inner] times w [inner, columns]
Doubles product(const Doubles &x, const Matrix &w, int64_t rows, int64_t inner, int64_t columns) {
  Doubles y(rows * columns, 0.0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t j = 0; j < columns; ++j)
        y[i * columns + j] += x[i * inner + k] * w[k * columns + j];
  return y;
}

Doubles expectedOutput(const Weights &weights, const Matrix &x, int64_t rows) {
  const Doubles wide(x.begin(), x.end());
  const Doubles q = product(wide, weights.q, rows, kWidth, kHeads * kHeadSize);
  const Doubles k = product(wide, weights.k, rows, kWidth, kKvHeads * kHeadSize);
  const Doubles v = product(wide, weights.v, rows, kWidth, kKvHeads * kHeadSize);
  Doubles attended(rows * kHeads * kHeadSize, 0.0);
  for (int64_t h = 0; h < kHeads; ++h) {
    const int64_t kvHead = h / (kHeads / kKvHeads);
    for (int64_t i = 0; i < rows; ++i) {
      const double *query = &q[(i * kHeads + h) * kHeadSize];
      Doubles weight(i + 1);
      double sum = 0;
      for (int64_t j = 0; j <= i; ++j) {
        const double *key = &k[(j * kKvHeads + kvHead) * kHeadSize];
        weight[j] = std::exp(std::inner_product(query, query + kHeadSize, key, 0.0) /
                             std::sqrt(static_cast<double>(kHeadSize)));
        sum += weight[j];
      }
      for (int64_t j = 0; j <= i; ++j)
        for (int64_t c = 0; c < kHeadSize; ++c)
          attended[(i * kHeads + h) * kHeadSize + c] +=
              weight[j] / sum * v[(j * kKvHeads + kvHead) * kHeadSize + c];
    }
  }
  return product(attended, weights.out, rows, kHeads * kHeadSize, kWidth);
}

int64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int passed = 0, failed = 0;

void check(const std::string &what, bool holds) {
  ++(holds ? passed : failed);
  std::printf("%s: %s\n", what.c_str(), holds ? "ok" : "FAILED");
}

class Lengths {
public:
  Lengths(Session session, const Weights &weights, std::mt19937 &random)
      : session_(std::move(session)), weights_(weights),
        x_(randomMatrix(random, kLongest * kWidth)), order_(kLongest) {
    std::iota(order_.begin(), order_.end(), 1);
  }

  // All lengths once; gives the resident bytes afterwards.
  int64_t pass(std::mt19937 &random) {
    std::shuffle(order_.begin(), order_.end(), random);
    for (int64_t rows : order_)
      run(rows);
    return residentBytes();
  }

private:
  void run(int64_t rows) {
    const Matrix x(x_.begin(), x_.begin() + rows * kWidth);
    Tensors feed;
    feed["x"] = Tensor::of<float>({1, rows, kWidth}, x);
    Result<Tensors> outputs = session_.run(feed);
    if (!outputs)
      return check("length " + std::to_string(rows) + ": " + outputs.error().message, false);
    if (rows == 1 || rows == 7 || rows == 64 || rows == 333)
      compare(rows, x, (*outputs)["y"]);
  }

  void compare(int64_t rows, const Matrix &x, const Tensor &y) {
    const Doubles expected = expectedOutput(weights_, x, rows);
    bool close = y.count() == static_cast<int64_t>(expected.size());
    for (size_t i = 0; close && i < expected.size(); ++i)
      close = std::fabs(y.as<float>()[i] - expected[i]) <= 2e-5 * (1 + std::fabs(expected[i]));
    check("length " + std::to_string(rows), close);
  }

  Session session_;
  const Weights &weights_;
  Matrix x_;
  std::vector<int64_t> order_;
};

} // namespace

int main() {
  std::mt19937 random(24);
  const Weights weights(random);
  const std::string file = modelFile(weights);
  const Result<Model> loaded = Model::load(file.data(), file.size(), "");
  if (!loaded) {
    std::printf("%s\n0 passed, 1 failed\n", loaded.error().message.c_str());
    return 1;
  }
  SessionOptions options;
  options.threads = 2;
  Result<Session> session = Session::create(*loaded, options);
  if (!session) {
    std::printf("%s\n0 passed, 1 failed\n", session.error().message.c_str());
    return 1;
  }
  Lengths lengths(*session, weights, random);
  const int64_t first = lengths.pass(random);
  const int64_t added = lengths.pass(random) - first;
  std::printf("the second pass adds %.1f MiB to %.1f MiB\n", added / 1048576.0, first / 1048576.0);
  check("the second pass adds at most 8 MiB", added <= kAllowedBytes);

  // What is measured shows what it should.
  const int64_t before = residentBytes();
  const std::vector<char> kept(2 * kAllowedBytes, 1);
  check("memory that is kept shows", residentBytes() - before > kAllowedBytes && kept.back() == 1);
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
