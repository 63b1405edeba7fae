// Runs a compiled graph: binds a feed to the graph's symbols, places values by the memory plan,
// calls the kernels.
#pragma once

#include "lowering/compile.h"
#include "runtime/dim_table.h"
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

  // Where results go.
  class Sink {
  public:
    virtual ~Sink() = default;
    // Memory for output `index`, dense. Never called for outputs that the caller does not want.
    virtual View output(size_t index, DType dtype, llvm::ArrayRef<int64_t> dims) = 0;
    // Only where states are kept, for state `index` (of CompiledGraph::states). Room for `rows`
    // rows: the view of the cache with that many rows, the first of which are the past's.
    virtual View state(size_t index, int64_t rows);
    // The state's node is about to write: `lengths[b]` tokens have gone into entry b's cache, this
    // call's included.
    virtual void stateWritten(size_t, llvm::ArrayRef<int64_t> /*lengths*/) {}
  };

  struct Request {
    llvm::ArrayRef<View> inputs; // by graph input; a kept state's past included
    llvm::ArrayRef<bool> wanted; // by graph output
    Sink *sink = nullptr;
    bool keepsStates = false; // otherwise states are ordinary inputs and outputs
  };

  // Throws Error. Inputs are not changed.
  void run(const Request &request);

  // Symbols of the last run.
  const ir::SymbolValues &symbols() const { return dims_.symbols(); }
  void setProfile(ProfileHook hook) { profile_ = std::move(hook); }

private:
  // What the dims of a result need.
  struct NodeDims {
    llvm::SmallVector<llvm::SmallVector<DimTable::Index, 4>, 2> results; // by result and axis
    DimTable::Index offset = 0;                                          // of a KvWrite
    bool fromData = false; // only inference on the operands' data tells them
  };
  struct InputAxis {
    DimTable::Index dim = 0;
    int binds = -1; // number of the symbol that it gives its value, or -1
    bool compares = false;
  };
  struct InputDims {
    llvm::SmallVector<InputAxis, 4> axes;
    llvm::SmallVector<int, 2> contents; // numbers of the symbols that the elements are, or -1
  };

  void compileDims();
  InputAxis compileInputAxis(const ir::Dim &dim);
  NodeDims compileNodeDims(const ir::Node &node, llvm::StringMap<bool> &known);
  void bindInputs(llvm::ArrayRef<View> inputs);
  void bindDims(size_t input, const View &view);
  void checkDims(size_t input, const View &view);
  void bindContents(size_t input, const View &view);
  void planArena();
  lowering::ArenaLayout layOut(llvm::ArrayRef<int64_t> bounds) const;
  void runNode(size_t index, const Request &request);
  void runLayout(size_t index);
  void runKernel(size_t index, const Request &request);
  void runIf(size_t index, const Request &request);
  void runDimValues(size_t index, const Request &request);
  // Memory for a result of `index` whose dims are known.
  View allocate(size_t index, ir::ValueId value, llvm::ArrayRef<int64_t> dims,
                const Request &request);
  void resultDims(size_t index, size_t result, llvm::SmallVectorImpl<int64_t> &dims);
  // Dims from the operands' data, for what only the data decides; binds the symbols they stand for.
  void inferResults(const ir::Node &node,
                    llvm::SmallVectorImpl<llvm::SmallVector<int64_t, 4>> &dims);
  View stateResult(size_t index, ir::ValueId value, llvm::ArrayRef<int64_t> dims,
                   const Request &request);
  void reportState(size_t index, llvm::ArrayRef<View> operands, Sink &sink);
  View denseCopy(const View &view);
  void releaseAfter(size_t index);
  void copyRemainingOutputs(const Request &request);
  View &at(ir::ValueId value) { return views_[value.index]; }

  const lowering::CompiledGraph &compiled_;
  const ir::Graph &graph_;
  ExecutorOptions options_;
  ProfileHook profile_;

  DimTable dims_;
  std::vector<NodeDims> nodeDims_;
  std::vector<InputDims> inputDims_;
  llvm::StringMap<bool> boundByAxis_; // symbols, while the inputs are compiled
  std::vector<int64_t>
      bounds_; // largest value of each of the inputs' symbols that the arena is laid out for
  lowering::ArenaLayout layout_;
  bool laidOut_ = false;
  AlignedBuffer arena_, scratch_;
  BufferPool pool_;
  std::vector<View> views_;                        // by value
  std::vector<char *> pooled_;                     // by value: its pool buffer, or null
  std::vector<std::vector<ir::ValueId>> releases_; // by node: pool values whose last use it is
  std::vector<bool> outputWritten_;
  std::vector<int> stateOfNode_; // by node: index of the state it writes, or -1
  std::vector<std::unique_ptr<Executor>> thenExecutors_, elseExecutors_; // by node
};

} // namespace engine
