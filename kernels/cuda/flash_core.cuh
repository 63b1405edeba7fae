// What the two flash kernels share: one warp, 16 rows of queries, tiles of keys in shared memory,
// and the online softmax.
//
// Tiles are rows of kWidth 16-bit elements, in chunks of 16 bytes whose place in the row depends on
// the row, so that ldmatrix finds its 8 rows in different banks. Channels at and beyond the head
// size are zero.
//
// A lane holds rows g and g + 8 (g = lane / 4) and, of every 8 columns, columns 2t and 2t + 1 (t =
// lane % 4).
#pragma once

#include "kernels/cuda/prim.h"
#include "kernels/cuda/sdpa_args.h"
#include "kernels/cuda/softmax_merge.h"

namespace engine::cuda {

template <int kWidth> ENGINE_DEVICE int tileOffset(int row, int chunk) {
  return row * kWidth + ((chunk ^ (row & 7)) << 3);
}

// Rows of a tensor of one batch entry and head, in up to two segments.
template <class T> struct RowSource {
  const T *first;
  const T *second; // of the rows from `split` on
  int64_t firstStride;
  int64_t secondStride;
  int64_t split;

  ENGINE_DEVICE const T *row(int64_t i) const {
    return i < split ? first + i * firstStride : second + (i - split) * secondStride;
  }
};

template <class T>
ENGINE_DEVICE RowSource<T> rowSource(const RowTensor &first, const RowTensor &second, int64_t b,
                                     int64_t head, int64_t split) {
  return {static_cast<const T *>(first.data) + b * first.batch + head * first.head,
          static_cast<const T *>(second.data) + b * second.batch + head * second.head, first.row,
          second.row, split};
}

// Starts copying rows [row0, row0 + kRows) by `kThreads` threads, of which this is number `thread`.
// Rows at and beyond `end` are zeros.
template <class T, int kWidth, int kRows, int kThreads>
ENGINE_DEVICE void copyTile(T *tile, const RowSource<T> &source, int64_t row0, int64_t end,
                            int headSize, int thread) {
  constexpr int kChunks = kWidth / 8;
  ENGINE_UNROLL
  for (int i = thread; i < kRows * kChunks; i += kThreads) {
    const int row = i / kChunks;
    const int chunk = i % kChunks;
    const bool valid = row0 + row < end && chunk * 8 < headSize;
    const T *from = valid ? source.row(row0 + row) + chunk * 8 : source.first;
    prim::copyAsync16(tile + tileOffset<kWidth>(row, chunk), from, valid);
  }
}

ENGINE_DEVICE float readScore(const void *data, DType dtype, int64_t i) {
  if (dtype == DType::kF32)
    return static_cast<const float *>(data)[i];
  if (dtype == DType::kF16)
    return prim::toFloat(static_cast<const Half *>(data)[i]);
  return prim::toFloat(static_cast<const BFloat16 *>(data)[i]);
}

ENGINE_DEVICE float sinkOf(const SdpaArgs &a, int64_t head) {
  return a.sink ? readScore(a.sink, a.sinkType, head * a.sinkStride) : minusInfinity();
}

// What one query row sees.
struct QueryRow {
  int lo = 0; // key rows
  int hi = 0;
  int64_t bias = 0; // offsets of key row 0 in the tensors
  int64_t mask = 0;
};

ENGINE_DEVICE int64_t scoreOffset(const ScoreTensor &t, int64_t b, int64_t h, int64_t i,
                                  int64_t column) {
  return b * t.stride[0] + h * t.stride[1] + i * t.stride[2] + column * t.stride[3];
}

ENGINE_DEVICE QueryRow queryRow(const SdpaArgs &a, const SdpaEntry &e, int64_t b, int64_t h,
                                int64_t i) {
  QueryRow row;
  if (i >= e.queryLen || i >= a.queries)
    return row;
  const KeyRange range = e.frame.rowRange(i);
  row.lo = static_cast<int>(range.lo);
  row.hi = static_cast<int>(range.hi);
  row.bias = scoreOffset(a.bias, b, h, i, e.frame.keyStart);
  row.mask = scoreOffset(a.mask, b, h, i, e.frame.keyStart);
  return row;
}

// Logits of the warp's 16 query rows and kKeys keys.
template <class T, int kWidth, int kKeys>
ENGINE_DEVICE void scoreTile(float (&s)[kKeys / 8][4], const T *queries, const T *keys, int steps,
                             int lane) {
  ENGINE_UNROLL
  for (int i = 0; i < kKeys / 8; ++i) {
    ENGINE_UNROLL
    for (int e = 0; e < 4; ++e)
      s[i][e] = 0.0f;
  }
  ENGINE_UNROLL
  for (int k = 0; k < kWidth / 16; ++k) {
    if (k >= steps)
      break;
    uint32_t a[4];
    prim::ldmatrix4(a, queries + tileOffset<kWidth>(lane & 15, 2 * k + (lane >> 4)));
    ENGINE_UNROLL
    for (int n = 0; n < kKeys / 16; ++n) {
      uint32_t b[4];
      const int row = 16 * n + (lane & 7) + ((lane >> 4) << 3);
      prim::ldmatrix4(b, keys + tileOffset<kWidth>(row, 2 * k + ((lane >> 3) & 1)));
      prim::mma16816<T>(s[2 * n], a, b[0], b[1]);
      prim::mma16816<T>(s[2 * n + 1], a, b[2], b[3]);
    }
  }
}

// Scale and softcap.
template <int kTiles>
ENGINE_DEVICE void capTile(float (&s)[kTiles][4], float scale, float softcap) {
  ENGINE_UNROLL
  for (int i = 0; i < kTiles; ++i) {
    ENGINE_UNROLL
    for (int e = 0; e < 4; ++e) {
      const float x = s[i][e] * scale;
      s[i][e] = softcap > 0.0f ? softcap * prim::tanhAccurate(x / softcap) : x;
    }
  }
}

// Adds the bias and hides what is not visible. Bit 2 i + c of the result: some row of the warp sees
// column 2t + c of the i-th eight keys.
template <int kTiles>
ENGINE_DEVICE uint32_t maskTile(float (&s)[kTiles][4], const SdpaArgs &a, const QueryRow (&rows)[2],
                                int key0, int t) {
  uint32_t seen = 0;
  ENGINE_UNROLL
  for (int i = 0; i < kTiles; ++i) {
    ENGINE_UNROLL
    for (int e = 0; e < 4; ++e) {
      const QueryRow &row = rows[e >> 1];
      const int key = key0 + 8 * i + 2 * t + (e & 1);
      bool visible = key >= row.lo && key < row.hi;
      if (visible && a.mask.data)
        visible = static_cast<const uint8_t *>(a.mask.data)[row.mask + key * a.mask.stride[3]] != 0;
      if (visible && a.bias.data) {
        const float bias = readScore(a.bias.data, a.bias.dtype, row.bias + key * a.bias.stride[3]);
        visible = bias != minusInfinity();
        s[i][e] += bias;
      }
      if (!visible)
        s[i][e] = minusInfinity();
      seen |= static_cast<uint32_t>(visible) << (2 * i + (e & 1));
    }
  }
  seen |= prim::shuffleXor(seen, 4);
  seen |= prim::shuffleXor(seen, 8);
  seen |= prim::shuffleXor(seen, 16);
  return seen;
}

// The online softmax of 16 rows.
template <int kWidth> struct RowState {
  float max[2];
  float sum[2]; // of this lane's columns
  float out[kWidth / 8][4];
};

template <int kWidth> ENGINE_DEVICE void clear(RowState<kWidth> &state) {
  ENGINE_UNROLL
  for (int r = 0; r < 2; ++r) {
    state.max[r] = minusInfinity();
    state.sum[r] = 0.0f;
  }
  ENGINE_UNROLL
  for (int i = 0; i < kWidth / 8; ++i) {
    ENGINE_UNROLL
    for (int e = 0; e < 4; ++e)
      state.out[i][e] = 0.0f;
  }
}

// Logits become weights, and the state is scaled to the new maximum.
template <int kWidth, int kTiles>
ENGINE_DEVICE void softmaxTile(float (&s)[kTiles][4], RowState<kWidth> &state) {
  ENGINE_UNROLL
  for (int r = 0; r < 2; ++r) {
    float max = state.max[r];
    ENGINE_UNROLL
    for (int i = 0; i < kTiles; ++i)
      max = larger(max, larger(s[i][2 * r], s[i][2 * r + 1]));
    max = larger(max, prim::shuffleXor(max, 1));
    max = larger(max, prim::shuffleXor(max, 2));
    const float base = max == minusInfinity() ? 0.0f : max;
    const float keep = weightOf(state.max[r], base);
    float sum = 0.0f;
    ENGINE_UNROLL
    for (int i = 0; i < kTiles; ++i) {
      ENGINE_UNROLL
      for (int c = 0; c < 2; ++c) {
        const float weight = weightOf(s[i][2 * r + c], base);
        s[i][2 * r + c] = weight;
        sum += weight;
      }
    }
    state.max[r] = max;
    state.sum[r] = state.sum[r] * keep + sum;
    ENGINE_UNROLL
    for (int i = 0; i < kWidth / 8; ++i) {
      state.out[i][2 * r] *= keep;
      state.out[i][2 * r + 1] *= keep;
    }
  }
}

// Ones where the two keys of a register are seen: bits 0 and 1 of `pair`.
ENGINE_DEVICE uint32_t seenMask(uint32_t pair) {
  return ((pair & 1) ? 0x0000ffffu : 0u) | ((pair & 2) ? 0xffff0000u : 0u);
}

// state.out += weights * values. What no row sees may be NaN and is taken for 0 (`seen`, of
// maskTile).
template <class T, int kWidth, int kKeys>
ENGINE_DEVICE void accumulateTile(RowState<kWidth> &state, const float (&s)[kKeys / 8][4],
                                  const T *values, int steps, uint32_t seen, int lane) {
  ENGINE_UNROLL
  for (int k = 0; k < kKeys / 16; ++k) {
    const uint32_t a[4] = {prim::pack2<T>(s[2 * k][0], s[2 * k][1]),
                           prim::pack2<T>(s[2 * k][2], s[2 * k][3]),
                           prim::pack2<T>(s[2 * k + 1][0], s[2 * k + 1][1]),
                           prim::pack2<T>(s[2 * k + 1][2], s[2 * k + 1][3])};
    const uint32_t low = seenMask(seen >> (4 * k));
    const uint32_t high = seenMask(seen >> (4 * k + 2));
    ENGINE_UNROLL
    for (int n = 0; n < kWidth / 16; ++n) {
      if (n >= steps)
        break;
      uint32_t b[4];
      prim::ldmatrix4Transposed(
          b, values + tileOffset<kWidth>(16 * k + (lane & 15), 2 * n + (lane >> 4)));
      prim::mma16816<T>(state.out[2 * n], a, b[0] & low, b[1] & high);
      prim::mma16816<T>(state.out[2 * n + 1], a, b[2] & low, b[3] & high);
    }
  }
}

// The sum over the four lanes of a row.
ENGINE_DEVICE float rowSum(float sum) {
  sum += prim::shuffleXor(sum, 1);
  return sum + prim::shuffleXor(sum, 2);
}

} // namespace engine::cuda
