// Attention problems with their memory, for the tests of the CUDA kernels: every tensor has its
// exact size and is known to the simulator; key and value rows that no query can see hold NaN.
#pragma once

#include "ir/half.h"
#include "kernels/cuda/sim/executor.h"
#include "kernels/sdpa_problem.h"
#include "tests/sdpa_naive.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace engine::test {

struct SdpaSizes {
  int64_t batch = 1;
  int64_t kvHeads = 1;
  int64_t group = 1;
  int64_t queries = 1;
  int64_t keys = 1;
  int64_t newKeys = 0;
  int64_t headSize = 64;
  int64_t vHeadSize = 0; // 0: headSize
};

class SdpaCase {
public:
  SdpaProblem p;
  SdpaSizes sizes;
  sim::MemoryMap memory;

  SdpaCase(const SdpaSizes &s, DType type, DType cache, unsigned seed) : sizes(s), random_(seed) {
    if (sizes.vHeadSize == 0)
      sizes.vHeadSize = sizes.headSize;
    const int64_t heads = s.kvHeads * s.group;
    p.q = tensor("q", type, {s.batch, heads, s.queries, s.headSize});
    p.k = tensor("k", cache, {s.batch, s.kvHeads, s.keys, s.headSize});
    p.v = tensor("v", cache, {s.batch, s.kvHeads, s.keys, sizes.vHeadSize});
    if (s.newKeys > 0) {
      p.kNew = tensor("kNew", cache, {s.batch, s.kvHeads, s.newKeys, s.headSize});
      p.vNew = tensor("vNew", cache, {s.batch, s.kvHeads, s.newKeys, sizes.vHeadSize});
    }
    p.out = tensor("out", type, {s.batch, heads, s.queries, sizes.vHeadSize});
    fill(p.out, kNan);
    p.scale = 1 / std::sqrt(static_cast<float>(s.headSize));
  }
  SdpaCase(const SdpaCase &) = delete;
  SdpaCase &operator=(const SdpaCase &) = delete;

  int64_t heads() const { return sizes.kvHeads * sizes.group; }

  // Axes of size 1 are broadcast. A fifth of the bias is -inf, and so are all of the middle query's
  // columns.
  void addBias(DType type, int64_t b, int64_t h, int64_t i, int64_t columns) {
    p.bias = broadcast(tensor("bias", type, {b, h, i, columns}));
    for (int64_t n = 0; n < b * h * i * columns; ++n) {
      const bool middle = i > 1 && n / columns % i == i / 2;
      if (middle || random_() % 5 == 0)
        set(p.bias, n, -kInfinity);
    }
  }
  void addMask(int64_t b, int64_t h, int64_t i, int64_t columns) {
    p.mask = broadcast(tensor("mask", DType::kBool, {b, h, i, columns}));
    for (int64_t n = 0; n < b * h * i * columns; ++n)
      p.mask.as<uint8_t>()[n] = random_() % 4 != 0;
  }
  void addSink(DType type) { p.sink = tensor("sink", type, {heads()}); }
  void addScales(bool perChannel) {
    p.kScale = scales("kScale", perChannel ? sizes.kvHeads * sizes.headSize : 1);
    p.vScale = scales("vScale", perChannel ? sizes.kvHeads * sizes.vHeadSize : 1);
  }
  // A device array of one length an entry.
  const int64_t *lengths(const std::string &name, std::vector<int64_t> values) {
    View view = tensor(name, DType::kI64, {static_cast<int64_t>(values.size())});
    std::memcpy(view.data, values.data(), values.size() * sizeof values[0]);
    return view.as<const int64_t>();
  }
  // Global memory for a workspace.
  float *workspace(int64_t floats) {
    return tensor("workspace", DType::kF32, {std::max<int64_t>(floats, 1)}).as<float>();
  }

  // Puts NaN in every key and value row that no query of its entry sees.
  void poisonHiddenRows() {
    for (int64_t b = 0; b < sizes.batch; ++b) {
      const SdpaEntry e = p.entry(b);
      const KeyRange seen = e.frame.unionRange(0, e.queryLen);
      for (int64_t j = 0; j < sizes.keys + sizes.newKeys; ++j) {
        const bool second = j >= e.split;
        const int64_t row = second ? j - e.split : j;
        if (seen.contains(j) || (second && row >= sizes.newKeys))
          continue;
        poisonRow(second ? p.kNew : p.k, b, row);
        poisonRow(second ? p.vNew : p.v, b, row);
      }
      for (int64_t j = e.split; j < sizes.keys; ++j) {
        poisonRow(p.k, b, j);
        poisonRow(p.v, b, j);
      }
    }
  }

  // No query sees key row `row`, because bias or mask hide it; the row holds NaN.
  void hideColumn(int64_t row) {
    for (const View &view : {p.bias, p.mask}) {
      for (int64_t i = row; view.present() && i < view.count(); i += view.dims[3]) {
        if (view.dtype == DType::kBool)
          view.as<uint8_t>()[i] = 0;
        else
          set(view, i, -kInfinity);
      }
    }
    for (int64_t b = 0; b < sizes.batch; ++b) {
      poisonRow(p.k, b, row);
      poisonRow(p.v, b, row);
    }
  }

  // The largest error relative to 1 + |value|; not a number counts as infinite.
  double error() const {
    const std::vector<double> expected = NaiveSdpa(p).run();
    double worst = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const double got = readElement(p.out, static_cast<int64_t>(i));
      const double e = std::fabs(got - expected[i]) / (1 + std::fabs(expected[i]));
      if (!(e <= worst))
        worst = std::isnan(e) ? kInfinity : e;
    }
    return worst;
  }

private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  static constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

  View tensor(const std::string &name, DType type, std::vector<int64_t> dims) {
    View view;
    view.dtype = type;
    view.rank = static_cast<int>(dims.size());
    std::copy(dims.begin(), dims.end(), view.dims);
    view.setDenseStrides();
    const int64_t bytes = view.bytes();
    constexpr int64_t kAlignment = 256; // what an allocator of device memory gives
    storage_.push_back(std::make_unique<unsigned char[]>(bytes + kAlignment));
    const uintptr_t start = reinterpret_cast<uintptr_t>(storage_.back().get());
    view.data = reinterpret_cast<void *>((start + kAlignment - 1) / kAlignment * kAlignment);
    memory.add(view.data, bytes, name);
    for (int64_t i = 0; i < view.count(); ++i)
      setRandom(view, i);
    return view;
  }

  View scales(const std::string &name, int64_t count) {
    View view = tensor(name, DType::kF32, {count});
    for (int64_t i = 0; i < count; ++i)
      set(view, i, 0.005f + 0.02f * static_cast<float>(random_() % 100) / 100);
    return view;
  }

  static View broadcast(View view) {
    for (int axis = 0; axis < 3; ++axis) {
      if (view.dims[axis] == 1)
        view.strides[axis] = 0;
    }
    return view;
  }

  void setRandom(const View &view, int64_t i) {
    if (view.dtype == DType::kI8)
      view.as<int8_t>()[i] = static_cast<int8_t>(random_() % 256 - 128);
    else
      set(view, i, normal_(random_));
  }

  static void set(const View &view, int64_t i, float value) {
    if (view.dtype == DType::kF32)
      view.as<float>()[i] = value;
    else if (view.dtype == DType::kF16)
      view.as<Half>()[i] = Half(value);
    else if (view.dtype == DType::kBF16)
      view.as<BFloat16>()[i] = BFloat16(value);
  }

  static void fill(const View &view, float value) {
    for (int64_t i = 0; i < view.count(); ++i)
      set(view, i, value);
  }

  void poisonRow(const View &view, int64_t b, int64_t row) {
    for (int64_t h = 0; h < view.dims[1]; ++h) {
      for (int64_t c = 0; c < view.dims[3]; ++c)
        set(view, offsetOf(view, b, h, row, c), kNan);
    }
  }

  std::mt19937 random_;
  std::normal_distribution<float> normal_;
  std::vector<std::unique_ptr<unsigned char[]>> storage_;
};

inline double tolerance(DType type) { return type == DType::kBF16 ? 1.6e-2 : 2e-3; }

} // namespace engine::test
