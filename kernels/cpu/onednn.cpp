#include "kernels/cpu/onednn.h"

#include <dnnl.hpp>

#include <algorithm>
#include <deque>
#include <mutex>
#include <omp.h>

namespace engine::cpu {

namespace {

using dnnl::memory;

// oneDNN takes its thread count from OpenMP's setting of the calling thread.
class ScopedThreads {
public:
  explicit ScopedThreads(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~ScopedThreads() { omp_set_num_threads(before_); }

private:
  int before_;
};

memory::desc describe(const View &view) {
  const auto type = view.dtype == DType::kBF16 ? memory::data_type::bf16 : memory::data_type::f32;
  memory::dims dims, strides;
  int64_t dense = 1;
  for (int i = 0; i < view.rank; ++i) {
    const bool broadcast = i < view.rank - 2 && view.strides[i] == 0;
    dims.push_back(broadcast ? 1 : view.dims[i]);
    strides.push_back(view.strides[i]);
  }
  // Axes of one element need a stride all the same.
  for (int i = view.rank - 1; i >= 0; --i) {
    if (dims[i] == 1)
      strides[i] = dense;
    dense = std::max(dense, strides[i] * dims[i]);
  }
  return memory::desc(dims, type, strides);
}

} // namespace

bool isOneDnnMatrix(const View &view) {
  const int rows = view.rank - 2, columns = view.rank - 1;
  const bool rowMajor = view.strides[columns] == 1 || view.dims[columns] == 1;
  const bool columnMajor = view.strides[rows] == 1 || view.dims[rows] == 1;
  if (!rowMajor && !columnMajor)
    return false;
  for (int i = rows; i < view.rank; ++i)
    if (view.dims[i] > 1 && view.strides[i] <= 0)
      return false;
  for (int i = 0; i < rows; ++i)
    if (view.dims[i] > 1 && view.strides[i] < 0)
      return false;
  return true;
}

// Bounded, so that no sequence of lengths lets it grow.
class OneDnnProduct::Primitives {
public:
  struct Entry {
    memory::desc a, b, y;
    dnnl::matmul primitive;
    memory::desc scratchpad;
  };

  // oneDNN keeps primitives as well, of 1024 shapes unless it is told otherwise: some 50 MiB.
  Primitives() : engine_(dnnl::engine::kind::cpu, 0) { dnnl::set_primitive_cache_capacity(64); }

  Entry get(const View &aView, const View &bView, const View &yView, int threads) {
    const memory::desc a = describe(aView), b = describe(bView), y = describe(yView);
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Keyed &keyed : entries_)
      if (keyed.threads == threads && keyed.entry.a == a && keyed.entry.b == b &&
          keyed.entry.y == y)
        return keyed.entry;
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc desc(engine_, a, b, y, attr);
    entries_.push_back({threads, {a, b, y, dnnl::matmul(desc), desc.scratchpad_desc()}});
    if (entries_.size() > kCapacity)
      entries_.pop_front();
    return entries_.back().entry;
  }

  const dnnl::engine &engine() const { return engine_; }

private:
  static constexpr size_t kCapacity = 4;
  struct Keyed {
    int threads;
    Entry entry;
  };
  dnnl::engine engine_;
  std::mutex mutex_;
  std::deque<Keyed> entries_;
};

OneDnnProduct::OneDnnProduct() : primitives_(std::make_unique<Primitives>()) {}
OneDnnProduct::~OneDnnProduct() = default;

int64_t OneDnnProduct::scratchBytes(const View &a, const View &b, const View &y,
                                    int threads) const {
  ScopedThreads scoped(threads);
  return static_cast<int64_t>(primitives_->get(a, b, y, threads).scratchpad.get_size());
}

void OneDnnProduct::run(const View &a, const View &b, const View &y, int threads,
                        void *scratch) const {
  ScopedThreads scoped(threads);
  const Primitives::Entry entry = primitives_->get(a, b, y, threads);
  const dnnl::engine &engine = primitives_->engine();
  dnnl::stream stream(engine);
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, memory(entry.a, engine, a.data)},
      {DNNL_ARG_WEIGHTS, memory(entry.b, engine, b.data)},
      {DNNL_ARG_DST, memory(entry.y, engine, y.data)},
      {DNNL_ARG_SCRATCHPAD, memory(entry.scratchpad, engine, scratch)}};
  entry.primitive.execute(stream, arguments);
  stream.wait();
}

} // namespace engine::cpu
