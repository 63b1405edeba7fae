#include "frontend/quote.h"

namespace engine::frontend {

namespace {
constexpr size_t kLongestName = 200;
constexpr char kHexDigits[] = "0123456789abcdef";
} // namespace

std::string printable(llvm::StringRef name) {
  std::string text;
  for (char c : name.take_front(kLongestName)) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f)
      text += c;
    else
      text += std::string("\\x") + kHexDigits[byte >> 4] + kHexDigits[byte & 15];
  }
  if (name.size() > kLongestName)
    text += "...";
  return text;
}

std::string quoted(llvm::StringRef name) { return "'" + printable(name) + "'"; }

} // namespace engine::frontend
