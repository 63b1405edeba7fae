#include "frontend/quote.h"

#include "llvm/ADT/StringExtras.h"

namespace engine::frontend {

namespace {
constexpr size_t kLongestName = 200;
}

std::string printable(llvm::StringRef name) {
  std::string text;
  for (char c : name.take_front(kLongestName)) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f)
      text += c;
    else
      text += "\\x" + llvm::utohexstr(byte, /*LowerCase=*/true, /*Width=*/2);
  }
  if (name.size() > kLongestName)
    text += "...";
  return text;
}

std::string quoted(llvm::StringRef name) { return "'" + printable(name) + "'"; }

} // namespace engine::frontend
