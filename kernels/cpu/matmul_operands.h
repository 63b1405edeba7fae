// What MatMul multiplies, whatever ranks and batches its operands have.
#pragma once

#include "kernels/kernel.h"

namespace engine::cpu {

// A matrix product's operands as matrices with leading batch axes, all of one rank. One matrix on
// the right makes rows of the batch axes on the left, where they lie dense.
struct MatMulOperands {
  View a, b, y;

  bool empty() const { return a.count() == 0 || b.count() == 0 || y.count() == 0; }
  // One product of matrices; then the rank is 2.
  bool isSingle() const { return y.rank == 2; }
};

MatMulOperands matMulOperands(const KernelCall &call);

// The result where there is nothing to add up.
void clearResult(const MatMulOperands &m);

} // namespace engine::cpu
