#include "kernels/cpu/row_ops.h"

namespace engine::cpu {

static RowOps makeRowOps(Isa isa) {
  RowOps ops = {};
  setUnaryOps(isa, ops);
  setBinaryOps(isa, ops);
  setReduceOps(isa, ops);
  return ops;
}

const RowOps &rowOps(Isa isa) {
  static const RowOps base = makeRowOps(Isa::kBase);
  static const RowOps avx2 = makeRowOps(Isa::kAvx2);
  static const RowOps avx512 = makeRowOps(Isa::kAvx512);
  if (isa >= Isa::kAvx512)
    return avx512;
  return isa == Isa::kAvx2 ? avx2 : base;
}

} // namespace engine::cpu
