// Functions of one operand.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/row_unary.cpp"
#include "hwy/foreach_target.h"

#include "kernels/cpu/row_ops.h"
#include "kernels/cpu/simd-inl.h"

#include "hwy/contrib/math/math-inl.h"

#include <algorithm>
#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace engine::cpu {
namespace HWY_NAMESPACE {

HWY_INLINE VF set(float value) { return hn::Set(F(), value); }

// Highway's functions take no NaN, and not every x.
HWY_INLINE VF keepNan(VF x, VF result) { return hn::IfThenElse(hn::IsNaN(x), x, result); }

HWY_INLINE VF exponential(VF x) {
  const VF limit = set(104.0f);
  return keepNan(x, hn::Exp(F(), hn::IfThenElse(hn::Gt(x, limit), limit, x)));
}

HWY_INLINE VF logarithm(VF x) {
  const F d;
  VF result = hn::Log(d, x);
  result = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), set(-kInfinity), result);
  result =
      hn::IfThenElse(hn::Lt(x, hn::Zero(d)), set(std::numeric_limits<float>::quiet_NaN()), result);
  return hn::IfThenElse(hn::Eq(x, set(kInfinity)), x, keepNan(x, result));
}

// 1 / (1 + exp(-x)) without overflow.
HWY_INLINE VF sigmoid(VF x) {
  const VF e = expNonPositive(hn::Neg(hn::Abs(x)));
  const VF one = set(1.0f);
  const VF numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(F())), e, one);
  return hn::Div(numerator, hn::Add(one, e));
}

// x as a factor of what goes to 0 faster than x to -inf.
HWY_INLINE VF boundedBelow(VF x) {
  const VF lowest = set(std::numeric_limits<float>::lowest());
  return hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
}

// A quotient of polynomials in x^2 on [-4, 4], beyond which erf is 1 in f32.
HWY_INLINE VF erf(VF x) {
  const VF bound = set(4.0f);
  const VF magnitude = hn::Abs(x);
  const VF clamped =
      hn::CopySignToAbs(hn::IfThenElse(hn::Gt(magnitude, bound), bound, magnitude), x);
  const VF s = hn::Mul(clamped, clamped);
  VF p = set(-2.72614225801306e-10f);
  p = hn::MulAdd(p, s, set(2.77068142495902e-08f));
  p = hn::MulAdd(p, s, set(-2.10102402082508e-06f));
  p = hn::MulAdd(p, s, set(-5.69250639462346e-05f));
  p = hn::MulAdd(p, s, set(-7.34990630326855e-04f));
  p = hn::MulAdd(p, s, set(-2.95459980854025e-03f));
  p = hn::MulAdd(p, s, set(-1.60960333262415e-02f));
  VF q = set(-1.45660718464996e-05f);
  q = hn::MulAdd(q, s, set(-2.13374055278905e-04f));
  q = hn::MulAdd(q, s, set(-1.68282697438203e-03f));
  q = hn::MulAdd(q, s, set(-7.37332916720468e-03f));
  q = hn::MulAdd(q, s, set(-1.42647390514189e-02f));
  return keepNan(x, hn::Div(hn::Mul(clamped, p), q));
}

HWY_INLINE VF gelu(VF x) {
  const VF half = hn::Mul(set(0.5f), boundedBelow(x));
  return hn::Mul(half, hn::Add(set(1.0f), erf(hn::Mul(x, set(0.70710678f)))));
}

HWY_INLINE VF geluTanh(VF x) {
  const VF bounded = boundedBelow(x);
  const VF cube = hn::Mul(hn::Mul(bounded, bounded), bounded);
  const VF inner = hn::Mul(set(0.79788456f), hn::MulAdd(set(0.044715f), cube, bounded));
  return hn::Mul(hn::Mul(set(0.5f), bounded), hn::Add(set(1.0f), tanhAll(inner)));
}

HWY_INLINE VF softplus(VF x) {
  const F d;
  const VF positive = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
  return hn::Add(positive, hn::Log1p(d, expNonPositive(hn::Neg(hn::Abs(x)))));
}

HWY_INLINE VF signOf(VF x) {
  const F d;
  const VF zero = hn::Zero(d);
  const VF positive = hn::IfThenElseZero(hn::Gt(x, zero), set(1.0f));
  return keepNan(x, hn::IfThenElse(hn::Lt(x, zero), set(-1.0f), positive));
}

template <VF (*function)(VF)> void mapRow(const float *x, int64_t count, float *y) {
  mapVectors(x, count, y, [](int64_t, VF v) HWY_ATTR { return function(v); });
}

// The reduction of large angles needs more bits than vectors of f32 have.
template <VF (*function)(VF), float (*exact)(float)>
void mapAngles(const float *x, int64_t count, float *y) {
  constexpr float kLargest = 30000;
  const bool small =
      std::all_of(x, x + count, [](float angle) { return std::abs(angle) <= kLargest; });
  if (small)
    return mapRow<function>(x, count, y);
  for (int64_t i = 0; i < count; ++i)
    y[i] = exact(x[i]);
}

HWY_INLINE VF absolute(VF x) { return hn::Abs(x); }
HWY_INLINE VF ceiling(VF x) { return hn::Ceil(x); }
HWY_INLINE VF floored(VF x) { return hn::Floor(x); }
HWY_INLINE VF rounded(VF x) { return hn::Round(x); }
HWY_INLINE VF negated(VF x) { return hn::Neg(x); }
HWY_INLINE VF root(VF x) { return hn::Sqrt(x); }
HWY_INLINE VF cosine(VF x) { return hn::Cos(F(), x); }
HWY_INLINE VF sine(VF x) { return hn::Sin(F(), x); }
HWY_INLINE VF reciprocal(VF x) { return hn::Div(set(1.0f), x); }
HWY_INLINE VF relu(VF x) { return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(F())), x); }
HWY_INLINE VF silu(VF x) { return hn::Mul(boundedBelow(x), sigmoid(x)); }

void setUnaryOps(RowOps &ops) {
  using K = ir::UnaryKind;
  const auto set = [&](K kind, RowOps::Unary function) {
    ops.unary[static_cast<int>(kind)] = function;
  };
  set(K::kAbs, mapRow<absolute>);
  set(K::kCeil, mapRow<ceiling>);
  set(K::kCos, mapAngles<cosine, std::cos>);
  set(K::kErf, mapRow<erf>);
  set(K::kExp, mapRow<exponential>);
  set(K::kFloor, mapRow<floored>);
  set(K::kGelu, mapRow<gelu>);
  set(K::kGeluTanh, mapRow<geluTanh>);
  set(K::kLog, mapRow<logarithm>);
  set(K::kNeg, mapRow<negated>);
  set(K::kReciprocal, mapRow<reciprocal>);
  set(K::kRelu, mapRow<relu>);
  set(K::kRound, mapRow<rounded>);
  set(K::kSigmoid, mapRow<sigmoid>);
  set(K::kSign, mapRow<signOf>);
  set(K::kSilu, mapRow<silu>);
  set(K::kSin, mapAngles<sine, std::sin>);
  set(K::kSoftplus, mapRow<softplus>);
  set(K::kSqrt, mapRow<root>);
  set(K::kTanh, mapRow<tanhAll>);
}

} // namespace HWY_NAMESPACE
} // namespace engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::cpu {

void setUnaryOps(Isa isa, RowOps &ops) {
#if HWY_TARGETS & HWY_AVX3
  if (isa >= Isa::kAvx512)
    return N_AVX3::setUnaryOps(ops);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (isa >= Isa::kAvx2)
    return N_AVX2::setUnaryOps(ops);
#endif
  static_cast<void>(isa);
  HWY_STATIC_DISPATCH(setUnaryOps)(ops);
}

} // namespace engine::cpu
#endif
