// A dimension: an integer polynomial over named symbols in canonical form, so that equal dims
// compare equal.
//
//   P + S      8*S      batch*S - 1      max(T, P)      floordiv(S, 2)
//
// What is no polynomial (max, min, floordiv, mod, broadcast) is an atom with Dims as arguments;
// atoms are canonical too. There is no prover: `a == b` says "always equal as written", its
// opposite says nothing.
//
// Symbols stand for dims and are never negative: max(P + S, P) is P + S. Those whose name starts
// with '$' ("$INPUT") are values of integer tensors and may be negative; nothing is simplified by
// their sign.
//
// All arithmetic is checked: what leaves 64 bits, or grows beyond kMaxSize symbols and atoms or
// kMaxDepth nested atoms, throws Error.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace engine::ir {

// Values of symbols at run time, by name.
using SymbolValues = llvm::StringMap<int64_t>;

struct SymbolRange {
  int64_t min = 0;
  int64_t max = INT64_MAX;
};
using SymbolRanges = llvm::StringMap<SymbolRange>;

class Dim {
public:
  static constexpr uint32_t kMaxSize = 1024;
  static constexpr uint32_t kMaxDepth = 64;

  Dim() = default; // 0
  Dim(int64_t constant) : constant_(constant) {}
  static Dim symbol(llvm::StringRef name);

  // broadcast(a, b): the other where one is 1; they must be equal otherwise: unequal constants
  // throw here, the rest is checked by evaluate. floorDiv rounds down, mod has the divisor's sign;
  // a divisor of 0 throws.
  static Dim max(const Dim &a, const Dim &b);
  static Dim min(const Dim &a, const Dim &b);
  static Dim floorDiv(const Dim &a, const Dim &b);
  static Dim mod(const Dim &a, const Dim &b);
  static Dim broadcast(const Dim &a, const Dim &b);

  bool isConstant() const { return !terms_; }
  std::optional<int64_t> constant() const;
  bool is(int64_t value) const { return !terms_ && constant_ == value; }

  Dim operator+(const Dim &other) const;
  Dim operator-(const Dim &other) const;
  Dim operator*(const Dim &other) const;
  Dim operator-() const { return Dim(0) - *this; }
  bool operator==(const Dim &other) const;
  bool operator!=(const Dim &other) const { return !(*this == other); }
  size_t hash() const;

  // Exact polynomial division: absent when there is no quotient with quotient * divisor == *this.
  std::optional<Dim> dividedBy(const Dim &divisor) const;

  // Throws Error naming the first symbol without a value, and on overflow or division by zero.
  int64_t evaluate(const SymbolValues &values) const;
  std::optional<int64_t> tryEvaluate(const SymbolValues &values) const;
  Dim substitute(const llvm::StringMap<Dim> &values) const;

  // Names of all symbols, in order of appearance, arguments of atoms included; appends, without
  // duplicates.
  void collectSymbols(llvm::SmallVectorImpl<std::string> &names) const;
  // If this is a lone symbol, its name.
  std::optional<std::string> asSymbol() const;

  // Bounds by interval arithmetic; a symbol without a range is [0, INT64_MAX], "$INPUT" [INT64_MIN,
  // INT64_MAX]. Saturating: both extremes are infinities.
  SymbolRange bounds(const SymbolRanges &ranges) const;

  // Canonical text; symbols that are no identifiers are quoted ("2", "past len"). parse(str()) ==
  // *this.
  std::string str() const;
  // Throws Error with the column of the fault.
  static Dim parse(llvm::StringRef text);

private:
  struct Atom;
  struct Term;
  struct Terms;
  struct Algebra; // everything in dim.cpp that needs the above

  int64_t constant_ = 0;
  std::shared_ptr<const Terms> terms_; // null for a constant
};

using Shape = llvm::SmallVector<Dim, 4>;

// Product of dims[begin, end).
Dim product(llvm::ArrayRef<Dim> dims);
// "[batch, 8, S]"
std::string str(llvm::ArrayRef<Dim> dims);

} // namespace engine::ir
