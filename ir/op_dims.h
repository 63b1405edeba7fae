// The dims in an operator's fields, whichever fields those are.
#pragma once

#include "ir/ops.h"

namespace engine::ir {

// Symbols in the order of the fields; appends, without duplicates.
void collectSymbols(const Op &op, llvm::SmallVectorImpl<std::string> &symbols);

// The operator with its symbols replaced. Graphs of an If are not entered: their symbols are their
// own.
Op substitute(const Op &op, const llvm::StringMap<Dim> &values);

} // namespace engine::ir
