// Weights quantised in blocks (ir::QuantMatMul), and the operations on them that exist once per
// instruction set.
#pragma once

#include "kernels/isa.h"

#include <cstdint>

namespace engine::cpu {

// Rows of `depth` codes, packed low bits first, that share a scale and a zero point in blocks.
struct QuantFormat {
  int64_t depth = 0, bits = 4, blockSize = 32;

  int64_t blocks() const { return (depth + blockSize - 1) / blockSize; }
  int64_t blockBytes() const { return blockSize * bits / 8; }
  int64_t rowBytes() const { return blocks() * blockBytes(); }
  int64_t paddedDepth() const { return blocks() * blockSize; }
  // Codes of a byte. A "plane" is what stands at one of their places in a run of bytes.
  int64_t planes() const { return 8 / bits; }
  float middle() const { return static_cast<float>(int64_t{1} << (bits - 1)); }
};

// Rows of weights and rows of activations are multiplied in tiles of up to so many.
inline constexpr int kQuantRows = 4;
inline constexpr int kQuantColumns = 4;

// Rows of weights: the columns of a result.
struct QuantTile {
  QuantFormat format;
  int rows, columns;
  const uint8_t *codes[kQuantColumns];
  const float *scales[kQuantColumns]; // one for each block
  const float *zeros[kQuantColumns];  // null: the middle; for all columns or none
  float *y;                           // of row 0 and column 0
  int64_t yStride;
};

// --- Exact: codes become f32
// -------------------------------------------------------------------------------

struct QuantOps {
  // Bytes whose codes are unpacked at a time, where a block has as many: of their codes come first
  // the first plane's, then the second's.
  int64_t lanes;
  // paddedDepth() values (code - zero) * scale, in that order; `zeros` may be null: the middle.
  void (*dequantize)(const QuantFormat &format, const uint8_t *codes, const float *scales,
                     const float *zeros, float *values);
  // The tile's rows of x are in that order too, xStride elements apart.
  void (*multiply)(const QuantTile &tile, const float *x, int64_t xStride);
};

const QuantOps &quantOps(Isa isa);

// x in the order of QuantOps::dequantize, zeros behind `depth`.
void orderAsPlanes(const QuantFormat &format, int64_t lanes, const float *x, float *ordered);
// And back, up to `depth`.
void orderAsCodes(const QuantFormat &format, int64_t lanes, const float *ordered, float *values);

// --- 8-bit activations
// -----------------------------------------------------------------------------------

inline constexpr int64_t kChunkBytes = 64;
inline constexpr int64_t kChunkLanes = 16;

// Chunks of 64 bytes of a row of codes.
inline int64_t chunksOf(const QuantFormat &format) {
  return (format.rowBytes() + kChunkBytes - 1) / kChunkBytes;
}

// One row of activations, quantised per block: for each chunk its planes of 64 codes, and for each
// of its 16 lanes of four bytes the scale of their block and the sum of their codes (times minus
// the middle, where weights have no zero points).
struct Int8Row {
  int8_t *codes; // [chunks][planes][64]
  float *scales; // [chunks][16]
  int32_t *sums; // [chunks][16]
};

struct Int8Ops {
  // `x` has paddedDepth() elements rounded up to a multiple of 64 * planes, zeros behind `depth`.
  void (*quantize)(const QuantFormat &format, bool hasZeros, const float *x, const Int8Row &row);
  void (*multiply)(const QuantTile &tile, const Int8Row *x);
};

// Null where the instruction set has no product of bytes.
const Int8Ops *int8Ops(Isa isa);
// Its one implementation (quant_avx512bf16.cpp).
const Int8Ops *int8OpsAvx512();

} // namespace engine::cpu
