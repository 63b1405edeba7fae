#include "runtime/dim_table.h"

#include "ir/error.h"

namespace engine {

size_t DimTable::addInputSymbol(llvm::StringRef name) {
  const auto [it, isNew] = inputNumbers_.try_emplace(name, inputs_.size());
  if (isNew)
    inputs_.push_back({name.str(), &symbols_[name]});
  return it->second;
}

DimTable::Index DimTable::add(const ir::Dim &dim) {
  const auto [it, isNew] = byText_.try_emplace(dim.str(), static_cast<Index>(entries_.size()));
  if (!isNew)
    return it->second;
  Entry entry;
  entry.dim = dim;
  if (const std::optional<int64_t> constant = dim.constant()) {
    entry.value = *constant;
    entry.constant = entry.ready = true;
  }
  llvm::SmallVector<std::string, 4> names;
  dim.collectSymbols(names);
  for (const std::string &name : names)
    entry.late |= !isInputSymbol(name);
  entries_.push_back(std::move(entry));
  return it->second;
}

void DimTable::evaluateInputs() {
  for (Entry &entry : entries_) {
    if (entry.constant || entry.late)
      continue;
    entry.ready = false;
    // A dim may have no value, as the quotient of lengths that do not divide; whoever asks for it
    // then says for which node.
    try {
      entry.value = entry.dim.evaluate(symbols_);
      entry.ready = true;
    } catch (const Error &) {
    }
  }
}

} // namespace engine
