// Unary, Binary, Where, Cast: element by element, operands broadcast to the result's dims.
#include "kernels/reference/support.h"

#include <array>
#include <cmath>
#include <limits>

namespace engine {
namespace reference {
namespace {

template <class C> using RowBuffer = std::array<C, kMaxRow>;
template <class C> using UnaryFunction = C (*)(C);
template <class C> using BinaryFunction = C (*)(C, C);

// --- Unary ---------------------------------------------------------------------------------------

double sigmoid(double x) {
  if (x >= 0)
    return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double gelu(double x) { return 0.5 * x * std::erfc(-x * M_SQRT1_2); }

double geluTanh(double x) {
  return 0.5 * x * (1 + std::tanh(M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x)));
}

double signOf(double x) { return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0)); }

// x * sigmoid(x), with the limit 0 at -inf.
double silu(double x) { return std::isinf(x) && x < 0 ? -0.0 : x * sigmoid(x); }

double floatUnary(ir::UnaryKind kind, double x) {
  using K = ir::UnaryKind;
  switch (kind) {
  case K::kAbs:
    return std::abs(x);
  case K::kCeil:
    return std::ceil(x);
  case K::kCos:
    return std::cos(x);
  case K::kErf:
    return std::erf(x);
  case K::kExp:
    return std::exp(x);
  case K::kFloor:
    return std::floor(x);
  case K::kGelu:
    return std::isinf(x) && x < 0 ? -0.0 : gelu(x);
  case K::kGeluTanh:
    return std::isinf(x) && x < 0 ? -0.0 : geluTanh(x);
  case K::kIsInf:
    return std::isinf(x);
  case K::kIsNan:
    return std::isnan(x);
  case K::kLog:
    return std::log(x);
  case K::kNeg:
    return -x;
  case K::kReciprocal:
    return 1 / x;
  case K::kRelu:
    return x < 0 ? 0 : x; // NaN stays NaN
  case K::kRound:
    return std::nearbyint(x); // half to even
  case K::kSigmoid:
    return sigmoid(x);
  case K::kSign:
    return signOf(x);
  case K::kSilu:
    return silu(x);
  case K::kSin:
    return std::sin(x);
  case K::kSoftplus:
    return softplus(x);
  case K::kSqrt:
    return std::sqrt(x);
  case K::kTanh:
    return std::tanh(x);
  case K::kBitwiseNot:
  case K::kNot:
    break;
  }
  throw Error::internal("unary operator without a kernel for floats");
}

// Two's complement in 64 bits: storing keeps the low bits, whatever the type's width.
template <class C> C integerUnary(ir::UnaryKind kind, C x) {
  using K = ir::UnaryKind;
  const uint64_t bits = static_cast<uint64_t>(x);
  switch (kind) {
  case K::kAbs:
    return x < C(0) ? static_cast<C>(-bits) : x;
  case K::kBitwiseNot:
    return static_cast<C>(~bits);
  case K::kCeil:
  case K::kFloor:
  case K::kRound:
    return x;
  case K::kNeg:
    return static_cast<C>(-bits);
  case K::kNot:
    return x == C(0);
  case K::kRelu:
    return std::max(x, C(0));
  case K::kSign:
    return static_cast<C>((x > C(0)) - (x < C(0)));
  default:
    throw Error::internal("unary operator without a kernel for integers");
  }
}

void runUnary(const ir::Unary &op, const KernelCall &call) {
  const View x = call.operand(0), y = call.result(0);
  withCompute(x.dtype, [&](auto compute) {
    using C = typename decltype(compute)::type;
    RowBuffer<C> values;
    forEachRow({y, x}, [&](llvm::ArrayRef<Row> rows) {
      load(rows[1], values.data());
      for (int64_t i = 0; i < rows[1].count; ++i) {
        if constexpr (std::is_same_v<C, double>)
          values[i] = floatUnary(op.kind, values[i]);
        else
          values[i] = integerUnary(op.kind, values[i]);
      }
      store(rows[0], values.data());
    });
  });
}

// --- Binary --------------------------------------------------------------------------------------

// NaN in either operand gives NaN.
double minOf(double a, double b) { return std::isnan(a) || a < b ? a : b; }
double maxOf(double a, double b) { return std::isnan(a) || a > b ? a : b; }

double flooredMod(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0)
    return std::copysign(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

// The comparisons, for every type to compute in; absent: another kind.
template <class C> std::optional<C> compare(ir::BinaryKind kind, C a, C b) {
  using K = ir::BinaryKind;
  switch (kind) {
  case K::kEqual:
    return a == b;
  case K::kLess:
    return a < b;
  case K::kLessOrEqual:
    return a <= b;
  case K::kGreater:
    return a > b;
  case K::kGreaterOrEqual:
    return a >= b;
  default:
    return std::nullopt;
  }
}

double floatBinary(ir::BinaryKind kind, double a, double b) {
  using K = ir::BinaryKind;
  switch (kind) {
  case K::kAdd:
    return a + b;
  case K::kSub:
    return a - b;
  case K::kMul:
    return a * b;
  case K::kDiv:
    return a / b;
  case K::kPow:
    return std::pow(a, b);
  case K::kMod:
    return flooredMod(a, b);
  case K::kFmod:
    return std::fmod(a, b);
  case K::kMin:
    return minOf(a, b);
  case K::kMax:
    return maxOf(a, b);
  default:
    if (const auto result = compare(kind, a, b))
      return *result;
    throw Error::internal("binary operator without a kernel for floats");
  }
}

template <class C> void checkDivisor(C b) {
  if (b == C(0))
    throw Error("integer division by 0").at("operand 'b'");
}

// -1 as the divisor is apart: the lowest integer has no counterpart.
template <class C> bool isMinusOne(C b) { return std::is_signed_v<C> && b == C(-1); }

template <class C> C divided(C a, C b) {
  checkDivisor(b);
  return isMinusOne(b) ? static_cast<C>(-static_cast<uint64_t>(a)) : static_cast<C>(a / b);
}

template <class C> C remainder(C a, C b, bool signOfDivisor) {
  checkDivisor(b);
  const C r = isMinusOne(b) ? C(0) : static_cast<C>(a % b);
  return signOfDivisor && r != C(0) && (r < C(0)) != (b < C(0)) ? static_cast<C>(r + b) : r;
}

// A negative exponent truncates what f64 gives; others wrap as multiplication does.
template <class C> C power(C base, C exponent) {
  if (std::is_signed_v<C> && exponent < C(0))
    return static_cast<C>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (uint64_t left = static_cast<uint64_t>(exponent); left != 0; left >>= 1) {
    if ((left & 1) != 0)
      result *= square;
    square *= square;
  }
  return static_cast<C>(result);
}

template <class C> C integerBinary(ir::BinaryKind kind, C a, C b) {
  using K = ir::BinaryKind;
  const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (kind) {
  case K::kAdd:
    return static_cast<C>(x + y);
  case K::kSub:
    return static_cast<C>(x - y);
  case K::kMul:
    return static_cast<C>(x * y);
  case K::kDiv:
    return divided(a, b);
  case K::kPow:
    return power(a, b);
  case K::kMod:
    return remainder(a, b, /*signOfDivisor=*/true);
  case K::kFmod:
    return remainder(a, b, /*signOfDivisor=*/false);
  case K::kMin:
    return std::min(a, b);
  case K::kMax:
    return std::max(a, b);
  case K::kAnd:
  case K::kBitwiseAnd:
    return static_cast<C>(x & y);
  case K::kOr:
  case K::kBitwiseOr:
    return static_cast<C>(x | y);
  case K::kXor:
  case K::kBitwiseXor:
    return static_cast<C>(x ^ y);
  case K::kShiftLeft:
    return y < 64 ? static_cast<C>(x << y) : C(0);
  case K::kShiftRight: // past the width only the sign is left
    return static_cast<C>(a >> std::min<uint64_t>(y, 63) >> (y < 64 ? 0 : 1));
  default:
    return compare(kind, a, b).value();
  }
}

// What both operands compute in: the first's type, save that a power with a float exponent is one
// of floats.
DType computeType(ir::BinaryKind kind, const View &a, const View &b) {
  return kind == ir::BinaryKind::kPow && isFloat(b.dtype) ? DType::kF64 : a.dtype;
}

void runBinary(const ir::Binary &op, const KernelCall &call) {
  const View y = call.result(0);
  const View a = broadcastTo(call.operand(0), dimsOf(y)),
             b = broadcastTo(call.operand(1), dimsOf(y));
  withCompute(computeType(op.kind, a, b), [&](auto compute) {
    using C = typename decltype(compute)::type;
    RowBuffer<C> left, right;
    forEachRow({y, a, b}, [&](llvm::ArrayRef<Row> rows) {
      load(rows[1], left.data());
      load(rows[2], right.data());
      for (int64_t i = 0; i < rows[0].count; ++i) {
        if constexpr (std::is_same_v<C, double>)
          left[i] = floatBinary(op.kind, left[i], right[i]);
        else
          left[i] = integerBinary(op.kind, left[i], right[i]);
      }
      store(rows[0], left.data());
    });
  });
}

// --- Where, Cast ---------------------------------------------------------------------------------

void runWhere(const ir::Where &, const KernelCall &call) {
  const View y = call.result(0);
  const View condition = broadcastTo(call.operand(0), dimsOf(y));
  const View a = broadcastTo(call.operand(1), dimsOf(y)),
             b = broadcastTo(call.operand(2), dimsOf(y));
  withCompute(y.dtype, [&](auto compute) {
    using C = typename decltype(compute)::type;
    RowBuffer<uint64_t> chosen;
    RowBuffer<C> left, right;
    forEachRow({y, condition, a, b}, [&](llvm::ArrayRef<Row> rows) {
      load(rows[1], chosen.data());
      load(rows[2], left.data());
      load(rows[3], right.data());
      for (int64_t i = 0; i < rows[0].count; ++i)
        left[i] = chosen[i] != 0 ? left[i] : right[i];
      store(rows[0], left.data());
    });
  });
}

void runCast(const ir::Cast &, const KernelCall &call) {
  const View x = call.operand(0), y = call.result(0);
  withCompute(x.dtype, [&](auto compute) {
    using C = typename decltype(compute)::type;
    RowBuffer<C> values;
    forEachRow({y, x}, [&](llvm::ArrayRef<Row> rows) {
      load(rows[1], values.data());
      store(rows[0], values.data());
    });
  });
}

} // namespace
} // namespace reference

llvm::ArrayRef<KernelRow> referenceElementwiseRows() {
  using namespace reference;
  static const KernelRow kRows[] = {
      referenceRow<ir::Unary, runUnary>(),
      referenceRow<ir::Binary, runBinary>(),
      referenceRow<ir::Where, runWhere>(),
      referenceRow<ir::Cast, runCast>(),
  };
  return kRows;
}

} // namespace engine
