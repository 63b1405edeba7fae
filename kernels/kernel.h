// What a backend is: an ordered table of kernel rows. For each node the first row without an
// objection is taken; the reference rows come last and never object (design.md, section 3).
#pragma once

#include "ir/graph.h"
#include "ir/view.h"
#include "kernels/isa.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace engine {

// What a kernel may count on when it is chosen. Constant for the life of a compiled model.
struct KernelOptions {
  Isa isa = Isa::kBase; // highest instruction set that may be used
  bool exact = false;   // quantised weights multiply as their exact dequantised values
  bool pack = true;     // constant weights may be repacked into a faster layout
};

// One node to be run, before its run-time shapes are known.
struct KernelProblem {
  const ir::Graph &graph;
  const ir::Node &node;
  const KernelOptions &options;

  bool has(size_t operand) const { return node.operand(operand).valid(); }
  const ir::Fact &operand(size_t i) const { return graph.fact(node.operand(i)); }
  const ir::Fact &result(size_t i) const { return graph.fact(node.results[i]); }
  template <class T> const T &op() const { return std::get<T>(node.op); }
};

// One call. Views of absent optional operands and unused results are not present().
struct KernelCall {
  llvm::ArrayRef<View> operands;
  llvm::ArrayRef<View> results; // allocated, dense unless they alias a cache
  const ir::SymbolValues &symbols;
  int threads = 1;
  void *scratch = nullptr; // scratchBytes() bytes, 64-byte aligned

  View operand(size_t i) const { return i < operands.size() ? operands[i] : View(); }
  View result(size_t i) const { return i < results.size() ? results[i] : View(); }
};

// A kernel is immutable once made: several sessions run one at the same time. Faults of the data
// (an index out of range) throw Error without a node; the executor adds it.
class Kernel {
public:
  virtual ~Kernel() = default;
  // Empty if the call can be run, else why not: the executor then asks the next row's kernel. For
  // what only run-time shapes decide.
  virtual std::string whyNotNow(const KernelCall &) const { return {}; }
  virtual int64_t scratchBytes(const KernelCall &) const { return 0; }
  virtual void run(const KernelCall &call) const = 0;
  // Bytes of packed weights that the kernel holds.
  virtual int64_t packedBytes() const { return 0; }
};

struct KernelRow {
  size_t op;        // ir::opIndex<T>()
  const char *name; // unique among the rows of its operator: "flash", "reference"
  // Operands may have any strides; otherwise the executor passes dense copies of those that are not
  // dense.
  bool acceptsStrides;
  // Empty if the row fits, else a sentence. Null: it always fits.
  std::string (*whyNot)(const KernelProblem &);
  std::unique_ptr<Kernel> (*make)(const KernelProblem &);
  // Its kernels may object through whyNotNow: the next fitting row is kept at hand.
  bool decidesLate = false;
};

struct Backend {
  const char *name; // "cpu", "reference", "cuda"
  llvm::ArrayRef<KernelRow> rows;
};

// Rows of kernels/reference: every operator, plain loops, any strides. The project's own oracle.
llvm::ArrayRef<KernelRow> referenceRows();
// Rows of kernels/cpu, for the operators that have a faster kernel there.
llvm::ArrayRef<KernelRow> cpuRows();

// A view with these concrete dims; dense.
View makeView(void *data, DType dtype, llvm::ArrayRef<int64_t> dims);
View viewOf(const ir::ConstData &constant);

// Layout operators (Reshape, Transpose, Slice, Expand, CheckDims) as strides of their operand: no
// memory is touched. Absent where strides cannot say it (a Reshape of a transposed tensor) or the
// operator is no layout operator.
std::optional<View> asView(const ir::Op &op, const View &operand, const ir::SymbolValues &symbols);

// Copies `from` to `to`: same dtype and dims, any strides, threads 1.
void copyView(const View &from, const View &to);

} // namespace engine
