#include "kernels/check_dims.h"

#include "ir/dims_text.h"

namespace engine {

namespace {

using Dims = llvm::SmallVector<int64_t, kMaxRank>;

Dims evaluated(const ir::Shape &shape, const ir::SymbolValues &symbols) {
  Dims dims;
  for (const ir::Dim &dim : shape)
    dims.push_back(dim.evaluate(symbols));
  return dims;
}

bool has(const ir::Ints &axes, size_t axis) {
  return llvm::is_contained(axes, static_cast<int64_t>(axis));
}

bool fits(const ir::CheckDims &op, const Dims &actual, const Dims &expected, size_t i) {
  if (actual[i] == expected[i] || (has(op.orOne, i) && actual[i] == 1))
    return true;
  return has(op.orLess, i) && actual[i] < expected[i];
}

std::string describe(const ir::CheckDims &op, const Dims &expected) {
  std::string text = "[";
  for (size_t i = 0; i < expected.size(); ++i) {
    text += i ? ", " : "";
    text += has(op.orLess, i) ? "at most " : "";
    text += std::to_string(expected[i]);
    text += has(op.orOne, i) ? " or 1" : "";
  }
  return text + "]";
}

} // namespace

void checkDims(const ir::CheckDims &op, const ir::SymbolValues &symbols) {
  const Dims actual = evaluated(op.actual, symbols);
  const Dims expected = evaluated(op.expected, symbols);
  for (size_t i = 0; i < actual.size(); ++i)
    if (!fits(op, actual, expected, i))
      throw Error("shape " + dimsText(actual) + ", expected " + describe(op, expected)).at(op.item);
}

} // namespace engine
