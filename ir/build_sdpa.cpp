#include "ir/build_sdpa.h"

#include <cmath>

namespace engine::ir {

static ValueId withFourAxes(GraphBuilder &b, ValueId x, llvm::StringRef suffix) {
  if (!x.valid() || b.fact(x).rank() >= 4)
    return x;
  Shape dims(4 - b.fact(x).rank(), Dim(1));
  dims.append(b.fact(x).shape.begin(), b.fact(x).shape.end());
  return b.add1(Reshape{dims}, {x}, suffix);
}

// Kernels read a bias of q's type or f32. Narrowing could turn a very low bias into -inf, which
// hides: so it is widened.
static ValueId biasOf(GraphBuilder &b, ValueId bias, DType queryType) {
  if (!bias.valid())
    return bias;
  const DType type = b.fact(bias).dtype;
  if (type == queryType || type == DType::kF32)
    return bias;
  const DType wide = queryType == DType::kF64 ? DType::kF64 : DType::kF32;
  return b.add1(Cast{wide}, {bias}, "bias_cast");
}

static float scaleOf(const GraphBuilder &b, const SdpaParts &parts) {
  if (parts.scale)
    return *parts.scale;
  const Dim &headSize = b.fact(parts.q).shape[3];
  if (!headSize.isConstant())
    throw Error("the head size is " + headSize.str() +
                ", expected a number, or an attribute 'scale' that makes it needless");
  const int64_t size = *headSize.constant();
  return size == 0 ? 1.0f : static_cast<float>(1.0 / std::sqrt(static_cast<double>(size)));
}

SdpaResults buildSdpa(GraphBuilder &b, const SdpaParts &parts) {
  Sdpa op;
  op.scale = scaleOf(b, parts);
  op.softcap = parts.softcap > 0 ? parts.softcap : 0;
  op.band = parts.band;
  op.anchor = parts.anchor;
  op.offset = parts.offset;
  op.scores = parts.scores;
  op.scoreColumns = parts.scoreColumns;

  const ValueId bias = withFourAxes(b, biasOf(b, parts.bias, b.fact(parts.q).dtype), "bias_4d");
  const ValueId mask = withFourAxes(b, parts.mask, "mask_4d");
  const ValueId operands[sdpa::kCount] = {
      parts.q,      parts.k,        parts.v,      parts.kNew,   parts.vNew,       bias,
      mask,         parts.sink,     parts.kScale, parts.vScale, parts.queryStart, parts.queryLen,
      parts.keyLen, parts.keyStart, parts.split};
  const bool wanted[] = {true, parts.scores != Scores::kNone};
  const std::string names[] = {parts.name, parts.scoresName};
  const Values results = b.add(op, operands, "sdpa", names, wanted);
  return {results[0], results.size() > 1 ? results[1] : kNoValue};
}

} // namespace engine::ir
