// Sums and extrema of rows, and what norms, softmax and rotary embeddings do with them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/row_reduce.cpp"
#include "hwy/foreach_target.h"

#include "kernels/cpu/row_ops.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace engine::cpu {
namespace HWY_NAMESPACE {

// Folds x into accumulators that begin as `start`, four of them: the latency of one addition is not
// what limits it. Lanes beyond the end of the row hold `fill`.
template <class Combine>
HWY_INLINE float fold(const float *x, int64_t count, float start, float fill,
                      const Combine &combine) {
  const F d;
  VF totals[4] = {hn::Set(d, start), hn::Set(d, start), hn::Set(d, start), hn::Set(d, start)};
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    for (int k = 0; k < 4; ++k)
      totals[k] = combine(totals[k], hn::LoadU(d, x + i + k * kLanes));
  }
  for (; i + kLanes <= count; i += kLanes)
    totals[0] = combine(totals[0], hn::LoadU(d, x + i));
  if (i < count)
    totals[1] = combine(totals[1], loadRest(x + i, count - i, fill));
  float lanes[4 * kLanes];
  for (int k = 0; k < 4; ++k)
    hn::StoreU(totals[k], d, lanes + k * kLanes);
  return Combine::finish(lanes, 4 * kLanes);
}

struct Plus {
  HWY_INLINE VF operator()(VF total, VF x) const { return hn::Add(total, x); }
  static float finish(const float *lanes, int count) {
    float total = 0;
    for (int i = 0; i < count; ++i)
      total += lanes[i];
    return total;
  }
};

// Of x - center; lanes beyond the end of a row are loaded as center.
struct PlusSquare {
  VF center;
  HWY_INLINE VF operator()(VF total, VF x) const {
    const VF off = hn::Sub(x, center);
    return hn::MulAdd(off, off, total);
  }
  static float finish(const float *lanes, int count) { return Plus::finish(lanes, count); }
};

template <bool largest> struct Extremum {
  // A NaN stays in its lane.
  HWY_INLINE VF operator()(VF best, VF x) const {
    const auto isBetter = largest ? hn::Lt(best, x) : hn::Gt(best, x);
    return hn::IfThenElse(hn::Or(isBetter, hn::IsNaN(x)), x, best);
  }
  static float finish(const float *lanes, int count) {
    float best = lanes[0];
    for (int i = 0; i < count; ++i) {
      if (lanes[i] != lanes[i])
        return lanes[i];
      if (largest ? best < lanes[i] : best > lanes[i])
        best = lanes[i];
    }
    return best;
  }
};

float sum(const float *x, int64_t count) { return fold(x, count, 0, 0, Plus()); }

float sumSquares(const float *x, float center, int64_t count) {
  return fold(x, count, 0, center, PlusSquare{hn::Set(F(), center)});
}

float maximum(const float *x, int64_t count) {
  return fold(x, count, -kInfinity, -kInfinity, Extremum<true>());
}

float minimum(const float *x, int64_t count) {
  return fold(x, count, kInfinity, kInfinity, Extremum<false>());
}

void normalize(const float *x, float center, float factor, const float *scale, const float *bias,
               int64_t count, float *y) {
  const F d;
  const VF c = hn::Set(d, center);
  const VF f = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const VF v = hn::Mul(hn::Sub(hn::LoadU(d, x + i), c), f);
    const VF s = hn::LoadU(d, scale + i);
    const VF result = bias ? hn::MulAdd(v, s, hn::LoadU(d, bias + i)) : hn::Mul(v, s);
    hn::StoreU(result, d, y + i);
  }
  for (; i < count; ++i)
    y[i] = (x[i] - center) * factor * scale[i] + (bias ? bias[i] : 0);
}

float expMinus(const float *x, float maximum, int64_t count, float *y) {
  const F d;
  const VF m = hn::Set(d, maximum);
  VF total = hn::Zero(d);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const VF e = expNonPositive(hn::Sub(hn::LoadU(d, x + i), m));
    total = hn::Add(total, e);
    hn::StoreU(e, d, y + i);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, total));
  if (i == count)
    return sum;
  float rest[kLanes];
  hn::StoreU(expNonPositive(hn::Sub(loadRest(x + i, count - i, maximum), m)), d, rest);
  for (int64_t lane = 0; i + lane < count; ++lane)
    sum += rest[lane];
  std::memcpy(y + i, rest, (count - i) * sizeof(float));
  return sum;
}

// --- Rotation ------------------------------------------------------------------------------------

struct Pair {
  VF a, b;
};

HWY_INLINE Pair rotated(VF a, VF b, VF cos, VF sin) {
  return {hn::NegMulAdd(b, sin, hn::Mul(a, cos)), hn::MulAdd(a, sin, hn::Mul(b, cos))};
}

void rotateHalves(const float *a, const float *b, const float *cos, const float *sin, int64_t count,
                  float *ya, float *yb) {
  const F d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Pair p = rotated(hn::LoadU(d, a + i), hn::LoadU(d, b + i), hn::LoadU(d, cos + i),
                           hn::LoadU(d, sin + i));
    hn::StoreU(p.a, d, ya + i);
    hn::StoreU(p.b, d, yb + i);
  }
  for (; i < count; ++i) {
    const float real = a[i] * cos[i] - b[i] * sin[i];
    yb[i] = a[i] * sin[i] + b[i] * cos[i];
    ya[i] = real;
  }
}

void rotatePairs(const float *x, const float *cos, const float *sin, int64_t count, float *y) {
  const F d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    VF a, b;
    hn::LoadInterleaved2(d, x + 2 * i, a, b);
    const Pair p = rotated(a, b, hn::LoadU(d, cos + i), hn::LoadU(d, sin + i));
    hn::StoreInterleaved2(p.a, p.b, d, y + 2 * i);
  }
  for (; i < count; ++i) {
    const float real = x[2 * i] * cos[i] - x[2 * i + 1] * sin[i];
    y[2 * i + 1] = x[2 * i] * sin[i] + x[2 * i + 1] * cos[i];
    y[2 * i] = real;
  }
}

void setReduceOps(RowOps &ops) {
  ops.sum = sum;
  ops.sumSquares = sumSquares;
  ops.maximum = maximum;
  ops.minimum = minimum;
  ops.normalize = normalize;
  ops.expMinus = expMinus;
  ops.rotateHalves = rotateHalves;
  ops.rotatePairs = rotatePairs;
}

} // namespace HWY_NAMESPACE
} // namespace engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::cpu {

void setReduceOps(Isa isa, RowOps &ops) {
#if HWY_TARGETS & HWY_AVX3
  if (isa >= Isa::kAvx512)
    return N_AVX3::setReduceOps(ops);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (isa >= Isa::kAvx2)
    return N_AVX2::setReduceOps(ops);
#endif
  static_cast<void>(isa);
  HWY_STATIC_DISPATCH(setReduceOps)(ops);
}

} // namespace engine::cpu
#endif
