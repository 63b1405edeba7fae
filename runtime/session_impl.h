// What stands behind Model and Session of the public header. The command line uses it for what the API does not offer:
// the lowered graph, the kernels chosen, profiles.
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

// A cache that the session keeps: `rows` rows of `capacity`, along the state's axis.
struct KeptState {
  View view; // of all rows of the capacity; no data until the first step
  int64_t rows = 0;
  AlignedBuffer buffer;
};

struct SessionImpl {
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
  void rewind(int64_t rows);
  int64_t length() const;

private:
  const lowering::CompiledGraph &compiled() const { return *model.impl().compiled; }
  size_t stateIndex(const std::string &inputName) const;
  int stateOfInput(size_t input) const;
  void checkNames(const Tensors &inputs, const Tensors &outputs, bool keepStates) const;
  View inputView(size_t input, const Tensors &inputs, bool keepStates);
  View pastView(size_t state, const Tensors &inputs);
  void createState(size_t state, const Tensors &inputs);
  View presentView(size_t state, int64_t rows);
  void reserveRows(size_t state, int64_t rows);
  void allocateState(size_t state, llvm::ArrayRef<int64_t> dims);
};

// LLVM's containers abort when memory runs out unless a handler that throws is installed: before anything is loaded.
void installBadAllocHandler();

// Options of a model as lowering wants them. Throws Error for names that do not exist.
lowering::PipelineOptions pipelineOptions(const ModelOptions &options);
lowering::SelectOptions selectOptions(const ModelOptions &options);

View tensorView(const Tensor &tensor);
// Runs `body`, turning what it throws into a Failure. `file` is added to messages that name none.
Status guarded(const std::string &file, const std::function<void()> &body);

} // namespace engine::detail
