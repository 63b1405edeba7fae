// Names from a file, as messages show them.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace engine::frontend {

// 'name', with control characters as \xNN and very long names cut: a message stays one readable
// line whatever the file holds.
std::string quoted(llvm::StringRef name);
// The same without the quotes.
std::string printable(llvm::StringRef name);

} // namespace engine::frontend
