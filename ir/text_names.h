// What printer and parser of the IR's text agree on.
#pragma once

#include "ir/quote.h"

#include "llvm/ADT/STLExtras.h"

namespace engine::ir {

inline constexpr const char *kFirstLine = "engine-ir 1";

// Behind the '%' paths need no quotes: %/layers.0/attn.rope_q#2
inline bool isValueNamePart(char c) {
  return isIdentifierPart(c) || c == '/' || c == '#' || c == '-';
}

inline std::string valueText(llvm::StringRef name) {
  const bool bare = !name.empty() && llvm::all_of(name, isValueNamePart);
  return "%" + (bare ? name.str() : quoted(name));
}

} // namespace engine::ir
