#include "kernels/cuda/make_sdpa_args.h"

#include <algorithm>

namespace engine::cuda {
namespace {

constexpr int64_t kMaxHeadSize = 256;
constexpr int64_t kMaxRows = INT32_MAX - 1024; // kernels count keys and queries in 32 bits

RowTensor rows(const View &view) {
  if (!view.present())
    return {};
  return {view.data, view.strides[0], view.strides[1], view.strides[2]};
}

ScoreTensor scores(const View &view) {
  ScoreTensor tensor;
  if (!view.present())
    return tensor;
  tensor.data = view.data;
  tensor.dtype = view.dtype;
  std::copy(view.strides, view.strides + 4, tensor.stride);
  return tensor;
}

std::string nameOf(DType type) { return dtypeInfo(type).name; }

// Rows that cp.async can read by 16 bytes.
std::string whyNotAligned(const View &view, const char *name, int64_t bytes) {
  if (!view.present() || view.count() == 0)
    return "";
  const int64_t elements = bytes * 8 / dtypeInfo(view.dtype).bits;
  const std::string text = name;
  if (view.dims[3] != 1 && view.strides[3] != 1)
    return text + " has channels " + std::to_string(view.strides[3]) + " elements apart, not dense";
  for (int axis = 0; axis < 3; ++axis) {
    if (view.dims[axis] != 1 && view.strides[axis] % elements != 0)
      return text + " has a stride of " + std::to_string(view.strides[axis]) +
             " elements, not a multiple of " + std::to_string(elements);
  }
  if (reinterpret_cast<uintptr_t>(view.data) % bytes != 0)
    return text + " starts at an address that is no multiple of " + std::to_string(bytes);
  return "";
}

} // namespace

SdpaArgs makeSdpaArgs(const SdpaProblem &p) {
  SdpaArgs a;
  a.q = rows(p.q);
  a.k = rows(p.k);
  a.v = rows(p.v);
  a.kNew = rows(p.kNew);
  a.vNew = rows(p.vNew);
  a.out = rows(p.out);
  a.bias = scores(p.bias);
  a.mask = scores(p.mask);
  if (p.sink.present()) {
    a.sink = p.sink.data;
    a.sinkType = p.sink.dtype;
    a.sinkStride = p.sink.strides[0];
  }
  if (p.kScale.present()) {
    a.kScale = p.kScale.as<const float>();
    a.vScale = p.vScale.as<const float>();
    a.perChannel = p.kScale.count() > 1;
  }
  a.queryStart = p.queryStart;
  a.queryLen = p.queryLen;
  a.keyLen = p.keyLen;
  a.keyStart = p.keyStart;
  a.split = p.split;
  a.offset = p.offset;
  for (const View *view : {&p.bias, &p.mask}) {
    if (view->present())
      a.columns = std::min(a.columns, view->dims[3]);
  }
  a.band = p.band;
  a.anchor = p.anchor;
  a.scale = p.scale;
  a.softcap = p.softcap;
  a.batch = static_cast<int32_t>(p.batch());
  a.heads = static_cast<int32_t>(p.heads());
  a.kvHeads = static_cast<int32_t>(p.kvHeads());
  a.queries = static_cast<int32_t>(p.queries());
  a.keys = static_cast<int32_t>(p.k.dims[2]);
  a.newKeys = p.kNew.present() ? static_cast<int32_t>(p.kNew.dims[2]) : 0;
  a.headSize = static_cast<int32_t>(p.headSize());
  a.vHeadSize = static_cast<int32_t>(p.vHeadSize());
  return a;
}

int flashWidth(const SdpaProblem &p) {
  const int64_t size = std::max(p.headSize(), p.vHeadSize());
  return static_cast<int>((size + 63) / 64 * 64);
}

std::string flashWhyNot(const SdpaProblem &p, const DeviceLimits &device) {
  if (device.capability < 80)
    return "the device has compute capability " + std::to_string(device.capability / 10) + "." +
           std::to_string(device.capability % 10) + ", below 8.0";
  if (p.q.dtype != DType::kF16 && p.q.dtype != DType::kBF16)
    return "it takes queries of f16 and bf16, not " + nameOf(p.q.dtype);
  if (p.out.dtype != p.q.dtype)
    return "its output has the type of the queries, not " + nameOf(p.out.dtype);
  if (p.scoreMode != ScoreMode::kNone)
    return "it has no score output";
  const int64_t sizes[2] = {p.headSize(), p.vHeadSize()};
  for (const int64_t size : sizes) {
    if (size % 8 != 0)
      return "the head size " + std::to_string(size) + " is no multiple of 8";
    if (size > kMaxHeadSize)
      return "the head size " + std::to_string(size) + " is above " + std::to_string(kMaxHeadSize);
  }
  const int64_t keys = p.k.dims[2] + (p.kNew.present() ? p.kNew.dims[2] : 0);
  if (keys > kMaxRows || p.queries() > kMaxRows)
    return "it counts rows in 32 bits";
  if (p.bias.present() && !dtypeInfo(p.bias.dtype).isFloat)
    return "its bias is a float tensor, not " + nameOf(p.bias.dtype);
  struct Named {
    const View *view;
    const char *name;
    int64_t bytes;
  };
  const Named views[] = {{&p.q, "the query", 16},        {&p.k, "the key", 16},
                         {&p.v, "the value", 16},        {&p.kNew, "the new key", 16},
                         {&p.vNew, "the new value", 16}, {&p.out, "the output", 4}};
  for (const Named &named : views) {
    const std::string why = whyNotAligned(*named.view, named.name, named.bytes);
    if (!why.empty())
      return why;
  }
  return "";
}

} // namespace engine::cuda
