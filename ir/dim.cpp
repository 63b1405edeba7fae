#include "ir/dim.h"

#include "ir/error.h"
#include "ir/quote.h"

#include <algorithm>

namespace engine::ir {

// A symbol, or a function of dims that is no polynomial.
struct Dim::Atom {
  enum class Kind : uint8_t { kSymbol, kMax, kMin, kFloorDiv, kMod, kBroadcast };

  Kind kind = Kind::kSymbol;
  std::string name; // of a symbol
  std::vector<Dim> args;
  size_t hash = 0;
  uint32_t size = 1;
  uint32_t depth = 0;
  bool nonNegative = false;
};

// coefficient * factors; factors sorted, repeated for powers.
struct Dim::Term {
  using Factors = llvm::SmallVector<std::shared_ptr<const Atom>, 2>;

  int64_t coefficient = 0;
  Factors factors;
};

// The terms of positive degree in canonical order (see compareFactors), no coefficient 0, no two
// alike.
struct Dim::Terms {
  std::vector<Term> terms;
  size_t hash = 0;
  uint32_t size = 0;
  uint32_t depth = 0;
};

namespace {

constexpr int64_t kMin = INT64_MIN;
constexpr int64_t kMax = INT64_MAX;

Error overflow() { return Error("the dimension does not fit into 64 bits"); }

int64_t checkedAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum))
    throw overflow();
  return sum;
}

int64_t checkedSub(int64_t a, int64_t b) {
  int64_t difference;
  if (__builtin_sub_overflow(a, b, &difference))
    throw overflow();
  return difference;
}

int64_t checkedMul(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product))
    throw overflow();
  return product;
}

// b != 0, and not kMin / -1.
int64_t floorQuotient(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t floorRemainder(int64_t a, int64_t b) {
  if (b == -1)
    return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

size_t mix(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2));
}

// batch before S: case decides only between names that are otherwise equal.
int compareNames(llvm::StringRef a, llvm::StringRef b) {
  if (const int order = a.compare_insensitive(b))
    return order;
  return a.compare(b);
}

// --- Interval arithmetic: kMin and kMax are infinities ---

int64_t boundAdd(int64_t a, int64_t b, int64_t infinity) {
  if (a == infinity || b == infinity)
    return infinity;
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum))
    return a > 0 ? kMax : kMin;
  return sum;
}

int64_t boundMul(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return 0;
  const bool negative = (a < 0) != (b < 0);
  int64_t product;
  const bool infinite = a == kMin || a == kMax || b == kMin || b == kMax;
  if (infinite || __builtin_mul_overflow(a, b, &product))
    return negative ? kMin : kMax;
  return product;
}

SymbolRange addRanges(SymbolRange a, SymbolRange b) {
  return {boundAdd(a.min, b.min, kMin), boundAdd(a.max, b.max, kMax)};
}

SymbolRange mulRanges(SymbolRange a, SymbolRange b) {
  const auto [low, high] = std::minmax({boundMul(a.min, b.min), boundMul(a.min, b.max),
                                        boundMul(a.max, b.min), boundMul(a.max, b.max)});
  return {low, high};
}

int64_t boundDiv(int64_t a, int64_t positive) {
  if (a == kMin || a == kMax)
    return a;
  return positive == kMax ? (a < 0 ? -1 : 0) : floorQuotient(a, positive);
}

SymbolRange divRanges(SymbolRange a, SymbolRange b) {
  if (b.min < 0) { // |a / b| <= |a|, rounded down
    const int64_t low = std::min(a.min, boundMul(a.max, -1));
    const int64_t high = std::max(a.max, boundMul(a.min, -1));
    return {std::min<int64_t>(low, 0), std::max<int64_t>(high, 0)};
  }
  const int64_t least = std::max<int64_t>(b.min, 1);
  const int64_t most = std::max<int64_t>(b.max, 1);
  return {std::min(boundDiv(a.min, least), boundDiv(a.min, most)),
          std::max(boundDiv(a.max, least), boundDiv(a.max, most))};
}

SymbolRange modRanges(SymbolRange a, SymbolRange b) {
  SymbolRange range{b.min < 0 ? boundAdd(b.min, 1, kMin) : 0,
                    b.max > 0 ? boundAdd(b.max, -1, kMax) : 0};
  if (a.min >= 0 && b.min >= 0)
    range.max = std::min(range.max, a.max);
  return range;
}

// Each operand is 1 or the result: one that cannot be 1 is the result.
SymbolRange broadcastRanges(llvm::ArrayRef<SymbolRange> ranges) {
  SymbolRange hull = ranges.front();
  SymbolRange certain{kMin, kMax};
  bool decided = false;
  for (const SymbolRange &range : ranges) {
    hull = {std::min(hull.min, range.min), std::max(hull.max, range.max)};
    if (range.min <= 1 && range.max >= 1)
      continue;
    certain = {std::max(certain.min, range.min), std::min(certain.max, range.max)};
    decided = true;
  }
  return decided ? certain : hull;
}

} // namespace

struct Dim::Algebra {
  using Kind = Atom::Kind;
  using Factors = Term::Factors;

  // --- Order and equality ---

  static int compare(const Atom &a, const Atom &b) {
    if (&a == &b)
      return 0;
    if (a.kind != b.kind)
      return a.kind < b.kind ? -1 : 1;
    if (const int order = compareNames(a.name, b.name))
      return order;
    const size_t common = std::min(a.args.size(), b.args.size());
    for (size_t i = 0; i < common; ++i)
      if (const int order = compare(a.args[i], b.args[i]))
        return order;
    if (a.args.size() == b.args.size())
      return 0;
    return a.args.size() < b.args.size() ? -1 : 1;
  }

  // Higher degrees first, then by factors. A monomial order: it survives multiplication of both
  // sides, which polynomial division relies on.
  static int compareFactors(const Factors &a, const Factors &b) {
    if (a.size() != b.size())
      return a.size() > b.size() ? -1 : 1;
    for (size_t i = 0; i < a.size(); ++i)
      if (const int order = compare(*a[i], *b[i]))
        return order;
    return 0;
  }

  // Constants last: max(S, 1).
  static int compare(const Dim &a, const Dim &b) {
    if (a.isConstant() != b.isConstant())
      return a.isConstant() ? 1 : -1;
    const llvm::ArrayRef<Term> x = terms(a), y = terms(b);
    const size_t common = std::min(x.size(), y.size());
    for (size_t i = 0; i < common; ++i) {
      if (const int order = compareFactors(x[i].factors, y[i].factors))
        return order;
      if (x[i].coefficient != y[i].coefficient)
        return x[i].coefficient < y[i].coefficient ? -1 : 1;
    }
    if (x.size() != y.size())
      return x.size() < y.size() ? -1 : 1;
    if (a.constant_ != b.constant_)
      return a.constant_ < b.constant_ ? -1 : 1;
    return 0;
  }

  // --- Construction ---

  static llvm::ArrayRef<Term> terms(const Dim &d) {
    return d.terms_ ? llvm::ArrayRef<Term>(d.terms_->terms) : llvm::ArrayRef<Term>();
  }

  // The terms, the constant among them as one without factors.
  static std::vector<Term> allTerms(const Dim &d) {
    std::vector<Term> all(terms(d));
    if (d.constant_ != 0)
      all.push_back(Term{d.constant_, {}});
    return all;
  }

  static Dim fromTerms(std::vector<Term> all) {
    llvm::sort(
        all, [](const Term &a, const Term &b) { return compareFactors(a.factors, b.factors) < 0; });
    std::vector<Term> merged;
    for (Term &term : all) {
      if (merged.empty() || compareFactors(merged.back().factors, term.factors) != 0)
        merged.push_back(std::move(term));
      else
        merged.back().coefficient = checkedAdd(merged.back().coefficient, term.coefficient);
    }
    llvm::erase_if(merged, [](const Term &term) { return term.coefficient == 0; });

    Dim result;
    if (!merged.empty() && merged.back().factors.empty()) {
      result.constant_ = merged.back().coefficient;
      merged.pop_back();
    }
    if (!merged.empty())
      result.terms_ = share(std::move(merged));
    return result;
  }

  static std::shared_ptr<const Terms> share(std::vector<Term> terms) {
    auto shared = std::make_shared<Terms>();
    for (const Term &term : terms) {
      shared->hash = mix(shared->hash, static_cast<size_t>(term.coefficient));
      for (const auto &factor : term.factors) {
        shared->hash = mix(shared->hash, factor->hash);
        shared->size += factor->size;
        shared->depth = std::max(shared->depth, factor->depth);
        checkSize(shared->size);
      }
    }
    shared->terms = std::move(terms);
    return shared;
  }

  static void checkSize(uint32_t size) {
    if (size > kMaxSize)
      throw Error("the expression for a dimension has more than " + std::to_string(kMaxSize) +
                  " parts");
  }

  static Dim ofAtom(Atom atom) {
    atom.hash = mix(static_cast<size_t>(atom.kind), std::hash<std::string>()(atom.name));
    for (const Dim &arg : atom.args) {
      atom.hash = mix(atom.hash, arg.hash());
      atom.size += arg.terms_ ? arg.terms_->size : 1;
      checkSize(atom.size);
      atom.depth = std::max(atom.depth, (arg.terms_ ? arg.terms_->depth : 0) + 1);
    }
    if (atom.depth > kMaxDepth)
      throw Error("the expression for a dimension is nested deeper than " +
                  std::to_string(kMaxDepth) + " levels");
    atom.nonNegative = isNonNegative(atom);
    Term term;
    term.coefficient = 1;
    term.factors.push_back(std::make_shared<const Atom>(std::move(atom)));
    Dim result;
    result.terms_ = share({std::move(term)});
    return result;
  }

  static Dim call(Kind kind, llvm::ArrayRef<Dim> args) {
    Atom atom;
    atom.kind = kind;
    atom.args.assign(args.begin(), args.end());
    return ofAtom(std::move(atom));
  }

  // The atom that a dim consists of, or null.
  static const Atom *asAtom(const Dim &d) {
    if (!d.terms_ || d.constant_ != 0 || d.terms_->terms.size() != 1)
      return nullptr;
    const Term &term = d.terms_->terms.front();
    return term.coefficient == 1 && term.factors.size() == 1 ? term.factors.front().get() : nullptr;
  }

  // --- Signs ---

  static bool isNonNegative(const Atom &atom) {
    const auto nonNegative = [](const Dim &d) { return isNonNegative(d); };
    switch (atom.kind) {
    case Kind::kSymbol:
      return atom.name.empty() || atom.name.front() != '$';
    case Kind::kMax:
      return llvm::any_of(atom.args, nonNegative);
    case Kind::kMod:
      return isNonNegative(atom.args[1]);
    case Kind::kMin:
    case Kind::kFloorDiv:
    case Kind::kBroadcast:
      return llvm::all_of(atom.args, nonNegative);
    }
    return false;
  }

  static bool factorsNonNegative(const Factors &factors) {
    return llvm::all_of(factors, [](const auto &factor) { return factor->nonNegative; });
  }

  static bool isNonNegative(const Dim &d) { return atLeast(d, Dim(0)); }

  // Whether a - b has no negative part: every coefficient and the constant at least 0, over factors
  // that are never negative.
  static bool atLeast(const Dim &a, const Dim &b) {
    if (a.constant_ < b.constant_)
      return false;
    llvm::ArrayRef<Term> x = terms(a), y = terms(b);
    while (!x.empty() || !y.empty()) {
      const int order = x.empty()   ? 1
                        : y.empty() ? -1
                                    : compareFactors(x.front().factors, y.front().factors);
      const Term &term = order <= 0 ? x.front() : y.front();
      const int64_t ca = order <= 0 ? x.front().coefficient : 0;
      const int64_t cb = order >= 0 ? y.front().coefficient : 0;
      if (ca < cb || (ca != cb && !factorsNonNegative(term.factors)))
        return false;
      if (order <= 0)
        x = x.drop_front();
      if (order >= 0)
        y = y.drop_front();
    }
    return true;
  }

  // --- Atoms ---

  static void flatten(const Dim &d, Kind kind, llvm::SmallVectorImpl<Dim> &args) {
    const Atom *atom = asAtom(d);
    if (atom && atom->kind == kind)
      args.append(atom->args.begin(), atom->args.end());
    else
      args.push_back(d);
  }

  static Dim callSorted(Kind kind, llvm::SmallVectorImpl<Dim> &args) {
    if (args.size() == 1)
      return args.front();
    llvm::sort(args, [](const Dim &a, const Dim &b) { return compare(a, b) < 0; });
    return call(kind, args);
  }

  // Largest (kMax) or smallest (kMin) of a and b.
  static Dim extremum(Kind kind, const Dim &a, const Dim &b) {
    // Whether b need not be looked at where a is.
    const auto covers = [kind](const Dim &a, const Dim &b) {
      return kind == Kind::kMax ? atLeast(a, b) : atLeast(b, a);
    };
    llvm::SmallVector<Dim, 4> args, kept;
    flatten(a, kind, args);
    flatten(b, kind, args);
    for (const Dim &arg : args) {
      if (llvm::any_of(kept, [&](const Dim &other) { return covers(other, arg); }))
        continue;
      llvm::erase_if(kept, [&](const Dim &other) { return covers(arg, other); });
      kept.push_back(arg);
    }
    return callSorted(kind, kept);
  }

  static Dim broadcast(const Dim &a, const Dim &b) {
    llvm::SmallVector<Dim, 4> args, kept;
    flatten(a, Kind::kBroadcast, args);
    flatten(b, Kind::kBroadcast, args);
    std::optional<int64_t> constant;
    for (const Dim &arg : args) {
      if (arg.is(1) || llvm::is_contained(kept, arg))
        continue;
      if (arg.isConstant() && constant)
        throw Error("dimensions " + std::to_string(*constant) + " and " + arg.str() +
                    " do not broadcast: one of them must be 1, or both the same");
      if (arg.isConstant())
        constant = arg.constant_;
      kept.push_back(arg);
    }
    return kept.empty() ? Dim(1) : callSorted(Kind::kBroadcast, kept);
  }

  // Moves the terms of `d` that `divisor` > 0 divides into `whole`, divided; the rest remains, its
  // constant in [0, divisor).
  static Dim split(const Dim &d, int64_t divisor, Dim &whole) {
    std::vector<Term> divided, rest;
    for (Term term : terms(d)) {
      if (term.coefficient % divisor != 0) {
        rest.push_back(std::move(term));
        continue;
      }
      term.coefficient /= divisor;
      divided.push_back(std::move(term));
    }
    divided.push_back(Term{floorQuotient(d.constant_, divisor), {}});
    rest.push_back(Term{floorRemainder(d.constant_, divisor), {}});
    whole = fromTerms(std::move(divided));
    return fromTerms(std::move(rest));
  }

  static void checkDivisor(const Dim &b) {
    if (b.is(0))
      throw Error("division of a dimension by 0");
  }

  // --- Division ---

  static std::optional<Factors> divideFactors(const Factors &a, const Factors &b) {
    Factors quotient;
    size_t j = 0;
    for (const auto &factor : a) {
      if (j < b.size() && compare(*factor, *b[j]) == 0)
        ++j;
      else
        quotient.push_back(factor);
    }
    if (j != b.size())
      return std::nullopt;
    return quotient;
  }

  static std::optional<Term> divideTerm(const Term &a, const Term &b) {
    if (b.coefficient == -1 && a.coefficient == kMin)
      return std::nullopt;
    if (a.coefficient % b.coefficient != 0)
      return std::nullopt;
    std::optional<Factors> factors = divideFactors(a.factors, b.factors);
    if (!factors)
      return std::nullopt;
    return Term{a.coefficient / b.coefficient, std::move(*factors)};
  }

  static Term leading(const Dim &d) {
    return d.terms_ ? d.terms_->terms.front() : Term{d.constant_, {}};
  }

  // Long division: every step removes the leading term of what is left.
  static std::optional<Dim> divide(Dim rest, const Dim &divisor) {
    const Term head = leading(divisor);
    Dim quotient;
    while (!rest.is(0)) {
      std::optional<Term> step = divideTerm(leading(rest), head);
      if (!step)
        return std::nullopt;
      const Dim part = fromTerms({std::move(*step)});
      quotient = quotient + part;
      rest = rest - part * divisor;
    }
    return quotient;
  }

  static Term product(const Term &a, const Term &b) {
    Term term;
    term.coefficient = checkedMul(a.coefficient, b.coefficient);
    term.factors = a.factors;
    term.factors.append(b.factors.begin(), b.factors.end());
    llvm::sort(term.factors, [](const auto &x, const auto &y) { return compare(*x, *y) < 0; });
    return term;
  }

  // --- Evaluation: absent on a fault, which `fault` states if it is not null ---

  static std::nullopt_t fail(std::string *fault, const std::string &what) {
    if (fault)
      *fault = what;
    return std::nullopt;
  }

  static std::optional<int64_t> evaluate(const Dim &d, const SymbolValues &values,
                                         std::string *fault) {
    __int128 sum = d.constant_; // of at most kMaxSize terms of 64 bits
    for (const Term &term : terms(d)) {
      const std::optional<int64_t> value = evaluate(term, values, fault);
      if (!value)
        return std::nullopt;
      sum += *value;
    }
    if (sum < kMin || sum > kMax)
      return fail(fault, "'" + d.str() + "' does not fit into 64 bits");
    return static_cast<int64_t>(sum);
  }

  static std::optional<int64_t> evaluate(const Term &term, const SymbolValues &values,
                                         std::string *fault) {
    int64_t product = term.coefficient;
    bool overflows = false, isZero = false;
    for (const auto &factor : term.factors) {
      const std::optional<int64_t> value = evaluate(*factor, values, fault);
      if (!value)
        return std::nullopt;
      isZero |= *value == 0;
      overflows |= __builtin_mul_overflow(product, *value, &product);
    }
    if (isZero)
      return 0;
    if (overflows)
      return fail(fault, "'" + text(term.factors) + "' does not fit into 64 bits");
    return product;
  }

  static std::optional<int64_t> evaluate(const Atom &atom, const SymbolValues &values,
                                         std::string *fault) {
    if (atom.kind == Kind::kSymbol) {
      const auto found = values.find(atom.name);
      if (found == values.end())
        return fail(fault, "symbol '" + atom.name + "' has no value");
      return found->second;
    }
    std::optional<int64_t> result = evaluate(atom.args.front(), values, fault);
    for (size_t i = 1; result && i < atom.args.size(); ++i) {
      const std::optional<int64_t> next = evaluate(atom.args[i], values, fault);
      result = next ? apply(atom, *result, *next, fault) : std::nullopt;
    }
    return result;
  }

  static std::optional<int64_t> apply(const Atom &atom, int64_t a, int64_t b, std::string *fault) {
    switch (atom.kind) {
    case Kind::kSymbol:
      break;
    case Kind::kMax:
      return std::max(a, b);
    case Kind::kMin:
      return std::min(a, b);
    case Kind::kFloorDiv:
      if (b == 0)
        return fail(fault, "division by 0 in '" + text(atom) + "'");
      if (a == kMin && b == -1)
        return fail(fault, "'" + text(atom) + "' does not fit into 64 bits");
      return floorQuotient(a, b);
    case Kind::kMod:
      if (b == 0)
        return fail(fault, "division by 0 in '" + text(atom) + "'");
      return floorRemainder(a, b);
    case Kind::kBroadcast:
      if (a != 1 && b != 1 && a != b)
        return fail(fault, "dimensions " + std::to_string(a) + " and " + std::to_string(b) +
                               " do not broadcast in '" + text(atom) +
                               "': one of them must be 1, or both the same");
      return a == 1 ? b : a;
    }
    return std::nullopt;
  }

  // --- Substitution, symbols, bounds ---

  static Dim substitute(const Atom &atom, const llvm::StringMap<Dim> &values) {
    if (atom.kind == Kind::kSymbol) {
      const auto found = values.find(atom.name);
      return found == values.end() ? Dim::symbol(atom.name) : found->second;
    }
    Dim result = atom.args.front().substitute(values);
    for (const Dim &arg : llvm::drop_begin(atom.args))
      result = rebuild(atom.kind, result, arg.substitute(values));
    return result;
  }

  static Dim rebuild(Kind kind, const Dim &a, const Dim &b) {
    switch (kind) {
    case Kind::kSymbol:
      break;
    case Kind::kMax:
      return Dim::max(a, b);
    case Kind::kMin:
      return Dim::min(a, b);
    case Kind::kFloorDiv:
      return Dim::floorDiv(a, b);
    case Kind::kMod:
      return Dim::mod(a, b);
    case Kind::kBroadcast:
      return Dim::broadcast(a, b);
    }
    return a;
  }

  static void collectSymbols(const Atom &atom, llvm::SmallVectorImpl<std::string> &names) {
    if (atom.kind == Kind::kSymbol && !llvm::is_contained(names, atom.name))
      names.push_back(atom.name);
    for (const Dim &arg : atom.args)
      arg.collectSymbols(names);
  }

  static SymbolRange bounds(const Atom &atom, const SymbolRanges &ranges) {
    if (atom.kind == Kind::kSymbol) {
      const auto found = ranges.find(atom.name);
      if (found != ranges.end())
        return found->second;
      return {atom.nonNegative ? 0 : kMin, kMax};
    }
    llvm::SmallVector<SymbolRange, 4> args;
    for (const Dim &arg : atom.args)
      args.push_back(arg.bounds(ranges));
    SymbolRange range = args.front();
    switch (atom.kind) {
    case Kind::kSymbol:
      break;
    case Kind::kMax:
      for (const SymbolRange &arg : args)
        range = {std::max(range.min, arg.min), std::max(range.max, arg.max)};
      break;
    case Kind::kMin:
      for (const SymbolRange &arg : args)
        range = {std::min(range.min, arg.min), std::min(range.max, arg.max)};
      break;
    case Kind::kFloorDiv:
      return divRanges(args[0], args[1]);
    case Kind::kMod:
      return modRanges(args[0], args[1]);
    case Kind::kBroadcast:
      return broadcastRanges(args);
    }
    return range;
  }

  // --- Text ---

  static const char *functionName(Kind kind) {
    switch (kind) {
    case Kind::kSymbol:
      break;
    case Kind::kMax:
      return "max";
    case Kind::kMin:
      return "min";
    case Kind::kFloorDiv:
      return "floordiv";
    case Kind::kMod:
      return "mod";
    case Kind::kBroadcast:
      return "broadcast";
    }
    return "";
  }

  static std::string text(const Atom &atom) {
    if (atom.kind == Kind::kSymbol)
      return isIdentifier(atom.name) ? atom.name : quoted(atom.name);
    std::string out = functionName(atom.kind);
    const char *separator = "(";
    for (const Dim &arg : atom.args) {
      out += separator + arg.str();
      separator = ", ";
    }
    return out + ")";
  }

  static std::string text(const Factors &factors) {
    std::string out;
    for (const auto &factor : factors)
      out += (out.empty() ? "" : "*") + text(*factor);
    return out;
  }

  // Appends "+ 3*S" (or "3*S" at the start).
  static void appendTerm(std::string &out, int64_t coefficient, const Factors &factors) {
    const bool negative = coefficient < 0;
    const uint64_t magnitude =
        negative ? 0 - static_cast<uint64_t>(coefficient) : static_cast<uint64_t>(coefficient);
    if (out.empty())
      out += negative ? "-" : "";
    else
      out += negative ? " - " : " + ";
    if (factors.empty()) {
      out += std::to_string(magnitude);
      return;
    }
    if (magnitude != 1)
      out += std::to_string(magnitude) + "*";
    out += text(factors);
  }
};

Dim Dim::symbol(llvm::StringRef name) {
  Atom atom;
  atom.name = name.str();
  return Algebra::ofAtom(std::move(atom));
}

Dim Dim::max(const Dim &a, const Dim &b) { return Algebra::extremum(Atom::Kind::kMax, a, b); }

Dim Dim::min(const Dim &a, const Dim &b) { return Algebra::extremum(Atom::Kind::kMin, a, b); }

Dim Dim::floorDiv(const Dim &a, const Dim &b) {
  Algebra::checkDivisor(b);
  if (std::optional<Dim> exact = a.dividedBy(b))
    return *exact;
  if (!b.isConstant() || b.constant_ < 0) {
    if (a.isConstant() && b.isConstant() && b.constant_ != -1)
      return floorQuotient(a.constant_, b.constant_);
    return Algebra::call(Atom::Kind::kFloorDiv, {a, b});
  }
  Dim whole;
  const Dim rest = Algebra::split(a, b.constant_, whole);
  if (rest.isConstant())
    return whole;
  return whole + Algebra::call(Atom::Kind::kFloorDiv, {rest, b});
}

Dim Dim::mod(const Dim &a, const Dim &b) {
  Algebra::checkDivisor(b);
  if (a.isConstant() && b.isConstant())
    return floorRemainder(a.constant_, b.constant_);
  if (a.dividedBy(b))
    return 0;
  if (!b.isConstant() || b.constant_ < 0)
    return Algebra::call(Atom::Kind::kMod, {a, b});
  Dim whole;
  const Dim rest = Algebra::split(a, b.constant_, whole);
  return rest.isConstant() ? rest : Algebra::call(Atom::Kind::kMod, {rest, b});
}

Dim Dim::broadcast(const Dim &a, const Dim &b) {
  if (a == b || b.is(1))
    return a;
  return a.is(1) ? b : Algebra::broadcast(a, b);
}

std::optional<int64_t> Dim::constant() const {
  return terms_ ? std::nullopt : std::optional<int64_t>(constant_);
}

Dim Dim::operator+(const Dim &other) const {
  if (isConstant() && other.isConstant())
    return checkedAdd(constant_, other.constant_);
  std::vector<Term> all = Algebra::allTerms(*this);
  llvm::append_range(all, Algebra::allTerms(other));
  return Algebra::fromTerms(std::move(all));
}

Dim Dim::operator-(const Dim &other) const {
  if (isConstant() && other.isConstant())
    return checkedSub(constant_, other.constant_);
  if (*this == other)
    return 0;
  return *this + other * Dim(-1);
}

Dim Dim::operator*(const Dim &other) const {
  if (isConstant() && other.isConstant())
    return checkedMul(constant_, other.constant_);
  if (is(1) || other.is(0))
    return other;
  if (other.is(1) || is(0))
    return *this;
  const std::vector<Term> x = Algebra::allTerms(*this), y = Algebra::allTerms(other);
  Algebra::checkSize(static_cast<uint32_t>(x.size() * y.size() / 4));
  std::vector<Term> all;
  for (const Term &a : x)
    for (const Term &b : y)
      all.push_back(Algebra::product(a, b));
  return Algebra::fromTerms(std::move(all));
}

bool Dim::operator==(const Dim &other) const {
  if (constant_ != other.constant_)
    return false;
  if (terms_ == other.terms_)
    return true;
  if (!terms_ || !other.terms_ || terms_->hash != other.terms_->hash)
    return false;
  return Algebra::compare(*this, other) == 0;
}

size_t Dim::hash() const { return mix(terms_ ? terms_->hash : 0, static_cast<size_t>(constant_)); }

std::optional<Dim> Dim::dividedBy(const Dim &divisor) const {
  if (divisor.is(0))
    return std::nullopt;
  if (divisor.is(1))
    return *this;
  try {
    return Algebra::divide(*this, divisor);
  } catch (const Error &) { // an intermediate result that is too large
    return std::nullopt;
  }
}

int64_t Dim::evaluate(const SymbolValues &values) const {
  if (isConstant())
    return constant_;
  std::string fault;
  const std::optional<int64_t> value = Algebra::evaluate(*this, values, &fault);
  if (!value)
    throw Error(fault);
  return *value;
}

std::optional<int64_t> Dim::tryEvaluate(const SymbolValues &values) const {
  return isConstant() ? constant_ : Algebra::evaluate(*this, values, nullptr);
}

Dim Dim::substitute(const llvm::StringMap<Dim> &values) const {
  if (isConstant())
    return *this;
  Dim sum = constant_;
  for (const Term &term : terms_->terms) {
    Dim product = term.coefficient;
    for (const auto &factor : term.factors)
      product = product * Algebra::substitute(*factor, values);
    sum = sum + product;
  }
  return sum;
}

void Dim::collectSymbols(llvm::SmallVectorImpl<std::string> &names) const {
  for (const Term &term : Algebra::terms(*this))
    for (const auto &factor : term.factors)
      Algebra::collectSymbols(*factor, names);
}

std::optional<std::string> Dim::asSymbol() const {
  const Atom *atom = Algebra::asAtom(*this);
  if (!atom || atom->kind != Atom::Kind::kSymbol)
    return std::nullopt;
  return atom->name;
}

SymbolRange Dim::bounds(const SymbolRanges &ranges) const {
  SymbolRange sum{constant_, constant_};
  for (const Term &term : Algebra::terms(*this)) {
    SymbolRange product{term.coefficient, term.coefficient};
    for (const auto &factor : term.factors)
      product = mulRanges(product, Algebra::bounds(*factor, ranges));
    sum = addRanges(sum, product);
  }
  return sum;
}

// Positive terms first, so that differences read "T - P" and "1 - S".
std::string Dim::str() const {
  if (isConstant())
    return std::to_string(constant_);
  std::string out;
  for (const Term &term : terms_->terms)
    if (term.coefficient > 0)
      Algebra::appendTerm(out, term.coefficient, term.factors);
  const bool constantLeads = out.empty() && constant_ > 0;
  if (constantLeads)
    Algebra::appendTerm(out, constant_, {});
  for (const Term &term : terms_->terms)
    if (term.coefficient < 0)
      Algebra::appendTerm(out, term.coefficient, term.factors);
  if (constant_ != 0 && !constantLeads)
    Algebra::appendTerm(out, constant_, {});
  return out;
}

Dim product(llvm::ArrayRef<Dim> dims) {
  Dim result = 1;
  for (const Dim &dim : dims)
    result = result * dim;
  return result;
}

std::string str(llvm::ArrayRef<Dim> dims) {
  std::string out = "[";
  for (const Dim &dim : dims)
    out += (out.size() == 1 ? "" : ", ") + dim.str();
  return out + "]";
}

} // namespace engine::ir
