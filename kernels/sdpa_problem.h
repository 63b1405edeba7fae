// What an Sdpa kernel is asked to compute, on any backend. A plain header: CPU and CUDA kernels
// include it, and `makeSdpaProblem` (kernels/sdpa_bind.h) is the only place that fills it from IR
// operands.
//
//   position of query row i     p = queryStart + i
//   position of key row j       keyStart + j
//   row j is visible to row i   j in frame.rowRange(i), mask[.., i, c] true, bias[.., i, c] > -inf,
//                               with column c = keyStart + j
//   logits                      s = softcap(scale * <q_i, k_j>) + bias[.., i, c]      in f32
//   softcap(x)                  cap * tanh(x / cap), x itself where cap <= 0
//   output                      softmax over the visible rows (sink joins the denominator only)
//                               times V
//
// A row without a visible key gives 0. Rows i >= queryLen give 0. A key or value row that is not
// visible to any query row is never used in arithmetic: it may hold NaN. A finite bias, however
// low, hides nothing.
#pragma once

#include "ir/band.h"
#include "ir/view.h"

#include <cstdint>

namespace engine {

// Where query row 0 stands when there is no queryStart operand.
enum class QueryAnchor : uint8_t {
  kOffset, // at the constant `offset`
  kKeyEnd, // at keyLen[b] - S: the queries are the last S keys
};

// The optional second output: what it holds in visible columns, and in hidden ones.
enum class ScoreMode : uint8_t {
  kNone,
  kRaw,           // scale * QK in every column
  kCapped,        // softcap(scale * QK) in every column
  kBiased,        // the logits; -inf in hidden columns
  kProbabilities, // the softmax weights; 0 in hidden columns
  kGqaLogits,     // the logits; 0 outside the frame, -inf where only the bias hides
};

// One batch entry's lengths, in rows.
struct SdpaEntry {
  BandFrame frame;
  int64_t queryLen = 0; // valid query rows; the rest of the output is 0
  int64_t split =
      0; // key rows below it live in k and v, from it on in kNew and vNew (at row j - split)
};

struct SdpaProblem {
  View q;    // [B, N, S, H]
  View k;    // [B, K, T, H], H/2 bytes a row for a 4-bit cache; N is a multiple of K
  View v;    // [B, K, T, Hv]
  View kNew; // [B, K, L, H] or absent: the second segment, of k's type
  View vNew;
  View bias;   // [B, N, S, C] float or absent; broadcast axes have stride 0
  View mask;   // [B, N, S, C] bool or absent; likewise
  View sink;   // [N] or absent: a logit that joins the denominator
  View kScale; // f32 [1] or [K * H] for an i8 / u8 cache, else absent
  View vScale;
  View out;    // [B, N, S, Hv]
  View scores; // [B, N, S, C] or absent

  // Host arrays of B lengths, or null where a default applies.
  const int64_t *queryStart = nullptr; // default: the anchor
  const int64_t *queryLen = nullptr;   // default: S
  const int64_t *keyLen = nullptr;     // default: T + L
  const int64_t *keyStart = nullptr;   // default: 0
  const int64_t *split = nullptr;      // default: T

  QueryAnchor anchor = QueryAnchor::kOffset;
  ScoreMode scoreMode = ScoreMode::kNone;
  int64_t offset = 0;
  Band band;
  float scale = 1;
  float softcap = 0;

  int64_t batch() const { return q.dims[0]; }
  int64_t heads() const { return q.dims[1]; }
  int64_t queries() const { return q.dims[2]; }
  int64_t headSize() const { return q.dims[3]; }
  int64_t kvHeads() const { return k.dims[1]; }
  int64_t vHeadSize() const { return out.dims[3]; }
  int64_t group() const { return heads() / kvHeads(); }
  int cacheBits() const { return !kScale.present() ? 0 : k.dtype == DType::kU8 ? 4 : 8; }

  SdpaEntry entry(int64_t b) const {
    SdpaEntry e;
    const int64_t rows = k.dims[2] + (kNew.present() ? kNew.dims[2] : 0);
    e.queryLen = queryLen ? queryLen[b] : queries();
    e.split = split ? split[b] : k.dims[2];
    e.frame.band = band;
    e.frame.keyStart = keyStart ? keyStart[b] : 0;
    e.frame.keyCount = keyLen ? keyLen[b] : rows;
    if (queryStart)
      e.frame.queryStart = queryStart[b];
    else
      e.frame.queryStart = anchor == QueryAnchor::kKeyEnd ? e.frame.keyCount - queries() : offset;
    // Columns that a mask does not have are hidden.
    const int64_t columns = keyCapOf(mask, keyCapOf(bias, INT64_MAX)) - e.frame.keyStart;
    if (e.frame.keyCount > columns)
      e.frame.keyCount = columns > 0 ? columns : 0;
    return e;
  }

private:
  static int64_t keyCapOf(const View &m, int64_t otherwise) {
    return m.present() && m.dims[3] < otherwise ? m.dims[3] : otherwise;
  }
};

} // namespace engine
