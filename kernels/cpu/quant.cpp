#include "kernels/cpu/quant.h"

#include <algorithm>

namespace engine::cpu {

namespace {

// Calls body(code, place) for each code of a row: where it stands among the codes, and among the
// values of QuantOps::dequantize.
template <class Body> void forEachPlace(const QuantFormat &f, int64_t lanes, const Body &body) {
  const int64_t planes = f.planes();
  const int64_t run = std::min(lanes, f.blockBytes());
  const int64_t codes = run * planes; // that are unpacked together
  int64_t place = 0;
  for (int64_t first = 0; first < f.paddedDepth(); first += codes)
    for (int64_t plane = 0; plane < planes; ++plane)
      for (int64_t byte = 0; byte < run; ++byte, ++place)
        body(first + byte * planes + plane, place);
}

} // namespace

void orderAsPlanes(const QuantFormat &f, int64_t lanes, const float *x, float *ordered) {
  forEachPlace(f, lanes,
               [&](int64_t code, int64_t place) { ordered[place] = code < f.depth ? x[code] : 0; });
}

void orderAsCodes(const QuantFormat &f, int64_t lanes, const float *ordered, float *values) {
  forEachPlace(f, lanes, [&](int64_t code, int64_t place) {
    if (code < f.depth)
      values[code] = ordered[place];
  });
}

const Int8Ops *int8Ops(Isa isa) { return isa == Isa::kAvx512Bf16 ? int8OpsAvx512() : nullptr; }

} // namespace engine::cpu
