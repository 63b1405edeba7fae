// The fused attention kernel of the CPU backend. It walks the keys in tiles with a running maximum,
// so scores of queries x keys never exist, and takes every part of an SdpaProblem but the score
// output.
#pragma once

#include "kernels/isa.h"
#include "kernels/sdpa_problem.h"

#include <cstdint>

namespace engine::cpu {

// Null when the kernel can run the problem, else a sentence that says why not.
const char *attentionWhyNot(const SdpaProblem &problem);

// Depends on shapes and `threads` only, and does not shrink when an axis grows: what was asked for
// at the largest shapes serves every smaller run.
int64_t attentionScratchBytes(const SdpaProblem &problem, int threads);

// `scratch` holds attentionScratchBytes(problem, threads) bytes at an address divisible by 64. The
// machine must have `isa`. The same threads and isa give the same bits.
void attention(const SdpaProblem &problem, int threads, void *scratch, Isa isa = bestIsa());

} // namespace engine::cpu
