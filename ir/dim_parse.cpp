// Dim::parse: sums of products of numbers, symbols, calls and parentheses.
#include "ir/dim.h"

#include "ir/error.h"
#include "ir/quote.h"

#include "llvm/ADT/StringExtras.h"

namespace engine::ir {

namespace {

struct Function {
  const char *name;
  Dim (*apply)(const Dim &, const Dim &);
  bool anyCount; // at least two arguments, folded from the left
};

constexpr Function kFunctions[] = {
    {"max", Dim::max, true},
    {"min", Dim::min, true},
    {"floordiv", Dim::floorDiv, false},
    {"mod", Dim::mod, false},
    {"broadcast", Dim::broadcast, true},
};

class DimParser {
public:
  explicit DimParser(llvm::StringRef text) : text_(text) {}

  Dim parse() {
    const Dim result = sum();
    skipSpace();
    if (pos_ != text_.size())
      fail("expected the end of the dimension");
    return result;
  }

private:
  [[noreturn]] void fail(const std::string &expected) const {
    const std::string found =
        pos_ < text_.size() ? "'" + text_.substr(pos_, 1).str() + "'" : "the end";
    throw Error(expected + ", found " + found).at("column " + std::to_string(pos_ + 1));
  }

  void skipSpace() {
    while (pos_ < text_.size() && llvm::isSpace(text_[pos_]))
      ++pos_;
  }

  char peek() {
    skipSpace();
    return pos_ < text_.size() ? text_[pos_] : '\0';
  }

  bool accept(char c) {
    if (peek() != c)
      return false;
    ++pos_;
    return true;
  }

  void expect(char c) {
    if (!accept(c))
      fail(std::string("expected '") + c + "'");
  }

  Dim sum() {
    bool negative = accept('-');
    Dim result = product(negative);
    while (true) {
      negative = peek() == '-';
      if (!accept('+') && !accept('-'))
        return result;
      const size_t at = pos_;
      const Dim next = product(negative);
      result = checked(at, [&] { return result + next; });
    }
  }

  // The sign belongs to the number, or else -2^63 could not be written.
  Dim product(bool negative) {
    Dim result = llvm::isDigit(peek()) ? number(negative) : negative ? -factor() : factor();
    while (accept('*')) {
      const size_t at = pos_;
      const Dim next = factor();
      result = checked(at, [&] { return result * next; });
    }
    return result;
  }

  Dim factor() {
    const char c = peek();
    if (llvm::isDigit(c))
      return number(false);
    if (c == '"')
      return quotedSymbol();
    if (isIdentifierStart(c))
      return nameOrCall();
    if (c != '(')
      fail("expected a dimension");
    enter();
    ++pos_;
    const Dim inner = sum();
    expect(')');
    --depth_;
    return inner;
  }

  Dim number(bool negative) {
    const size_t start = pos_;
    const uint64_t limit = static_cast<uint64_t>(INT64_MAX) + (negative ? 1 : 0);
    uint64_t magnitude = 0;
    for (; pos_ < text_.size() && llvm::isDigit(text_[pos_]); ++pos_) {
      const uint64_t digit = static_cast<uint64_t>(text_[pos_] - '0');
      if (magnitude > (limit - digit) / 10) {
        pos_ = start;
        fail("expected a number of at most 63 bits");
      }
      magnitude = magnitude * 10 + digit;
    }
    return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  }

  Dim quotedSymbol() {
    const std::optional<std::string> name = readQuoted(text_, pos_);
    if (!name)
      fail("expected the rest of a quoted symbol");
    return Dim::symbol(*name);
  }

  Dim nameOrCall() {
    const size_t start = pos_;
    while (pos_ < text_.size() && isIdentifierPart(text_[pos_]))
      ++pos_;
    const llvm::StringRef name = text_.slice(start, pos_);
    if (peek() != '(')
      return Dim::symbol(name);
    for (const Function &function : kFunctions)
      if (name == function.name)
        return call(function, start);
    pos_ = start;
    fail("expected max, min, floordiv, mod or broadcast before '('");
  }

  Dim call(const Function &function, size_t at) {
    enter();
    expect('(');
    Dim result = sum();
    expect(',');
    do {
      const Dim next = sum();
      result = checked(at, [&] { return function.apply(result, next); });
    } while (function.anyCount && accept(','));
    expect(')');
    --depth_;
    return result;
  }

  void enter() {
    if (++depth_ > Dim::kMaxDepth)
      fail("expected at most " + std::to_string(Dim::kMaxDepth) + " nested levels");
  }

  // Adds the place to what the arithmetic refuses.
  template <class F> Dim checked(size_t at, F compute) {
    try {
      return compute();
    } catch (Error &error) {
      throw error.at("column " + std::to_string(at + 1));
    }
  }

  llvm::StringRef text_;
  size_t pos_ = 0;
  uint32_t depth_ = 0;
};

} // namespace

Dim Dim::parse(llvm::StringRef text) { return DimParser(text).parse(); }

} // namespace engine::ir
