#include "runtime/compare.h"

#include "frontend/quote.h"
#include "ir/dims_text.h"
#include "ir/error.h"
#include "runtime/elements.h"

#include <cmath>
#include <cstdio>

namespace engine {

namespace {

std::string numberText(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}
std::string numberText(float value) { return numberText(static_cast<double>(value)); }
std::string numberText(int64_t value) { return std::to_string(value); }
std::string numberText(uint64_t value) { return std::to_string(value); }

std::string indexText(llvm::ArrayRef<int64_t> shape, int64_t flat) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return dimsText(index);
}

Tolerance closeFor(DType dtype) {
  switch (dtype) {
  case DType::kF16:
    return {4e-3, 4e-3};
  case DType::kBF16:
    return {3e-2, 3e-2};
  default:
    return {1e-5, 1e-5};
  }
}

Tolerance largerOf(Tolerance a, Tolerance b) {
  return {std::max(a.absolute, b.absolute), std::max(a.relative, b.relative)};
}

bool parseNumber(llvm::StringRef text, double &value) {
  return !text.getAsDouble(value) && std::isfinite(value) && value >= 0;
}

struct Findings {
  int64_t off = 0, first = -1, worst = -1;
  double largest = 0; // NaN where one side is NaN
};

template <class Load>
Findings findDifferences(const Load &load, const Tensor &got, const Tensor &expected,
                         const Tensor &mask, Tolerance tolerance) {
  Findings found;
  const void *a = got.data(), *b = expected.data();
  const uint8_t *counts = mask.defined() ? mask.as<uint8_t>() : nullptr;
  for (int64_t i = 0, n = got.count(); i < n; ++i) {
    const auto x = load(a, i), y = load(b, i);
    if (x == y || (counts && !counts[i]))
      continue;
    double error;
    if constexpr (std::is_floating_point_v<decltype(load(a, i))>) {
      if (std::isnan(x) && std::isnan(y))
        continue;
      error = std::fabs(static_cast<double>(x) - static_cast<double>(y));
      if (std::isfinite(y) &&
          error <= tolerance.absolute + tolerance.relative * std::fabs(static_cast<double>(y)))
        continue;
    } else {
      error = std::fabs(static_cast<double>(x) - static_cast<double>(y));
    }
    if (found.off++ == 0)
      found.first = i;
    // A NaN is the largest error there is.
    if (found.worst < 0 || (!std::isnan(found.largest) && !(error <= found.largest))) {
      found.worst = i;
      found.largest = error;
    }
  }
  return found;
}

} // namespace

std::string typeText(const Tensor &tensor) {
  return std::string(dtypeName(tensor.dtype())) + dimsText(tensor.shape());
}

Tolerances Tolerances::parse(llvm::StringRef text) {
  if (text == "exact")
    return Tolerances(Level::kExact);
  if (text == "close")
    return Tolerances(Level::kClose);
  if (text == "approximate")
    return Tolerances(Level::kApproximate);
  const auto [absolute, relative] = text.split(',');
  Tolerance fixed;
  if (!parseNumber(absolute, fixed.absolute) || !parseNumber(relative, fixed.relative))
    throw Error("tolerance " + frontend::quoted(text) +
                ": expected exact, close, approximate or ATOL,RTOL (two numbers, not negative)");
  return Tolerances(fixed);
}

Tolerance Tolerances::of(DType dtype) const {
  if (!isFloat(dtype))
    return {};
  Tolerance result;
  if (fixed_)
    result = *fixed_;
  else if (level_ != Level::kExact)
    result = closeFor(dtype);
  if (!fixed_ && level_ == Level::kApproximate)
    result = largerOf(result, {1e-4, 5e-4});
  return largerOf(result, least_);
}

std::string compareTensors(llvm::StringRef output, const Tensor &got, const Tensor &expected,
                           const Tolerances &tolerances, const Tensor &mask) {
  const std::string where = "output " + frontend::quoted(output) + ": ";
  if (got.dtype() != expected.dtype() || got.shape() != expected.shape())
    return where + "it is " + typeText(got) + ", expected " + typeText(expected);
  if (mask.defined() && (mask.dtype() != DType::kBool || mask.shape() != got.shape()))
    return where + "its mask (cmp:) is " + typeText(mask) + ", expected bool" +
           dimsText(got.shape());

  const Tolerance tolerance = tolerances.of(got.dtype());
  std::string message;
  withLoader(got.dtype(), [&](auto load) {
    const Findings found = findDifferences(load, got, expected, mask, tolerance);
    if (found.off == 0)
      return;
    auto pair = [&](int64_t i) {
      return indexText(got.shape(), i) + " is " + numberText(load(got.data(), i)) + ", expected " +
             numberText(load(expected.data(), i));
    };
    message = where + std::to_string(found.off) + " of " + std::to_string(got.count()) +
              " elements are off; the first: " + pair(found.first) + "; the largest error is " +
              numberText(found.largest);
    if (found.worst != found.first)
      message += ": " + pair(found.worst);
    if (isFloat(got.dtype()))
      message += " (allowed: " + numberText(tolerance.absolute) + " + " +
                 numberText(tolerance.relative) + " * |expected|)";
  });
  return message;
}

std::vector<std::string> compareOutputs(llvm::ArrayRef<ValueInfo> outputs, const Tensors &got,
                                        const Tensors &expected, const Tensors &masks,
                                        const Tolerances &tolerances) {
  std::vector<std::string> messages;
  for (const ValueInfo &output : outputs) {
    const auto have = got.find(output.name), want = expected.find(output.name);
    const auto mask = masks.find(output.name);
    std::string message;
    if (want == expected.end())
      message = "output " + frontend::quoted(output.name) + ": there is no expected value for it";
    else if (have == got.end())
      message = "output " + frontend::quoted(output.name) + ": the model did not give it";
    else
      message = compareTensors(output.name, have->second, want->second, tolerances,
                               mask == masks.end() ? Tensor() : mask->second);
    if (!message.empty())
      messages.push_back(std::move(message));
  }
  return messages;
}

} // namespace engine
