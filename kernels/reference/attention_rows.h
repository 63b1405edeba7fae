// The reference kernels around attention, one function an operator;
// kernels/reference/attention_rows.cpp lists them.
#pragma once

#include "kernels/reference/support.h"

namespace engine::reference {

void runSdpa(const ir::Sdpa &op, const KernelCall &call);                   // sdpa.cpp
void runApplyRope(const ir::ApplyRope &op, const KernelCall &call);         // rope.cpp
void runRopePositions(const ir::RopePositions &op, const KernelCall &call); // cache_lengths.cpp
void runCacheLengths(const ir::CacheLengths &op, const KernelCall &call);   // cache_lengths.cpp
void runKvWrite(const ir::KvWrite &op, const KernelCall &call);             // kv.cpp
void runKvEvict(const ir::KvEvict &op, const KernelCall &call);             // kv.cpp
void runKvQuantize(const ir::KvQuantize &op, const KernelCall &call);       // kv.cpp
void runCheckDims(const ir::CheckDims &op, const KernelCall &call);         // checks.cpp
void runCheckLengths(const ir::CheckLengths &op, const KernelCall &call);   // checks.cpp

} // namespace engine::reference
