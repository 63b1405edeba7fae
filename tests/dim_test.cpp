#include "ir/dim.h"
#include "ir/error.h"

#include <doctest/doctest.h>

#include <random>

using namespace engine;
using namespace engine::ir;

namespace {

Dim d(llvm::StringRef text) { return Dim::parse(text); }

SymbolValues valuesOf(std::initializer_list<std::pair<const char *, int64_t>> list) {
  SymbolValues values;
  for (const auto &[name, value] : list)
    values[name] = value;
  return values;
}

// What an error says; "no error" where there is none.
template <class F> std::string errorOf(F run) {
  try {
    run();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("dim: canonical text") {
  struct Row {
    const char *why, *text, *canonical;
  };
  const Row rows[] = {
      {"a constant", "42", "42"},
      {"constants fold", "2 * 3 + 4 - 1", "9"},
      {"a symbol", "S", "S"},
      {"terms are sorted, case last", "S + P", "P + S"},
      {"batch before S", "S*batch - 1", "batch*S - 1"},
      {"like terms merge", "S + S + 2*S", "4*S"},
      {"what cancels goes", "S + P - S", "P"},
      {"products expand", "(P + S) * 8", "8*P + 8*S"},
      {"squares repeat their factor", "(S + 1) * (S - 1)", "S*S - 1"},
      {"positive terms lead", "-P + T", "T - P"},
      {"a positive constant leads", "-S + 1", "1 - S"},
      {"nothing positive", "-S - 1", "-S - 1"},
      {"the smallest number", "-9223372036854775808", "-9223372036854775808"},
      {"and as a coefficient", "-9223372036854775808*S", "-9223372036854775808*S"},
      {"names that are no identifiers are quoted", "\"past len\" + \"2\"", "\"2\" + \"past len\""},
      {"quotes and control characters are escaped", "\"a\\\"b\\\\\\n\\x01\"",
       "\"a\\\"b\\\\\\n\\x01\""},
      {"a value of an input", "$total", "$total"},
      {"a symbol may be called as a function", "max + min", "max + min"},
      {"an empty name", "\"\"", "\"\""},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    CHECK(d(row.text).str() == row.canonical);
    CHECK(d(row.canonical) == d(row.text));
    CHECK(d(row.canonical).hash() == d(row.text).hash());
  }
}

TEST_CASE("dim: functions simplify where the rule is local") {
  struct Row {
    const char *why, *text, *canonical;
  };
  const Row rows[] = {
      {"max of constants", "max(3, 7)", "7"},
      {"max(a, a)", "max(S, S)", "S"},
      {"arguments are sorted", "max(T, P)", "max(P, T)"},
      {"nested ones flatten", "max(max(T, 3), max(P, T))", "max(P, T, 3)"},
      {"differing by a constant", "max(S, S + 1)", "S + 1"},
      {"and for min", "min(S, S + 1)", "S"},
      {"a sum of dims is not negative", "max(P + S, 0)", "P + S"},
      {"min with 0", "min(0, P + 2*S)", "0"},
      {"a difference may be negative", "max(T - S, 0)", "max(T - S, 0)"},
      {"a value of an input may be negative", "max($start, 0)", "max($start, 0)"},
      {"a dim that the data decides may not", "max(\"@node.0.1\", 0)", "\"@node.0.1\""},
      {"more of what is not negative", "max(P + S, P)", "P + S"},
      {"but nothing by a signed one", "min($x + P, P)", "min($x + P, P)"},
      {"three constants", "min(5, 3, S)", "min(S, 3)"},
      {"max and min of the other", "max(min(S, T), 0)", "min(S, T)"},
      {"division that comes out", "floordiv(8*S, 4)", "2*S"},
      {"by one", "floordiv(S, 1)", "S"},
      {"by itself", "floordiv(P + S, P + S)", "1"},
      {"of constants rounds down", "floordiv(-7, 2)", "-4"},
      {"whole parts leave", "floordiv(4*S + T + 9, 4)", "S + floordiv(T + 1, 4) + 2"},
      {"the rest below the divisor", "floordiv(2*S + 1, 2)", "S"},
      {"what does not come out stays", "floordiv(S, 2)", "floordiv(S, 2)"},
      {"by a symbol", "floordiv(S + 1, T)", "floordiv(S + 1, T)"},
      {"mod 1", "mod(S, 1)", "0"},
      {"mod has the divisor's sign", "mod(-7, 4)", "1"},
      {"multiples leave", "mod(8*S + 3, 4)", "3"},
      {"the rest stays", "mod(5*S + 6, 4)", "mod(5*S + 2, 4)"},
      {"mod of a multiple", "mod(S*T, T)", "0"},
      {"broadcast with 1", "broadcast(S, 1)", "S"},
      {"1 with it", "broadcast(1, S)", "S"},
      {"with itself", "broadcast(S, S)", "S"},
      {"of ones", "broadcast(1, 1)", "1"},
      {"with a constant is checked when it runs", "broadcast(4, S)", "broadcast(S, 4)"},
      {"nested ones flatten too", "broadcast(broadcast(S, 4), broadcast(4, T))",
       "broadcast(S, T, 4)"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    CHECK(d(row.text).str() == row.canonical);
    CHECK(d(row.canonical) == d(row.text));
  }
}

TEST_CASE("dim: exact division") {
  struct Row {
    const char *why, *dividend, *divisor, *quotient; // null: does not divide
  };
  const Row rows[] = {
      {"by a constant", "8*S + 16", "8", "S + 2"},
      {"by a symbol", "S*T", "S", "T"},
      {"by a sum", "8*batch*P + 8*batch*S", "P + S", "8*batch"},
      {"by a sum times a constant", "batch*P*64 + batch*S*64", "8*P + 8*S", "8*batch"},
      {"difference of squares", "S*S - 1", "S + 1", "S - 1"},
      {"by an atom", "4*max(S, T)*P", "max(S, T)", "4*P"},
      {"0 by anything", "0", "S", "0"},
      {"a remainder", "8*S + 4", "8", nullptr},
      {"another symbol", "S", "T", nullptr},
      {"by zero", "S", "0", nullptr},
      {"a constant by a symbol", "8", "S", nullptr},
      {"the one that overflows", "-9223372036854775808", "-1", nullptr},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    const std::optional<Dim> quotient = d(row.dividend).dividedBy(d(row.divisor));
    REQUIRE(quotient.has_value() == (row.quotient != nullptr));
    if (quotient)
      CHECK(quotient->str() == row.quotient);
  }
}

TEST_CASE("dim: evaluation") {
  struct Row {
    const char *why, *text;
    int64_t value;
  };
  const SymbolValues values =
      valuesOf({{"S", 7}, {"P", 4}, {"one", 1}, {"zero", 0}, {"$x", -3}, {"huge", INT64_MAX / 2}});
  const Row rows[] = {
      {"a polynomial", "S*S - 2*P + 1", 42},
      {"max", "max(S, P + 9)", 13},
      {"min of three", "min(S, P, $x)", -3},
      {"floordiv rounds down", "floordiv($x, 2)", -2},
      {"by a negative one", "floordiv(S, $x)", -3},
      {"mod", "mod($x, P)", 1},
      {"mod by a negative one", "mod(S, $x)", -2},
      {"broadcast takes the one that is not 1", "broadcast(one, S)", 7},
      {"broadcast of equal ones", "broadcast(S, P + 3)", 7},
      {"broadcast to nothing", "broadcast(one, zero)", 0},
      {"a sum may leave 64 bits on its way", "huge + huge + huge - huge - huge", INT64_MAX / 2},
      {"a product with 0 is 0", "huge*huge*zero", 0},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    CHECK(d(row.text).evaluate(values) == row.value);
    CHECK(d(row.text).tryEvaluate(values) == row.value);
  }

  struct Fault {
    const char *text, *message;
  };
  const Fault faults[] = {
      {"S + Q", "symbol 'Q' has no value"},
      {"huge*S", "'huge*S' does not fit into 64 bits"},
      {"huge + huge + huge*one", "does not fit into 64 bits"},
      {"floordiv(S, zero)", "division by 0 in 'floordiv(S, zero)'"},
      {"mod(S, zero)", "division by 0 in 'mod(S, zero)'"},
      {"broadcast(S, P)", "dimensions 4 and 7 do not broadcast in 'broadcast(P, S)'"},
  };
  for (const Fault &fault : faults) {
    CAPTURE(fault.text);
    const std::string message = errorOf([&] { (void)d(fault.text).evaluate(values); });
    CAPTURE(message);
    CHECK(contains(message, fault.message));
    CHECK_FALSE(d(fault.text).tryEvaluate(values).has_value());
  }
}

TEST_CASE("dim: bounds") {
  SymbolRanges ranges;
  ranges["S"] = {1, 8};
  ranges["P"] = {0, 1024};
  ranges["$x"] = {-5, 5};
  struct Row {
    const char *why, *text;
    int64_t min, max;
  };
  const Row rows[] = {
      {"a sum", "P + S", 1, 1032},
      {"a difference", "P - S", -8, 1023},
      {"a product of signed ones", "$x*S", -40, 40},
      {"a symbol without a range", "T", 0, INT64_MAX},
      {"a value without a range", "$y", INT64_MIN, INT64_MAX},
      {"infinity stays infinite", "T - 5", -5, INT64_MAX},
      {"its negative too", "-T", INT64_MIN, 0},
      {"products saturate", "T*P*P", 0, INT64_MAX},
      {"max", "max(S, P)", 1, 1024},
      {"min", "min(S, P)", 0, 8},
      {"floordiv", "floordiv(P, 4)", 0, 256},
      {"floordiv of a signed one", "floordiv($x, 2)", -3, 2},
      {"floordiv by a symbol", "floordiv(P, S)", 0, 1024},
      {"floordiv by a signed one", "floordiv(P, $x)", -1024, 1024},
      {"mod", "mod(P, 16)", 0, 15},
      {"mod of something smaller", "mod(S, 16)", 1 - 1, 8},
      {"broadcast of two that may be 1", "broadcast(P, S)", 0, 1024},
      {"broadcast with a constant is the constant", "broadcast(P, 64)", 64, 64},
  };
  for (const Row &row : rows) {
    CAPTURE(row.why);
    const SymbolRange range = d(row.text).bounds(ranges);
    CHECK(range.min == row.min);
    CHECK(range.max == row.max);
  }
}

TEST_CASE("dim: symbols and substitution") {
  llvm::SmallVector<std::string> names;
  d("max(T, P)*S + S + floordiv(B + 1, 2)").collectSymbols(names);
  CHECK(names == llvm::SmallVector<std::string>{"S", "P", "T", "B"});
  CHECK(d("S").asSymbol() == "S");
  CHECK_FALSE(d("2*S").asSymbol().has_value());
  CHECK_FALSE(d("S + 1").asSymbol().has_value());
  CHECK_FALSE(d("max(S, T)").asSymbol().has_value());
  CHECK_FALSE(d("3").asSymbol().has_value());

  llvm::StringMap<Dim> replacement;
  replacement["S"] = 1;
  replacement["T"] = d("P + S");
  CHECK(d("max(T, P)*S + broadcast(S, B)").substitute(replacement).str() == "B + P + S");
  CHECK(d("B").substitute(replacement) == d("B"));
  CHECK(product({d("B"), 8, d("S")}).str() == "8*B*S");
  CHECK(str({d("batch"), 8, d("P + S")}) == "[batch, 8, P + S]");
  CHECK(str(llvm::ArrayRef<Dim>()) == "[]");
}

TEST_CASE("dim: text that is refused") {
  struct Row {
    const char *text, *message;
  };
  const Row rows[] = {
      {"", "column 1: expected a dimension, found the end"},
      {"S +", "column 4: expected a dimension, found the end"},
      {"S T", "column 3: expected the end of the dimension, found 'T'"},
      {"(S", "column 3: expected ')', found the end"},
      {"max(S)", "column 6: expected ',', found ')'"},
      {"floordiv(S, 2, 3)", "column 14: expected ')', found ','"},
      {"sqrt(S)", "column 1: expected max, min, floordiv, mod or broadcast before '('"},
      {"\"S", "expected the rest of a quoted symbol"},
      {"\"\\q\"", "expected the rest of a quoted symbol"},
      {"9223372036854775808", "column 1: expected a number of at most 63 bits"},
      {"99999999999999999999999999", "expected a number of at most 63 bits"},
      {"9223372036854775807 + 1", "does not fit into 64 bits"},
      {"9223372036854775807*S*2", "does not fit into 64 bits"},
      {"floordiv(S, 0)", "column 1: division of a dimension by 0"},
      {"mod(3, 0)", "division of a dimension by 0"},
      {"broadcast(3, 4)", "dimensions 3 and 4 do not broadcast"},
      {"%", "expected a dimension, found '%'"},
  };
  for (const Row &row : rows) {
    CAPTURE(row.text);
    const std::string message = errorOf([&] { (void)d(row.text); });
    CAPTURE(message);
    CHECK(contains(message, row.message));
  }
}

TEST_CASE("dim: no expression grows without limit") {
  const std::string deep(1000, '(');
  CHECK(contains(errorOf([&] { (void)d(deep); }), "at most 64 nested levels"));

  Dim nested = Dim::symbol("S");
  const std::string tooDeep = errorOf([&] {
    for (int i = 0; i < 1000; ++i)
      nested = Dim::floorDiv(nested + 1, Dim::symbol("T"));
  });
  CHECK(contains(tooDeep, "nested deeper than 64 levels"));
  CHECK(d(nested.str()) == nested); // the deepest that is allowed parses back

  Dim doubled = Dim::symbol("S"); // its text doubles in every step
  const std::string tooLarge = errorOf([&] {
    for (int i = 0; i < 60; ++i)
      doubled = Dim::max(Dim::mod(doubled, 7), Dim::floorDiv(doubled, 5));
  });
  CHECK(contains(tooLarge, "more than 1024 parts"));

  std::string product = "1";
  for (int i = 0; i < 60; ++i)
    product += "*(a" + std::to_string(i) + " + b" + std::to_string(i) + ")";
  CHECK(contains(errorOf([&] { (void)d(product); }), "more than 1024 parts"));
}

// Random expressions: the canonical form has the value that arithmetic gives, bounds hold it, and
// its text reads back.
TEST_CASE("dim: random expressions keep their values") {
  std::mt19937 random(7);
  const char *const symbols[] = {"P", "S", "$x"};
  int checked = 0;
  for (int round = 0; round < 400; ++round) {
    SymbolValues values;
    SymbolRanges ranges;
    for (const char *symbol : symbols) {
      const int64_t value = static_cast<int64_t>(random() % 6) - (*symbol == '$' ? 3 : 0);
      values[symbol] = value;
      ranges[symbol] = {value - (*symbol == '$' || value > 0 ? 1 : 0), value + 2};
    }
    struct Known {
      Dim dim;
      int64_t value;
    };
    std::vector<Known> pool = {{1, 1}, {2, 2}, {-3, -3}};
    for (const char *symbol : symbols)
      pool.push_back({Dim::symbol(symbol), values[symbol]});
    for (int step = 0; step < 12; ++step) {
      const Known a = pool[random() % pool.size()];
      const Known b = pool[random() % pool.size()];
      const int64_t floored =
          b.value == 0 ? 0 : (a.value - ((a.value % b.value) + b.value) % b.value) / b.value;
      Known made;
      switch (random() % 7) {
      case 0:
        made = {a.dim + b.dim, a.value + b.value};
        break;
      case 1:
        made = {a.dim - b.dim, a.value - b.value};
        break;
      case 2:
        if (std::abs(a.value) > 1000 || std::abs(b.value) > 1000)
          continue;
        made = {a.dim * b.dim, a.value * b.value};
        break;
      case 3:
        made = {Dim::max(a.dim, b.dim), std::max(a.value, b.value)};
        break;
      case 4:
        made = {Dim::min(a.dim, b.dim), std::min(a.value, b.value)};
        break;
      case 5:
        if (b.value == 0)
          continue;
        made = {Dim::floorDiv(a.dim, b.dim), floored};
        break;
      default:
        if (b.value == 0)
          continue;
        made = {Dim::mod(a.dim, b.dim), a.value - floored * b.value};
        break;
      }
      CAPTURE(made.dim.str());
      REQUIRE(made.dim.tryEvaluate(values) == made.value);
      REQUIRE(Dim::parse(made.dim.str()) == made.dim);
      const SymbolRange range = made.dim.bounds(ranges);
      REQUIRE(range.min <= made.value);
      REQUIRE(range.max >= made.value);
      pool.push_back(std::move(made));
      ++checked;
    }
  }
  CHECK(checked > 3000);
}
