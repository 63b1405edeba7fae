// The one place that builds an Sdpa node (design.md, rule 3): importers and patterns state what
// they found, and the conventions that kernels rely on are applied here.
#pragma once

#include "ir/graph.h"

namespace engine::ir {

// Operands as ops.h names them; absent ones are kNoValue.
struct SdpaParts {
  ValueId q, k, v, kNew, vNew, bias, mask, sink, kScale, vScale;
  ValueId queryStart, queryLen, keyLen, keyStart, split;

  std::optional<float> scale; // absent: 1 / sqrt(head size)
  float softcap = 0;          // 0 and below: none
  Band band;
  Anchor anchor = Anchor::kOffset;
  Dim offset;
  Scores scores = Scores::kNone;
  Dim scoreColumns;

  std::string name, scoresName; // of the results; "" keeps the default
};

struct SdpaResults {
  ValueId y;      // [B, N, S, Hv] of q's type
  ValueId scores; // kNoValue without
};

// bias may be of any float type and bias and mask of any rank up to 4: aligned at the end, as numpy
// broadcasts. Throws Error where the scale is left to a head size that is not known.
SdpaResults buildSdpa(GraphBuilder &b, const SdpaParts &parts);

} // namespace engine::ir
