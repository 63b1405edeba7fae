// The rows of the CPU backend, one array a file; rows.cpp joins them. What has no row here runs on
// its reference kernel.
#pragma once

#include "kernels/kernel.h"

namespace engine::cpu {

llvm::ArrayRef<KernelRow> gemvRows(); // MatMul: before matmulRows
llvm::ArrayRef<KernelRow> matmulRows();
llvm::ArrayRef<KernelRow> normRows();
llvm::ArrayRef<KernelRow> pointwiseRows();
llvm::ArrayRef<KernelRow> quantRows();
llvm::ArrayRef<KernelRow> ropeRows();
llvm::ArrayRef<KernelRow> sdpaRows();

} // namespace engine::cpu
