#include "frontend/input_checks.h"

namespace engine::frontend {

using ir::Dim;

void refuseInput(llvm::StringRef name, const std::string &fault) {
  throw Error(fault).at("input '" + name.str() + "'");
}

void refuseAttribute(llvm::StringRef name, const std::string &fault) {
  throw Error(fault).at("attribute '" + name.str() + "'");
}

void refuseValue(llvm::StringRef attribute, int64_t value, const std::string &expected) {
  refuseAttribute(attribute, "value " + std::to_string(value) + ", expected " + expected);
}

void expectTogether(const ImportContext &ctx, Input a, Input b) {
  if (ctx.has(a.index) == ctx.has(b.index))
    return;
  const Input &given = ctx.has(a.index) ? a : b;
  const Input &missing = ctx.has(a.index) ? b : a;
  refuseInput(missing.name,
              std::string("missing, expected as input '") + given.name + "' is there");
}

void expectType(const ImportContext &ctx, Input input, DType type) {
  const DType found = ctx.fact(input.index).dtype;
  if (found != type)
    refuseInput(input.name,
                std::string("type ") + dtypeLongName(found) + ", expected " + dtypeLongName(type));
}

void expectRank(const ImportContext &ctx, Input input, int rank) {
  const ir::Fact &fact = ctx.fact(input.index);
  if (fact.rank() != rank)
    refuseInput(input.name,
                "shape " + ir::str(fact.shape) + ", expected rank " + std::to_string(rank));
}

DimRule DimRule::broadcast(Dim dim) {
  DimRule rule(std::move(dim));
  rule.orOne = true;
  return rule;
}

DimRule DimRule::atMost(Dim dim) {
  DimRule rule(std::move(dim));
  rule.orLess = true;
  return rule;
}

namespace {

enum class Fit { kAlways, kNever, kOpen };

Fit fitOf(const Dim &actual, const DimRule &rule) {
  if (actual == rule.dim || (rule.orOne && actual.is(1)))
    return Fit::kAlways;
  if (!actual.isConstant() || !rule.dim.isConstant())
    return Fit::kOpen;
  const bool less = *actual.constant() < *rule.dim.constant();
  return rule.orLess && less ? Fit::kAlways : Fit::kNever;
}

std::string describe(llvm::ArrayRef<DimRule> rules) {
  std::string text = "[";
  for (const DimRule &rule : rules) {
    if (text.size() > 1)
      text += ", ";
    text += (rule.orLess ? "at most " : "") + rule.dim.str() + (rule.orOne ? " or 1" : "");
  }
  return text + "]";
}

} // namespace

ir::ValueId checkDims(ImportContext &ctx, ir::ValueId carrier, llvm::ArrayRef<Dim> actual,
                      llvm::ArrayRef<DimRule> rules, llvm::StringRef inputName) {
  const std::string fault = "shape " + ir::str(actual) + ", expected " + describe(rules);
  if (actual.size() != rules.size())
    refuseInput(inputName, fault);

  bool open = false;
  ir::CheckDims check;
  check.item = "input '" + inputName.str() + "'";
  check.actual.assign(actual.begin(), actual.end());
  for (size_t i = 0; i < rules.size(); ++i) {
    const Fit fit = fitOf(actual[i], rules[i]);
    if (fit == Fit::kNever)
      refuseInput(inputName, fault);
    open |= fit == Fit::kOpen;
    check.expected.push_back(rules[i].dim);
    if (rules[i].orOne)
      check.orOne.push_back(static_cast<int64_t>(i));
    if (rules[i].orLess)
      check.orLess.push_back(static_cast<int64_t>(i));
  }
  return open ? ctx.add(check, {carrier}, "check_" + inputName.str()) : carrier;
}

ir::ValueId checkedInput(ImportContext &ctx, Input input, llvm::ArrayRef<DimRule> rules) {
  const ir::Shape actual = ctx.fact(input.index).shape;
  return checkDims(ctx, ctx.input(input.index), actual, rules, input.name);
}

} // namespace engine::frontend
