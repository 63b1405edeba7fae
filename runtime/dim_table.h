// The dims of a graph, numbered: evaluated once a run instead of once a use, without looking up
// names.
#pragma once

#include "ir/dim.h"

#include <string>
#include <vector>

namespace engine {

class DimTable {
public:
  using Index = uint32_t;

  // --- Once
  // A symbol that a feed binds, by number; the same for the same name.
  size_t addInputSymbol(llvm::StringRef name);
  // After the input symbols.
  Index add(const ir::Dim &dim);

  bool isInputSymbol(llvm::StringRef name) const { return inputNumbers_.count(name) != 0; }
  size_t numInputSymbols() const { return inputs_.size(); }
  const std::string &inputSymbol(size_t number) const { return inputs_[number].name; }

  // --- A run
  void setInput(size_t number, int64_t value) { *inputs_[number].value = value; }
  int64_t input(size_t number) const { return *inputs_[number].value; }
  // Evaluates what follows from the inputs' symbols.
  void evaluateInputs();
  // Throws Error where the dim cannot be evaluated: names no symbol without a value once
  // evaluateInputs() was called.
  int64_t operator[](Index index) const {
    const Entry &entry = entries_[index];
    return entry.ready ? entry.value : entry.dim.evaluate(symbols_);
  }
  const ir::Dim &dim(Index index) const { return entries_[index].dim; }
  // A symbol that only data decides, in the middle of a run; a symbol of the inputs keeps its
  // value.
  void bindLate(llvm::StringRef name, int64_t value) {
    if (!isInputSymbol(name))
      symbols_[name] = value;
  }
  // Values of all symbols, as kernels want them; late ones may be of an earlier run until they are
  // bound anew.
  const ir::SymbolValues &symbols() const { return symbols_; }

private:
  struct Input {
    std::string name;
    int64_t *value; // in symbols_, whose entries stay where they are
  };
  struct Entry {
    ir::Dim dim;
    int64_t value = 0;
    bool constant = false, late = false; // late: holds a symbol that is no input's
    bool ready = false;
  };

  ir::SymbolValues symbols_;
  llvm::StringMap<size_t> inputNumbers_;
  std::vector<Input> inputs_;
  std::vector<Entry> entries_;
  llvm::StringMap<Index> byText_;
};

} // namespace engine
