// What stands behind Model and Session of the public header. The command line uses it for what the
// API does not offer: the lowered graph, the kernels chosen, profiles.
#pragma once

#include "frontend/load.h"
#include "lowering/compile.h"
#include "lowering/pipeline.h"
#include "runtime/engine.h"
#include "runtime/executor.h"

#include <atomic>

namespace engine::detail {

struct ModelImpl {
  std::string path;
  ModelOptions options;
  std::vector<ValueInfo> inputs, outputs;
  std::vector<std::string> warnings;
  std::vector<ir::InputDefault> defaults;
  std::unique_ptr<lowering::CompiledGraph> compiled;
};

// A cache that the session keeps. Its rows lie along the state's axis.
struct KeptState {
  View view; // `rows` rows; the buffer's capacity shows in the strides. Absent until the first step
  int64_t rows = 0;     // of the past
  int64_t capacity = 0; // rows that the buffer has from the view's first row on
  int64_t dropped = 0;  // rows of the buffer before that
  AlignedBuffer buffer;
  // Tokens that each entry of the batch has put in, as the last step's inputs said. Empty where
  // that is not known: a content from outside.
  std::vector<int64_t> lengths;
  bool fresh = false; // nothing is in it: the next step may bring another batch
};

struct SessionImpl final : private Executor::Sink {
  SessionImpl(Model model, const SessionOptions &options);

  Model model;
  SessionOptions options;
  std::atomic<bool> cancelled{false};
  MemoryBudget budget;
  Executor executor;
  std::vector<KeptState> states; // as CompiledGraph::states

  Tensors run(const Tensors &inputs, const Tensors &outputs, bool keepStates);
  void setState(const std::string &inputName, const Tensor &value);
  Tensor state(const std::string &inputName) const;
  void keepLast(const std::string &inputName, int64_t rows);
  void rewind(int64_t rows);
  int64_t length() const;

private:
  const lowering::CompiledGraph &compiled() const { return *model.impl().compiled; }
  const std::string &inputName(size_t state) const;
  size_t stateIndex(const std::string &inputName) const;
  void checkNames(const Tensors &inputs, const Tensors &outputs, bool keepStates) const;
  View inputView(size_t input, const Tensors &inputs, bool keepStates);
  View pastView(size_t state, const Tensors &inputs);
  llvm::SmallVector<int64_t, 4> firstDims(size_t state, const Tensors &inputs) const;
  bool fitsFirstStep(size_t state, const Tensors &inputs) const;
  int64_t windowedRows(size_t state) const;
  void reserveRows(size_t state, int64_t rows);
  void reclaimDropped(size_t state);
  void allocateState(size_t state, llvm::ArrayRef<int64_t> dims);
  void clearState(size_t state);
  void requireRewindable(size_t state, int64_t rows) const;

  View output(size_t index, DType dtype, llvm::ArrayRef<int64_t> dims) override;
  View state(size_t index, int64_t rows) override;
  void stateWritten(size_t index, llvm::ArrayRef<int64_t> lengths) override;

  std::vector<int> stateOfInput_; // by input: index of its state, or -1
  std::vector<View> views_;       // of the inputs, while a run goes on
  llvm::SmallVector<bool, 16> wanted_;
  const Tensors *given_ = nullptr; // the caller's outputs, while a run goes on
  Tensors *results_ = nullptr;
  // A step that ended early after rows of a windowed cache had moved: what is left is neither the
  // old cache nor the new one.
  bool torn_ = false;
};

// LLVM's containers abort when memory runs out unless a handler that throws is installed: before
// anything is loaded.
void installBadAllocHandler();

// Options of a model as lowering wants them. Throws Error for names that do not exist.
lowering::PipelineOptions pipelineOptions(const ModelOptions &options);
lowering::SelectOptions selectOptions(const ModelOptions &options);

View tensorView(const Tensor &tensor);
// Runs `body`, turning what it throws into a Failure. `file` is added to messages that name none.
Status guarded(const std::string &file, const std::function<void()> &body);

} // namespace engine::detail
