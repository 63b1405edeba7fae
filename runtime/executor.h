// Runs a compiled graph: binds a feed to the graph's symbols, places values by the memory plan, calls the kernels.
#pragma once

#include "lowering/compile.h"
#include "runtime/memory.h"

#include <atomic>
#include <functional>

namespace engine {

// Called after each node that a kernel ran.
using ProfileHook =
    std::function<void(const ir::Node &node, const KernelRow &row, double milliseconds)>;

struct ExecutorOptions {
  int threads = 1;
  MemoryBudget *budget = nullptr;
  const std::atomic<bool> *cancelled = nullptr;
};

class Executor {
public:
  Executor(const lowering::CompiledGraph &compiled, const ExecutorOptions &options);

  // Memory for output `index`, dense. Never called for outputs that the caller does not want.
  using OutputProvider =
      std::function<View(size_t index, DType dtype, llvm::ArrayRef<int64_t> dims)>;
  // For state `index` (of CompiledGraph::states): room for `rows` rows. Returns the view of the cache with that many rows; its first
  // rows are the past's. Null where the state is not kept: then it is an ordinary input and output.
  using StateProvider = std::function<View(size_t index, int64_t rows)>;

  struct Request {
    llvm::ArrayRef<View> inputs; // by graph input; a kept state's past included
    OutputProvider output;
    llvm::ArrayRef<bool> wanted; // by graph output
    StateProvider state;         // null: no states are kept
  };

  // Throws Error. Inputs are not changed.
  void run(const Request &request);

  // Symbols of the last run.
  const ir::SymbolValues &symbols() const { return symbols_; }
  void setProfile(ProfileHook hook) { profile_ = std::move(hook); }

private:
  void bindInputs(llvm::ArrayRef<View> inputs);
  void bindDims(size_t input, const View &view, bool compositeOnly);
  void bindContents(size_t input, const View &view);
  void planArena();
  void runNode(size_t index, const Request &request);
  void runLayout(size_t index);
  void runKernel(size_t index, const Request &request);
  void runIf(size_t index, const Request &request);
  void runDimValues(size_t index, const Request &request);
  // Memory for a result of `index` whose dims are known.
  View allocate(size_t index, ir::ValueId value, llvm::ArrayRef<int64_t> dims,
                const Request &request);
  bool resultDims(const ir::Node &node, size_t result, llvm::SmallVectorImpl<int64_t> &dims);
  // Dims from the operands' data, for what only the data decides; binds the symbols they stand for.
  void inferResults(const ir::Node &node,
                    llvm::SmallVectorImpl<llvm::SmallVector<int64_t, 4>> &dims);
  View stateResult(size_t index, ir::ValueId value, llvm::ArrayRef<int64_t> dims,
                   const Request &request);
  View denseCopy(const View &view);
  void releaseAfter(size_t index);
  void copyRemainingOutputs(const Request &request);
  View &at(ir::ValueId value) { return views_[value.index]; }

  const lowering::CompiledGraph &compiled_;
  const ir::Graph &graph_;
  ExecutorOptions options_;
  ProfileHook profile_;

  ir::SymbolValues symbols_;
  llvm::StringMap<int64_t> bounds_; // largest value of each symbol that the arena is laid out for
  lowering::ArenaLayout layout_;
  bool laidOut_ = false;
  AlignedBuffer arena_, scratch_;
  BufferPool pool_;
  std::vector<View> views_; // by value
  std::vector<char *> pooled_; // by value: its pool buffer, or null
  std::vector<std::vector<ir::ValueId>> releases_; // by node: pool values whose last use it is
  std::vector<bool> outputWritten_;
  std::vector<int> stateOfNode_; // by node: index of the state it writes, or -1
  std::vector<std::unique_ptr<Executor>> thenExecutors_, elseExecutors_; // by node
};

} // namespace engine
