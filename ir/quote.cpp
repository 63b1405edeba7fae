#include "ir/quote.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace engine::ir {

bool isIdentifier(llvm::StringRef name) {
  return !name.empty() && isIdentifierStart(name.front()) && llvm::all_of(name, isIdentifierPart);
}

static void appendEscaped(std::string &out, char c) {
  const unsigned char byte = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (c == '\n') {
    out += "\\n";
  } else if (byte < 0x20 || byte == 0x7f) {
    out += "\\x";
    out += llvm::hexdigit(byte >> 4, /*LowerCase=*/true);
    out += llvm::hexdigit(byte & 15, /*LowerCase=*/true);
  } else {
    out += c;
  }
}

std::string quoted(llvm::StringRef text) {
  std::string out = "\"";
  for (const char c : text)
    appendEscaped(out, c);
  out += '"';
  return out;
}

// The character that the escape at text[pos], just behind the backslash, stands for.
static std::optional<char> readEscape(llvm::StringRef text, size_t &pos) {
  if (pos >= text.size())
    return std::nullopt;
  switch (text[pos]) {
  case '"':
  case '\\':
    return text[pos++];
  case 'n':
    ++pos;
    return '\n';
  case 'x':
    break;
  default:
    return std::nullopt;
  }
  if (pos + 2 >= text.size() || !llvm::isHexDigit(text[pos + 1]) ||
      !llvm::isHexDigit(text[pos + 2]))
    return std::nullopt;
  const unsigned high = llvm::hexDigitValue(text[pos + 1]);
  const unsigned low = llvm::hexDigitValue(text[pos + 2]);
  pos += 3;
  return static_cast<char>(high * 16 + low);
}

std::optional<std::string> readQuoted(llvm::StringRef text, size_t &pos) {
  if (pos >= text.size() || text[pos] != '"')
    return std::nullopt;
  ++pos;
  std::string out;
  while (pos < text.size()) {
    const char c = text[pos];
    if (c == '\n')
      return std::nullopt;
    ++pos;
    if (c == '"')
      return out;
    if (c != '\\') {
      out += c;
      continue;
    }
    const std::optional<char> escaped = readEscape(text, pos);
    if (!escaped)
      return std::nullopt;
    out += *escaped;
  }
  return std::nullopt;
}

} // namespace engine::ir
