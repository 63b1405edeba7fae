// The memory plan: where each value lives. Made once for symbolic shapes; offsets follow when the
// symbols' bounds are known.
#pragma once

#include "ir/graph.h"

#include <vector>

namespace engine::lowering {

enum class Storage : uint8_t {
  kNone,     // nobody uses it
  kInput,    // the caller's
  kConstant, // the model's
  kArena,    // a slot of the session's arena
  kOutput,   // the tensor that leaves
  kPool,     // its shape is only known when it runs: a buffer of the session's pool
  kShared,   // in the memory of `base`: a layout operator's view, or an in-place grant
};

struct ValuePlan {
  Storage storage = Storage::kNone;
  ir::ValueId base; // kShared: whose memory
  int slot = -1;    // kArena, and kShared values that may need a copy: index into slots
  int lastUse =
      -1; // of the value and of all that share its memory: node index, numNodes for outputs
  bool mayCopy = false; // a layout operator that strides may not be able to express
  // Attention output [B, N, S, H] that is read as [B, S, N, H] is stored in that order, so that
  // merging the heads is a view.
  bool rowsFirst = false;
};

// A piece of the arena, live from node `first` to node `last`, both included.
struct ArenaSlot {
  ir::ValueId value;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<ValuePlan> values;
  std::vector<ArenaSlot> slots;
  // Operand of the node whose memory its first result may take over, by node; -1: none. Elementwise
  // operators, and KvWrite on a cache that nobody reads afterwards.
  std::vector<int> inPlace;
};

// Operators whose result is a view of their operand: Reshape, Transpose, Slice, Expand, CheckDims.
bool isLayoutOp(const ir::Op &op);

MemoryPlan planMemory(const ir::Graph &graph);

struct ArenaLayout {
  std::vector<int64_t> offsets; // by slot
  int64_t bytes = 0;
};

// Greedy by size, each at the lowest offset that no slot alive at the same time covers; 64-byte
// aligned.
ArenaLayout layOutArena(llvm::ArrayRef<ArenaSlot> slots, llvm::ArrayRef<int64_t> sizes);

// Names of the symbols that a feed fixes: those that stand alone as a dim of an input or as an
// element of an integer input.
llvm::StringMap<bool> symbolsOfInputs(const ir::Graph &graph);

} // namespace engine::lowering
