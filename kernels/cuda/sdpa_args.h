// SdpaProblem (kernels/sdpa_problem.h) as the attention kernels take it: plain data with device
// pointers, passed by value.
#pragma once

#include "ir/band.h"
#include "ir/dtype.h"
#include "kernels/sdpa_problem.h"

#include <cstdint>

namespace engine::cuda {

// [batch, head, row, channel] with dense channels; strides in elements.
struct RowTensor {
  void *data = nullptr;
  int64_t batch = 0;
  int64_t head = 0;
  int64_t row = 0;
};

// Bias or mask, [batch, head, query, column]; any stride may be 0.
struct ScoreTensor {
  const void *data = nullptr;
  DType dtype = DType::kUndefined;
  int64_t stride[4] = {};
};

struct SdpaArgs {
  RowTensor q, k, v, kNew, vNew, out;
  ScoreTensor bias, mask;
  const void *sink = nullptr;
  DType sinkType = DType::kUndefined;
  int64_t sinkStride = 0;
  const float *kScale = nullptr;
  const float *vScale = nullptr;
  bool perChannel = false; // scales are [kvHeads * headSize], else one number

  // Device arrays of `batch` lengths, or null where a default applies (SdpaProblem).
  const int64_t *queryStart = nullptr;
  const int64_t *queryLen = nullptr;
  const int64_t *keyLen = nullptr;
  const int64_t *keyStart = nullptr;
  const int64_t *split = nullptr;

  int64_t offset = 0;
  int64_t columns = INT64_MAX; // of bias and mask; what lies beyond is hidden
  Band band;
  QueryAnchor anchor = QueryAnchor::kOffset;
  float scale = 1;
  float softcap = 0;

  int32_t batch = 0;
  int32_t heads = 0;
  int32_t kvHeads = 0;
  int32_t queries = 0;
  int32_t keys = 0;    // rows of k and v
  int32_t newKeys = 0; // rows of kNew and vNew
  int32_t headSize = 0;
  int32_t vHeadSize = 0;

  ENGINE_HOST_DEVICE int32_t group() const { return heads / kvHeads; }

  // The same as SdpaProblem::entry, with the lengths clamped to the rows that exist: they are read
  // on the device, where nobody has checked them.
  ENGINE_HOST_DEVICE SdpaEntry entry(int64_t b) const {
    SdpaEntry e;
    const int64_t rows = static_cast<int64_t>(keys) + newKeys;
    e.queryLen = queryLen ? queryLen[b] : queries;
    e.split = split ? split[b] : keys;
    e.frame.band = band;
    e.frame.keyStart = keyStart ? keyStart[b] : 0;
    int64_t keyCount = keyLen ? keyLen[b] : rows;
    if (queryStart)
      e.frame.queryStart = queryStart[b];
    else
      e.frame.queryStart = anchor == QueryAnchor::kKeyEnd ? keyCount - queries : offset;
    const int64_t visibleColumns = columns - e.frame.keyStart;
    if (keyCount > visibleColumns)
      keyCount = visibleColumns;
    const int64_t present = e.split + newKeys;
    const int64_t last = newKeys > 0 ? present : keys;
    if (keyCount > last)
      keyCount = last;
    e.frame.keyCount = keyCount > 0 ? keyCount : 0;
    return e;
  }
};

} // namespace engine::cuda
