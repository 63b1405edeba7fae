// Names in text: symbols of dims and values of graphs stand bare where they are identifiers, quoted
// elsewhere.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace engine::ir {

inline bool isIdentifierStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}
inline bool isIdentifierPart(char c) {
  return isIdentifierStart(c) || (c >= '0' && c <= '9') || c == '.';
}
// A letter, '_' or '$', then letters, digits, '_', '$' and '.'.
bool isIdentifier(llvm::StringRef name);

// `"a b"`, with quotes, backslashes and control characters escaped.
std::string quoted(llvm::StringRef text);

// Reads the quoted string that starts at text[pos] and moves pos behind it. Absent where it is
// malformed; then pos is at the fault.
std::optional<std::string> readQuoted(llvm::StringRef text, size_t &pos);

} // namespace engine::ir
