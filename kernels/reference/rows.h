// The rows of the reference backend, one array a file; table.cpp joins them.
#pragma once

#include "kernels/kernel.h"

namespace engine {

llvm::ArrayRef<KernelRow> referenceElementwiseRows();
llvm::ArrayRef<KernelRow> referenceMatmulRows();
llvm::ArrayRef<KernelRow> referenceLayoutRows();
llvm::ArrayRef<KernelRow> referenceIndexRows();
llvm::ArrayRef<KernelRow> referenceReduceRows();
llvm::ArrayRef<KernelRow> referenceNormRows();
llvm::ArrayRef<KernelRow> referenceQuantRows();
// ApplyRope, CacheLengths, RopePositions, KvWrite, KvEvict, KvQuantize, Sdpa.
llvm::ArrayRef<KernelRow> referenceAttentionRows();

// A kernel is its operator and a function of operator and call: referenceRow<ir::Where,
// runWhere>(). Const, DimValues, If and Unsupported need none: the executor handles them.
namespace reference {

template <class Op> class FunctionKernel final : public Kernel {
public:
  using Function = void (*)(const Op &, const KernelCall &);
  FunctionKernel(const Op &op, Function function) : op_(op), function_(function) {}
  void run(const KernelCall &call) const override { function_(op_, call); }

private:
  Op op_;
  Function function_;
};

template <class Op, void (*Run)(const Op &, const KernelCall &)> KernelRow referenceRow() {
  const auto make = [](const KernelProblem &problem) -> std::unique_ptr<Kernel> {
    return std::make_unique<FunctionKernel<Op>>(problem.op<Op>(), Run);
  };
  return {ir::opIndex<Op>(), "reference", /*acceptsStrides=*/true, /*whyNot=*/nullptr, make};
}

} // namespace reference
} // namespace engine
