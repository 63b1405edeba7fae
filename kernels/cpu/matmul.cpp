// MatMul on oneDNN: f32 and, where the machine has the dot product, bf16 as they are; f16 and other
// bf16 widened to f32 in panels of the right operand, so that a whole weight is never copied.
#include "kernels/cpu/convert.h"
#include "kernels/cpu/matmul_operands.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rows.h"

#include <dnnl.hpp>

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

memory::data_type dataType(DType dtype) {
  return dtype == DType::kBF16 ? memory::data_type::bf16 : memory::data_type::f32;
}

// oneDNN wants one of the two inner axes dense and none with a gap of zero.
bool isMatrixLayout(const View &view) {
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

memory::desc describe(const View &view, memory::data_type type) {
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

// The primitives of the shapes seen last. Shared by the sessions of a model, bounded so that no
// sequence of lengths lets it grow.
class PrimitiveCache {
public:
  struct Entry {
    memory::desc a, b, y;
    dnnl::matmul primitive;
    memory::desc scratchpad;
  };

  PrimitiveCache() : engine_(dnnl::engine::kind::cpu, 0) {}

  Entry get(const memory::desc &a, const memory::desc &b, const memory::desc &y, int threads) {
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

constexpr int64_t kAlignment = 64;
int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Pieces of the scratch memory, in order.
class Scratch {
public:
  explicit Scratch(void *base) : next_(static_cast<char *>(base)) {}
  char *take(int64_t bytes) {
    char *piece = next_;
    next_ += aligned(bytes);
    return piece;
  }

private:
  char *next_;
};

class OneDnnMatMul final : public Kernel {
public:
  explicit OneDnnMatMul(const KernelProblem &problem)
      : native_(problem.operand(0).dtype == DType::kF32 ||
                (problem.operand(0).dtype == DType::kBF16 &&
                 problem.options.isa == Isa::kAvx512Bf16)) {}

  std::string whyNotNow(const KernelCall &call) const override {
    const MatMulOperands m = matMulOperands(call);
    if (!native_ && m.a.rank > 2)
      return "batches of f16 matrices on both sides are left to the reference kernel";
    if (!isMatrixLayout(m.a) || !isMatrixLayout(m.b) || !isMatrixLayout(m.y))
      return "neither inner axis of an operand is dense";
    return {};
  }

  int64_t scratchBytes(const KernelCall &call) const override {
    const MatMulOperands m = matMulOperands(call);
    if (m.empty())
      return 0;
    ScopedThreads threads(call.threads);
    if (native_)
      return native(m, call.threads).scratchpad.get_size();
    const Panels p(m);
    const PrimitiveCache::Entry entry = panel(p, p.width, call.threads);
    return aligned(p.rows * p.depth * 4) + aligned(p.depth * p.width * 4) +
           aligned(p.rows * p.width * 4) + static_cast<int64_t>(entry.scratchpad.get_size());
  }

  void run(const KernelCall &call) const override {
    const MatMulOperands m = matMulOperands(call);
    if (m.empty())
      return clearResult(m);
    ScopedThreads threads(call.threads);
    if (native_)
      execute(native(m, call.threads), m.a.data, m.b.data, m.y.data, call.scratch);
    else
      runPanels(m, call);
  }

private:
  PrimitiveCache::Entry native(const MatMulOperands &m, int threads) const {
    const memory::data_type type = dataType(m.a.dtype);
    return cache_.get(describe(m.a, type), describe(m.b, type), describe(m.y, type), threads);
  }

  // [rows, depth] x [depth, columns] in panels of `width` columns.
  struct Panels {
    explicit Panels(const MatMulOperands &m)
        : rows(m.a.dims[0]), depth(m.a.dims[1]), columns(m.b.dims[1]),
          width(std::min<int64_t>(columns, kPanelColumns)) {}
    static constexpr int64_t kPanelColumns = 256;
    int64_t rows, depth, columns, width;
  };

  PrimitiveCache::Entry panel(const Panels &p, int64_t width, int threads) const {
    const auto matrix = [](int64_t rows, int64_t columns) {
      return memory::desc({rows, columns}, memory::data_type::f32, memory::dims{columns, 1});
    };
    return cache_.get(matrix(p.rows, p.depth), matrix(p.depth, width), matrix(p.rows, width),
                      threads);
  }

  void runPanels(const MatMulOperands &m, const KernelCall &call) const {
    const Panels p(m);
    Scratch scratch(call.scratch);
    float *a = reinterpret_cast<float *>(scratch.take(p.rows * p.depth * 4));
    float *b = reinterpret_cast<float *>(scratch.take(p.depth * p.width * 4));
    float *y = reinterpret_cast<float *>(scratch.take(p.rows * p.width * 4));
    char *scratchpad = scratch.take(0);
    widen(m.a, 0, p.depth, a, call.threads);
    for (int64_t first = 0; first < p.columns; first += p.width) {
      const int64_t width = std::min(p.width, p.columns - first);
      widen(m.b, first, width, b, call.threads);
      execute(panel(p, width, call.threads), a, b, y, scratchpad);
      narrow(y, width, m.y, first, call.threads);
    }
  }

  // Columns [first, first + width) of a matrix as f32, dense.
  static void widen(const View &from, int64_t first, int64_t width, float *to, int threads) {
    parallelFor(from.dims[0], threads, [&](int64_t row) {
      toFloat(from.dtype, from.data, row * from.strides[0] + first * from.strides[1],
              from.strides[1], to + row * width, width);
    });
  }

  static void narrow(const float *from, int64_t width, const View &to, int64_t first, int threads) {
    parallelFor(to.dims[0], threads, [&](int64_t row) {
      fromFloat(from + row * width, width, to.dtype, to.data,
                row * to.strides[0] + first * to.strides[1], to.strides[1]);
    });
  }

  void execute(const PrimitiveCache::Entry &entry, void *a, void *b, void *y,
               void *scratchpad) const {
    const dnnl::engine &engine = cache_.engine();
    dnnl::stream stream(engine);
    std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC, memory(entry.a, engine, a)},
        {DNNL_ARG_WEIGHTS, memory(entry.b, engine, b)},
        {DNNL_ARG_DST, memory(entry.y, engine, y)},
        {DNNL_ARG_SCRATCHPAD, memory(entry.scratchpad, engine, scratchpad)}};
    entry.primitive.execute(stream, arguments);
    stream.wait();
  }

  bool native_;
  mutable PrimitiveCache cache_;
};

std::string whyNot(const KernelProblem &problem) {
  const DType dtype = problem.operand(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16)
    return std::string("it multiplies f32, f16 and bf16, not ") + dtypeName(dtype);
  return {};
}

std::unique_ptr<Kernel> make(const KernelProblem &problem) {
  return std::make_unique<OneDnnMatMul>(problem);
}

constexpr KernelRow kRows[] = {
    {ir::opIndex<ir::MatMul>(), "onednn", /*acceptsStrides=*/true, whyNot, make,
     /*decidesLate=*/true},
};

} // namespace

llvm::ArrayRef<KernelRow> matmulRows() { return kRows; }

} // namespace engine::cpu
