// Functions of two operands, and conversions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/row_binary.cpp"
#include "hwy/foreach_target.h"

#include "kernels/cpu/row_ops.h"
#include "kernels/cpu/simd-inl.h"

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace engine::cpu {
namespace HWY_NAMESPACE {

// --- Conversions ---------------------------------------------------------------------------------

void widenRow(DType type, const void *from, int64_t count, float *to) {
  widen(type, from, count, to);
}

void narrowRow(const float *from, int64_t count, DType type, void *to) {
  if (type == DType::kF16)
    narrowToHalf(from, count, static_cast<uint16_t *>(to));
  else if (type == DType::kBF16)
    narrowToBFloat16(from, count, static_cast<uint16_t *>(to));
  else
    std::memmove(to, from, count * sizeof(float));
}

// --- Arithmetic ----------------------------------------------------------------------------------

// One vector of an operand, `count` lanes of it at least.
HWY_INLINE VF vectorOf(RowOperand operand, int64_t offset, int64_t count) {
  if (operand.single)
    return hn::Set(F(), operand.data[0]);
  if (count >= kLanes)
    return hn::LoadU(F(), operand.data + offset);
  return loadRest(operand.data + offset, count, 0);
}

template <VF (*function)(VF, VF)>
void binaryRow(RowOperand a, RowOperand b, int64_t count, float *y) {
  const F d;
  int64_t i = 0;
  // Loops of their own: whether an operand is single is not asked for each vector.
  if (!a.single && !b.single) {
    for (; i + kLanes <= count; i += kLanes)
      hn::StoreU(function(hn::LoadU(d, a.data + i), hn::LoadU(d, b.data + i)), d, y + i);
  } else {
    const VF left = hn::Set(d, a.data[0]);
    const VF right = hn::Set(d, b.data[0]);
    for (; i + kLanes <= count; i += kLanes)
      hn::StoreU(function(a.single ? left : hn::LoadU(d, a.data + i),
                          b.single ? right : hn::LoadU(d, b.data + i)),
                 d, y + i);
  }
  if (i == count)
    return;
  float rest[kLanes];
  hn::StoreU(function(vectorOf(a, i, count - i), vectorOf(b, i, count - i)), d, rest);
  std::memcpy(y + i, rest, (count - i) * sizeof(float));
}

HWY_INLINE VF plus(VF a, VF b) { return hn::Add(a, b); }
HWY_INLINE VF minus(VF a, VF b) { return hn::Sub(a, b); }
HWY_INLINE VF times(VF a, VF b) { return hn::Mul(a, b); }
HWY_INLINE VF dividedBy(VF a, VF b) { return hn::Div(a, b); }

// A NaN in either operand is the result.
HWY_INLINE VF smaller(VF a, VF b) {
  return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Lt(a, b)), a, b);
}
HWY_INLINE VF larger(VF a, VF b) {
  return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Gt(a, b)), a, b);
}

void powerRow(RowOperand a, RowOperand b, int64_t count, float *y) {
  if (b.single && b.data[0] == 2)
    return binaryRow<times>(a, a, count, y);
  for (int64_t i = 0; i < count; ++i)
    y[i] = std::pow(a.data[a.single ? 0 : i], b.data[b.single ? 0 : i]);
}

using Mask = hn::Mask<F>;

template <Mask (*function)(VF, VF)>
void compareRow(RowOperand a, RowOperand b, int64_t count, uint8_t *y) {
  const F d;
  const hn::Rebind<uint8_t, F> bytes;
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t lanes = count - i < kLanes ? count - i : kLanes;
    const Mask mask = function(vectorOf(a, i, lanes), vectorOf(b, i, lanes));
    const auto ones = hn::IfThenElseZero(hn::RebindMask(I(), mask), hn::Set(I(), 1));
    uint8_t result[kLanes];
    hn::StoreU(hn::DemoteTo(bytes, ones), bytes, result);
    std::memcpy(y + i, result, lanes);
  }
  static_cast<void>(d);
}

HWY_INLINE Mask equal(VF a, VF b) { return hn::Eq(a, b); }
HWY_INLINE Mask less(VF a, VF b) { return hn::Lt(a, b); }
HWY_INLINE Mask lessOrEqual(VF a, VF b) { return hn::Le(a, b); }
HWY_INLINE Mask greater(VF a, VF b) { return hn::Gt(a, b); }
HWY_INLINE Mask greaterOrEqual(VF a, VF b) { return hn::Ge(a, b); }

void setBinaryOps(RowOps &ops) {
  using K = ir::BinaryKind;
  const auto set = [&](K kind, RowOps::Binary function) {
    ops.binary[static_cast<int>(kind)] = function;
  };
  const auto setCompare = [&](K kind, RowOps::Compare function) {
    ops.compare[static_cast<int>(kind)] = function;
  };
  ops.widen = widenRow;
  ops.narrow = narrowRow;
  set(K::kAdd, binaryRow<plus>);
  set(K::kSub, binaryRow<minus>);
  set(K::kMul, binaryRow<times>);
  set(K::kDiv, binaryRow<dividedBy>);
  set(K::kPow, powerRow);
  set(K::kMin, binaryRow<smaller>);
  set(K::kMax, binaryRow<larger>);
  setCompare(K::kEqual, compareRow<equal>);
  setCompare(K::kLess, compareRow<less>);
  setCompare(K::kLessOrEqual, compareRow<lessOrEqual>);
  setCompare(K::kGreater, compareRow<greater>);
  setCompare(K::kGreaterOrEqual, compareRow<greaterOrEqual>);
}

} // namespace HWY_NAMESPACE
} // namespace engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::cpu {

void setBinaryOps(Isa isa, RowOps &ops) {
#if HWY_TARGETS & HWY_AVX3
  if (isa >= Isa::kAvx512)
    return N_AVX3::setBinaryOps(ops);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (isa >= Isa::kAvx2)
    return N_AVX2::setBinaryOps(ops);
#endif
  static_cast<void>(isa);
  HWY_STATIC_DISPATCH(setBinaryOps)(ops);
}

} // namespace engine::cpu
#endif
