// Kernels of the CPU backend by row: matrix products of few and of many rows, quantised ones, and
// what stands between them. Bytes/s are those of the largest operand. Compare rows of one run.
#include "ir/error.h"
#include "ir/half.h"
#include "ir/text.h"
#include "kernels/kernel.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace engine;

namespace {

int threads = 2; // --threads=N
Isa isa = bestIsa();

struct Free {
  void operator()(char *p) const { std::free(p); }
};
using Memory = std::unique_ptr<char, Free>;

Memory allocate(int64_t bytes) {
  return Memory(static_cast<char *>(std::aligned_alloc(4096, (bytes / 4096 + 1) * 4096)));
}

void fill(const View &view) {
  std::minstd_rand random(1);
  for (int64_t i = 0; i < view.count(); ++i) {
    const float value = static_cast<float>((random() >> 8) % 4096) / 2048 - 1;
    if (view.dtype == DType::kF32)
      view.as<float>()[i] = value;
    else if (view.dtype == DType::kF16)
      view.as<Half>()[i] = Half(value);
    else if (view.dtype == DType::kBF16)
      view.as<BFloat16>()[i] = BFloat16(value);
    else if (view.dtype == DType::kI64)
      view.as<int64_t>()[i] = i;
    else if (view.dtype == DType::kU8)
      view.as<uint8_t>()[i] = static_cast<uint8_t>(random() >> 8);
  }
}

// One node with its operands, on one row of the backend.
class Setup {
public:
  Setup(const std::string &text, const std::string &row, bool exact)
      : graph_(ir::parseGraph("engine-ir 1\n" + text)) {
    const ir::Node &node = graph_.nodes().back();
    for (ir::ValueId id : node.operands)
      operands_.push_back(id.valid() ? tensor(id) : View());
    for (ir::ValueId id : node.results)
      results_.push_back(id.valid() ? tensor(id) : View());
    KernelOptions options;
    options.isa = isa;
    options.exact = exact;
    const KernelProblem problem = {graph_, node, options};
    for (llvm::ArrayRef<KernelRow> rows : {cpuRows(), referenceRows()})
      for (const KernelRow &candidate : rows)
        if (!kernel_ && candidate.op == node.op.index() && row == candidate.name)
          kernel_ = candidate.make(problem);
    if (!kernel_)
      throw Error("no such row: " + row);
    const KernelCall call{operands_, results_, symbols_, threads, nullptr};
    if (const std::string why = kernel_->whyNotNow(call); !why.empty())
      throw Error(row + ": " + why);
    scratch_ = allocate(kernel_->scratchBytes(call));
  }

  void run() const { kernel_->run({operands_, results_, symbols_, threads, scratch_.get()}); }

  int64_t largestBytes() const {
    int64_t most = 0;
    for (const View &view : operands_)
      most = std::max(most, view.bytes());
    return most;
  }

private:
  View tensor(ir::ValueId id) {
    const ir::Fact &fact = graph_.fact(id);
    llvm::SmallVector<int64_t, 4> dims;
    for (const ir::Dim &dim : fact.shape)
      dims.push_back(*dim.constant());
    View view = makeView(nullptr, fact.dtype, dims);
    memory_.push_back(allocate(view.bytes()));
    view.data = memory_.back().get();
    fill(view);
    return view;
  }

  ir::Graph graph_;
  std::vector<View> operands_, results_;
  std::vector<Memory> memory_;
  ir::SymbolValues symbols_;
  std::unique_ptr<Kernel> kernel_;
  Memory scratch_;
};

void measure(benchmark::State &state, const std::string &text, const std::string &row, double flops,
             bool exact) {
  const Setup setup(text, row, exact);
  for (auto _ : state)
    setup.run();
  state.SetBytesProcessed(state.iterations() * setup.largestBytes());
  if (flops > 0)
    state.counters["FLOP/s"] =
        benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

void add(const std::string &name, const std::string &text, const std::string &row, double flops = 0,
         bool exact = true) {
  auto *bench =
      benchmark::RegisterBenchmark((name + "/" + row).c_str(), measure, text, row, flops, exact);
  bench->MinTime(0.2)->Unit(benchmark::kMillisecond)->UseRealTime();
}

void addMatMul(const std::string &type, int64_t rows, int64_t depth, int64_t columns) {
  const auto input = [&](const char *name, int64_t a, int64_t b) {
    return std::string("input ") + name + " : " + type + "[" + std::to_string(a) + ", " +
           std::to_string(b) + "]\n";
  };
  const std::string text =
      input("%x", rows, depth) + input("%w", depth, columns) + "%y = matmul(%x, %w)\noutput %y\n";
  const std::string name = "matmul/" + type + "/" + std::to_string(rows) + "x" +
                           std::to_string(depth) + "x" + std::to_string(columns);
  const double flops = 2.0 * rows * depth * columns;
  if (rows <= 4)
    add(name, text, "few_rows", flops);
  add(name, text, "onednn", flops);
}

void addQuantMatMul(int64_t bits, int64_t rows, int64_t depth, int64_t columns, int64_t block) {
  const int64_t blocks = (depth + block - 1) / block;
  std::string text =
      "input %x : f32[" + std::to_string(rows) + ", " + std::to_string(depth) + "]\n";
  text += "input %w : u8[" + std::to_string(columns) + ", " + std::to_string(blocks) + ", " +
          std::to_string(block * bits / 8) + "]\n";
  text += "input %s : f32[" + std::to_string(columns * blocks) + "]\n";
  text += "%y = quant_matmul(x=%x, w=%w, scales=%s) {k=" + std::to_string(depth) +
          ", n=" + std::to_string(columns) + ", bits=" + std::to_string(bits) +
          ", block=" + std::to_string(block) + ", accuracy_level=4}\noutput %y\n";
  const std::string name = "quant/" + std::to_string(bits) + "b" + std::to_string(block) + "/" +
                           std::to_string(rows) + "x" + std::to_string(depth) + "x" +
                           std::to_string(columns);
  const double flops = 2.0 * rows * depth * columns;
  add(name, text, "exact", flops);
  add(name, text, "int8", flops, /*exact=*/false);
}

void addRows(int64_t rows) {
  const std::string shape = "f32[" + std::to_string(rows) + ", 3072]";
  const std::string input = "input %x : " + shape + "\n";
  const std::string name = "/" + std::to_string(rows) + "x3072";
  for (const char *kind : {"sigmoid", "silu", "gelu", "exp"})
    add(kind + name, input + "%y = unary(%x) {kind=" + kind + "}\noutput %y\n", "rows");
  add("mul" + name, input + "input %z : " + shape + "\n%y = binary(%x, %z) {kind=mul}\noutput %y\n",
      "rows");
  add("rms_norm" + name, input + "input %s : f32[3072]\n%y = rms_norm(%x, %s)\noutput %y\n",
      "rows");
  add("softmax" + name, input + "%y = softmax(%x)\noutput %y\n", "rows");
}

} // namespace

int main(int argc, char **argv) {
  const std::string_view last = argc > 1 ? argv[argc - 1] : "";
  if (last.substr(0, 10) == "--threads=") {
    threads = std::max(1, std::atoi(last.data() + 10));
    --argc;
  }
  for (const char *type : {"f32", "f16", "bf16"})
    for (int64_t rows : {1, 2, 4, 8, 256})
      for (int64_t columns : {768, 3072, 32000})
        addMatMul(type, rows, 768, columns);
  for (int64_t bits : {4, 8, 2})
    for (int64_t rows : {1, 4, 256})
      addQuantMatMul(bits, rows, 4096, 4096, 32);
  addQuantMatMul(4, 1, 4096, 4096, 128);
  for (int64_t rows : {1, 256})
    addRows(rows);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
