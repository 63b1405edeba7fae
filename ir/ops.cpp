#include "ir/ops.h"

#include "ir/error.h"
#include "ir/field_values.h"
#include "ir/graph.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <array>
#include <cstring>

namespace engine::ir {

namespace {

// What the structs declare about themselves, by index in the variant.
struct OpInfo {
  const char *name;
  std::vector<OperandSpec> operands, results;
  Op instance;
};

std::vector<OperandSpec> splitSpecs(llvm::StringRef list) {
  llvm::SmallVector<llvm::StringRef, 16> words;
  llvm::SplitString(list, words);
  std::vector<OperandSpec> specs;
  for (llvm::StringRef word : words) {
    OperandSpec spec;
    spec.optional = word.consume_back("?");
    spec.variadic = word.consume_back("*");
    spec.name = word.str();
    specs.push_back(std::move(spec));
  }
  return specs;
}

template <class T> OpInfo infoOf() {
  return {T::kName, splitSpecs(T::kOperands), splitSpecs(T::kResults), T{}};
}

template <size_t... I> std::array<OpInfo, kNumOps> makeInfos(std::index_sequence<I...>) {
  return {infoOf<std::variant_alternative_t<I, Op>>()...};
}

const std::array<OpInfo, kNumOps> &infos() {
  static const std::array<OpInfo, kNumOps> table = makeInfos(std::make_index_sequence<kNumOps>());
  return table;
}

llvm::StringMap<const Op *> instancesByName() {
  llvm::StringMap<const Op *> map;
  for (const OpInfo &info : infos())
    map[info.name] = &info.instance;
  return map;
}

// Count of the results that a variadic tail stands for.
int64_t variadicResults(const Op &op) {
  if (const auto *node = std::get_if<If>(&op))
    return node->results;
  if (const auto *node = std::get_if<Unsupported>(&op))
    return node->results;
  throw Error::internal(std::string("operator '") + opName(op) +
                        "' does not say how many results it has");
}

} // namespace

bool sameValue(const float &a, const float &b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool sameValue(const ConstRef &a, const ConstRef &b) { return a == b || (a && b && *a == *b); }

bool sameValue(const GraphRef &a, const GraphRef &b) { return a == b || (a && b && equal(*a, *b)); }

const char *opName(size_t index) { return infos().at(index).name; }

const char *opName(const Op &op) { return opName(op.index()); }

llvm::ArrayRef<OperandSpec> operandSpecs(const Op &op) { return infos()[op.index()].operands; }

llvm::ArrayRef<OperandSpec> resultSpecs(const Op &op) { return infos()[op.index()].results; }

size_t numResults(const Op &op) {
  const llvm::ArrayRef<OperandSpec> specs = resultSpecs(op);
  if (specs.empty() || !specs.back().variadic)
    return specs.size();
  const int64_t tail = variadicResults(op);
  if (tail < 0)
    throw Error("results must not be negative, found " + std::to_string(tail));
  return specs.size() - 1 + static_cast<size_t>(tail);
}

const Op *findOp(llvm::StringRef name) {
  static const llvm::StringMap<const Op *> instances = instancesByName();
  return instances.lookup(name);
}

// The compiler sees this once for every operator: nothing but the comparison belongs in here.
const char *differingField(const Op &a, const Op &b) {
  return std::visit(
      [&b](const auto &x) {
        const char *different = nullptr;
        zipFields(x, *std::get_if<std::decay_t<decltype(x)>>(&b),
                  [&different](const char *name, const auto &left, const auto &right) {
                    if (!different && !sameValue(left, right))
                      different = name;
                  });
        return different;
      },
      a);
}

bool equal(const Op &a, const Op &b) { return a.index() == b.index() && !differingField(a, b); }

} // namespace engine::ir
