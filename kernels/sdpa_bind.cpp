#include "kernels/sdpa_bind.h"

#include "ir/dims_text.h"
#include "ir/error.h"

namespace engine {

namespace {

using ir::sdpa::Operand;
namespace sdpa = ir::sdpa;

const char *nameOf(Operand operand) {
  return ir::operandSpecs(ir::Op(ir::Sdpa()))[operand].name.c_str();
}

[[noreturn]] void refuse(Operand operand, const std::string &fault) {
  throw Error(fault).at(std::string("operand '") + nameOf(operand) + "'");
}

std::string shapeOf(const View &view) {
  return "shape " + dimsText({view.dims, static_cast<size_t>(view.rank)});
}

void expectDim(Operand operand, const View &view, int axis, int64_t expected) {
  if (view.dims[axis] != expected)
    refuse(operand, shapeOf(view) + ", expected " + std::to_string(expected) + " at axis " +
                        std::to_string(axis));
}

// q, k, v and the second segments.
void checkTensors(const SdpaProblem &p) {
  const int64_t batch = p.batch(), kvHeads = p.k.dims[1], rows = p.k.dims[2];
  expectDim(sdpa::k, p.k, 0, batch);
  expectDim(sdpa::v, p.v, 0, batch);
  expectDim(sdpa::v, p.v, 1, kvHeads);
  expectDim(sdpa::v, p.v, 2, rows);
  if (kvHeads == 0 ? p.heads() != 0 : p.heads() % kvHeads != 0)
    refuse(sdpa::k, shapeOf(p.k) + ", expected a number of heads that divides the query's " +
                        std::to_string(p.heads()));
  const int64_t codes = p.cacheBits() == 4 ? 2 : 1; // a byte
  if (p.k.dims[3] * codes != p.headSize())
    refuse(sdpa::k, shapeOf(p.k) + ", expected rows of the query's head size " +
                        std::to_string(p.headSize()));
  if (!p.kNew.present())
    return;
  for (int axis : {0, 1, 3}) {
    expectDim(sdpa::kNew, p.kNew, axis, p.k.dims[axis]);
    expectDim(sdpa::vNew, p.vNew, axis, p.v.dims[axis]);
  }
  expectDim(sdpa::vNew, p.vNew, 2, p.kNew.dims[2]);
}

// [B, N, S, C], stride 0 where an axis before the last is 1.
View broadcastMask(Operand operand, const View &view, const SdpaProblem &p) {
  if (!view.present())
    return view;
  const int64_t expected[] = {p.batch(), p.heads(), p.queries()};
  View out = view;
  out.rank = 4;
  const int missing = 4 - view.rank;
  if (missing < 0 || view.rank == 0)
    refuse(operand, shapeOf(view) + ", expected rank 1 to 4");
  for (int axis = 0; axis < 4; ++axis) {
    const int own = axis - missing;
    const int64_t dim = own < 0 ? 1 : view.dims[own];
    const bool stretched = axis < 3 && dim == 1;
    if (axis < 3 && !stretched && dim != expected[axis])
      refuse(operand, shapeOf(view) + ", expected a shape that broadcasts to [" +
                          std::to_string(expected[0]) + ", " + std::to_string(expected[1]) + ", " +
                          std::to_string(expected[2]) + ", columns]");
    out.dims[axis] = stretched ? expected[axis] : dim;
    out.strides[axis] = own < 0 || stretched ? 0 : view.strides[own];
  }
  return out;
}

void checkScale(Operand operand, const View &scale, int64_t channels) {
  const int64_t count = scale.count();
  if (scale.present() && count != 1 && count != channels)
    refuse(operand, shapeOf(scale) + ", expected 1 or " + std::to_string(channels) + " elements");
}

// The lengths of an operand, each in [0, limit]; queryStart and keyStart may be anything.
const int64_t *lengthsOf(const KernelCall &call, Operand operand, int64_t batch,
                         int64_t limit = INT64_MAX) {
  const View view = call.operand(operand);
  if (!view.present())
    return nullptr;
  if (view.rank != 1 || view.dims[0] != batch || view.dtype != DType::kI64)
    refuse(operand, shapeOf(view) + " of " + dtypeName(view.dtype) + ", expected i64 [" +
                        std::to_string(batch) + "]");
  if (!view.isDense())
    throw Error::internal(std::string("lengths '") + nameOf(operand) + "' are strided");
  const int64_t *values = view.as<const int64_t>();
  for (int64_t b = 0; limit != INT64_MAX && b < batch; ++b)
    if (values[b] < 0 || values[b] > limit)
      refuse(operand, "value " + std::to_string(values[b]) + " of entry " + std::to_string(b) +
                          " is out of range [0, " + std::to_string(limit) + "]");
  return values;
}

// New rows beyond those that kNew has would be read behind its end.
void checkSegments(const SdpaProblem &p) {
  if (!p.kNew.present())
    return;
  for (int64_t b = 0; b < p.batch(); ++b) {
    const int64_t split = p.split ? p.split[b] : p.k.dims[2];
    const int64_t keys = p.keyLen ? p.keyLen[b] : split;
    if (keys - split > p.kNew.dims[2])
      refuse(sdpa::keyLen, "value " + std::to_string(keys) + " of entry " + std::to_string(b) +
                               ", expected at most split " + std::to_string(split) + " + " +
                               std::to_string(p.kNew.dims[2]) + " new rows");
  }
}

void bindLengths(const KernelCall &call, SdpaProblem &p) {
  const int64_t batch = p.batch();
  const int64_t rows = p.k.dims[2] + (p.kNew.present() ? p.kNew.dims[2] : 0);
  p.queryStart = lengthsOf(call, sdpa::queryStart, batch);
  p.queryLen = lengthsOf(call, sdpa::queryLen, batch, p.queries());
  p.keyLen = lengthsOf(call, sdpa::keyLen, batch, rows);
  p.keyStart = lengthsOf(call, sdpa::keyStart, batch);
  p.split = lengthsOf(call, sdpa::split, batch, p.k.dims[2]);
  checkSegments(p);
}

} // namespace

SdpaProblem makeSdpaProblem(const ir::Sdpa &op, const KernelCall &call) {
  SdpaProblem p;
  p.q = call.operand(sdpa::q);
  p.k = call.operand(sdpa::k);
  p.v = call.operand(sdpa::v);
  p.kNew = call.operand(sdpa::kNew);
  p.vNew = call.operand(sdpa::vNew);
  p.sink = call.operand(sdpa::sink);
  p.kScale = call.operand(sdpa::kScale);
  p.vScale = call.operand(sdpa::vScale);
  p.out = call.result(0);
  p.scores = call.result(1);
  checkTensors(p);
  p.bias = broadcastMask(sdpa::bias, call.operand(sdpa::bias), p);
  p.mask = broadcastMask(sdpa::mask, call.operand(sdpa::mask), p);
  if (p.sink.present())
    expectDim(sdpa::sink, p.sink, 0, p.heads());
  checkScale(sdpa::kScale, p.kScale, p.kvHeads() * p.headSize());
  checkScale(sdpa::vScale, p.vScale, p.kvHeads() * p.vHeadSize());
  bindLengths(call, p);

  p.anchor = static_cast<QueryAnchor>(op.anchor);
  p.scoreMode = p.scores.present() ? static_cast<ScoreMode>(op.scores) : ScoreMode::kNone;
  p.offset = op.offset.evaluate(call.symbols);
  p.band = op.band;
  p.scale = op.scale;
  p.softcap = op.softcap;
  return p;
}

} // namespace engine
