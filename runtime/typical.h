// What the symbols and inputs of a decoder usually stand for, told by their names: for runs without
// real data, and for explaining a model whose lengths nobody gave.
//
//   batch, B            the batch            total, present, T     past + sequence
//   past, P             tokens in the cache  a sum, "past + seq"   the sum of its parts
//   sequence, seq, S    new tokens           anything else         not guessed
#pragma once

#include "runtime/engine.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace engine {

struct TypicalSizes {
  int64_t batch = 1;
  int64_t sequence = 1;
  int64_t past = 0;
};

// The value of a symbol ("past_sequence_length", "$total_sequence_length": the value of that
// input).
std::optional<int64_t> typicalValue(llvm::StringRef symbol, const TypicalSizes &sizes);

// Sizes that agree with the symbols already fixed: sequence = 7 makes sequence 7.
TypicalSizes agreeing(TypicalSizes sizes, const llvm::StringMap<int64_t> &symbols);

// Symbols that stand alone as a dim of an input, from the tensors fed.
llvm::StringMap<int64_t> symbolsOf(llvm::ArrayRef<ValueInfo> inputs, const Tensors &feed);

// Sizes of a feed made up for a model.
struct RandomFeed {
  Tensors inputs;
  // Symbols that nobody had fixed: "sequence = 4".
  std::vector<std::string> assumed;
};

// Values for all inputs that have no default and are not in `given`. The same for the same seed.
//   floats             uniform in [-1, 1)
//   ids, tokens        0 to 15, below any vocabulary's size
//   positions          past, past + 1, ...          masks    1 (true)
//   seqlens            past + sequence - 1          totals, nonpad   past + sequence
//   write indices and past lengths   past           other integers   0 or 1; bytes: any
// Throws Error for a dim that its name does not explain: `symbols` must give it.
RandomFeed randomFeed(llvm::ArrayRef<ValueInfo> inputs, const Tensors &given,
                      const llvm::StringMap<int64_t> &symbols, uint64_t seed);

} // namespace engine
