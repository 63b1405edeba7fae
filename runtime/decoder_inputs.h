// What a decoder's inputs are, and tensors for them at any step of one sequence.
#pragma once

#include "runtime/engine.h"

namespace engine {

// `past` tokens are in the caches, `count` new ones come.
struct DecoderStep {
  const int64_t *tokens = nullptr;
  int64_t past = 0, count = 0;
};

class DecoderInputs {
public:
  enum class Role {
    kTokens,    // [B, S] ids
    kMask,      // [B, T] 1 for each token so far, or [B, 1, S, T] of what each query sees (bool, or
                // float: 0 and -inf)
    kPositions, // [B, S], [S] or [3, B, S]
    kPast,      // tokens in the cache: a scalar, or one for each entry; where to write
    kTotal,     // tokens in the cache after the step
    kTotalMinusOne, // the same - 1: seqlens_k
    kConstant,      // handed through by the graph: what the step before gave, 0 at first
    kCache,         // a cache that no session keeps: what the step before gave, zeros at first
  };

  // `names`: genai_config.json's name for a role ("input_ids" -> "tokens"), empty for others.
  // Throws Error for inputs that are not recognised, saying what was looked for. `window`: rows
  // that a query sees where the mask of all layers is fed for each query; 0: all.
  DecoderInputs(const Model &model, const std::map<std::string, std::string> &names,
                int64_t window = 0);

  // How many tokens a call takes: a number, or any (0).
  int64_t fixedCount() const { return fixedCount_; }
  // Most tokens in the caches, where the model fixes it; 0: no limit.
  int64_t capacity() const { return capacity_; }
  bool hasCaches() const { return hasCaches_; }
  // `cacheRows`: the capacity of caches whose size the model leaves to the caller; 0 where there
  // are none.
  Tensors feed(const DecoderStep &step, int64_t cacheRows) const;
  // Takes what is to be fed again from a step's outputs.
  void carry(const Tensors &outputs);
  // Contents for inputs that a step's outputs do not give
  // ("cache.layers.0._sliding_window_tensor").
  void set(const std::string &input, Tensor value) { carried_[input] = std::move(value); }
  void reset() { carried_.clear(); }
  // Inputs with this role.
  std::vector<std::string> with(Role role) const;

private:
  struct Input {
    ValueInfo info;
    Role role;
    std::string next; // output that becomes it
  };

  void check(const Input &input) const;
  Tensor value(const Input &input, const DecoderStep &step, int64_t cacheRows) const;

  std::vector<Input> inputs_;
  Tensors carried_;
  int64_t fixedCount_ = 0, capacity_ = 0, window_ = 0;
  bool hasCaches_ = false;
};

// A dim of ValueInfo::shape that is a number.
std::optional<int64_t> fixedDim(const ValueInfo &info, size_t axis);

// The input of a cache among `inputs` that an output of another model (a prefill) is the content
// of: names that are equal but for "input.", "output.", "present" and "updated_".
const ValueInfo *cacheInput(const std::vector<ValueInfo> &inputs, const std::string &output);

} // namespace engine
