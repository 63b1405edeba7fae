#include "lowering/quant_patterns.h"

#include "lowering/branches.h"
#include "lowering/match.h"

#include <algorithm>

namespace engine::lowering {

using ir::ConstData;
using ir::ConstRef;
using ir::Node;
using ir::ValueId;

namespace {

// Blocks that QuantMatMul knows.
constexpr int64_t kMinBlock = 16, kMaxBlock = 256;
// Codes of a tile that is transposed at a time, along each side.
constexpr int64_t kTile = 64;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A dequantised matrix [depth, columns], whose constant may lie transposed.
struct Weight {
  ConstRef codes, scales, zeros; // zeros may be null
  bool transposed = false;       // the constant is [columns, depth]
  int64_t depth = 0, columns = 0;
  int64_t block = 0; // along the depth; 0: one scale for each column, or one

  int64_t bits() const { return isSubByte(codes->dtype) ? 4 : 8; }
  // Weights that share a scale along the whole depth get blocks that fill it, if any do.
  int64_t packedBlock() const {
    return block ? block : std::clamp<int64_t>(depth & -depth, kMinBlock, kMaxBlock);
  }
  int64_t blocks() const { return ceilDiv(depth, packedBlock()); }
  // What is added to a signed code to store it.
  int64_t offset() const {
    return dtypeInfo(codes->dtype).isSigned ? int64_t{1} << (bits() - 1) : 0;
  }

  // Where the scale of a block stands among the scales.
  int64_t scaleIndex(int64_t column, int64_t b) const {
    return column * scaleColumnStride + b * scaleBlockStride;
  }

  void setScaleStrides() {
    const bool single = scales->count() == 1;
    scaleColumnStride = single ? 0 : block != 0 && transposed ? blocks() : 1;
    scaleBlockStride = single || block == 0 ? 0 : transposed ? 1 : columns;
  }
  int64_t scaleColumnStride = 0, scaleBlockStride = 0;
};

// Code i of a constant, as it is stored.
uint8_t codeAt(const ConstData &data, int64_t i) {
  const uint8_t *bytes = static_cast<const uint8_t *>(data.data);
  return isSubByte(data.dtype) ? (bytes[i / 2] >> (i % 2 * 4)) & 15 : bytes[i];
}

// --- Finding
// -------------------------------------------------------------------------------------------

bool isMatrixTranspose(const Node &node) {
  const auto *transpose = node.as<ir::Transpose>();
  return transpose && llvm::ArrayRef<int64_t>(transpose->perm).equals({1, 0});
}

bool isCode(DType dtype) {
  return dtype == DType::kI4 || dtype == DType::kU4 || dtype == DType::kI8 || dtype == DType::kU8;
}

bool isBlockSize(int64_t size) {
  return size >= kMinBlock && size <= kMaxBlock && (size & (size - 1)) == 0;
}

// Whether the scales lie as QuantMatMul can say it.
bool fits(const ir::Dequantize &op, Weight &weight) {
  const int64_t axis = op.axis < 0 ? op.axis + 2 : op.axis;
  const int64_t depthAxis = weight.transposed ? 1 : 0;
  if (op.blockSize > 0) {
    weight.block = op.blockSize;
    return axis == depthAxis && isBlockSize(op.blockSize);
  }
  return weight.scales->count() == 1 || axis != depthAxis;
}

std::optional<Weight> weightOf(const Matcher &matcher, ValueId value) {
  Weight weight;
  if (const Node *transpose = matcher.producer<ir::Transpose>(value)) {
    if (!isMatrixTranspose(*transpose))
      return std::nullopt;
    weight.transposed = true;
    value = transpose->operands[0];
  }
  const Node *node = matcher.producer<ir::Dequantize>(value);
  if (!node)
    return std::nullopt;
  weight.codes = matcher.fact(node->operands[0]).constant;
  weight.scales = matcher.fact(node->operands[1]).constant;
  const bool hasZeros = node->operand(2).valid();
  if (hasZeros)
    weight.zeros = matcher.fact(node->operands[2]).constant;
  if (!weight.codes || !weight.scales || (hasZeros && !weight.zeros))
    return std::nullopt;
  if (!isCode(weight.codes->dtype) || weight.codes->dims.size() != 2 || weight.codes->count() == 0)
    return std::nullopt;
  weight.depth = weight.codes->dims[weight.transposed ? 1 : 0];
  weight.columns = weight.codes->dims[weight.transposed ? 0 : 1];
  const auto &op = std::get<ir::Dequantize>(node->op);
  const DType scaleType = weight.scales->dtype;
  if (scaleType == DType::kF64)
    return std::nullopt;
  if ((scaleType != op.to && scaleType != DType::kF32) || !fits(op, weight))
    return std::nullopt;
  weight.setScaleStrides();
  return weight;
}

// --- Repacking
// -----------------------------------------------------------------------------------------

// Codes by read(column, k), low bits first.
template <class Read>
void packCodes(const Weight &w, int64_t rowBytes, uint8_t *to, const Read &read) {
  const uint8_t flip = static_cast<uint8_t>(w.offset());
  const int64_t bits = w.bits();
  const int64_t perByte = 8 / bits;
  for (int64_t column0 = 0; column0 < w.columns; column0 += kTile) {
    const int64_t columnEnd = std::min(column0 + kTile, w.columns);
    for (int64_t k0 = 0; k0 < w.depth; k0 += kTile) {
      const int64_t kEnd = std::min(k0 + kTile, w.depth);
      for (int64_t column = column0; column < columnEnd; ++column) {
        uint8_t *row = to + column * rowBytes;
        for (int64_t k = k0; k < kEnd; ++k) {
          const int code = read(column, k) ^ flip;
          row[k / perByte] |= static_cast<uint8_t>(code << (k % perByte * bits));
        }
      }
    }
  }
}

// Two bytes hold the codes of two columns at two depths: they change places as they are. Most
// models have such constants, and what a code costs here is part of the time to load one.
void packNibbles(const Weight &w, int64_t rowBytes, uint8_t *to) {
  const uint8_t *from = static_cast<const uint8_t *>(w.codes->data);
  const int64_t width = w.columns / 2;
  const uint8_t flip = w.offset() != 0 ? 0x88 : 0;
  for (int64_t pair0 = 0; pair0 < width; pair0 += kTile) {
    const int64_t pairEnd = std::min(pair0 + kTile, width);
    for (int64_t k0 = 0; k0 < w.depth; k0 += kTile) {
      const int64_t kEnd = std::min(k0 + kTile, w.depth);
      for (int64_t pair = pair0; pair < pairEnd; ++pair) {
        uint8_t *first = to + 2 * pair * rowBytes;
        for (int64_t k = k0; k < kEnd; k += 2) {
          const unsigned upper = from[k * width + pair] ^ flip;
          const unsigned lower = from[(k + 1) * width + pair] ^ flip;
          first[k / 2] = static_cast<uint8_t>((upper & 15) | (lower & 15) << 4);
          first[rowBytes + k / 2] = static_cast<uint8_t>(upper >> 4 | (lower & 0xf0));
        }
      }
    }
  }
}

void packInto(const Weight &w, int64_t rowBytes, uint8_t *to) {
  const uint8_t *bytes = static_cast<const uint8_t *>(w.codes->data);
  const int64_t columnStride = w.transposed ? w.depth : 1;
  const int64_t depthStride = w.transposed ? 1 : w.columns;
  if (w.bits() == 8)
    return packCodes(w, rowBytes, to, [=](int64_t column, int64_t k) {
      return bytes[column * columnStride + k * depthStride];
    });
  if (!w.transposed && w.columns % 2 == 0 && w.depth % 2 == 0)
    return packNibbles(w, rowBytes, to);
  packCodes(w, rowBytes, to, [=](int64_t column, int64_t k) {
    const int64_t i = column * columnStride + k * depthStride;
    return (bytes[i / 2] >> (i % 2 * 4)) & 15;
  });
}

// [columns, blocks, bytes of a block]; zeros behind the depth.
ConstRef packedCodes(const Weight &w) {
  const int64_t blockBytes = w.packedBlock() * w.bits() / 8;
  const int64_t rowBytes = w.blocks() * blockBytes;
  auto bytes = std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(w.columns * rowBytes));
  packInto(w, rowBytes, bytes->data());
  auto data = std::make_shared<ConstData>();
  data->dtype = DType::kU8;
  data->dims.assign({w.columns, w.blocks(), blockBytes});
  data->data = bytes->data();
  data->bytes = bytes->size();
  data->owner = bytes;
  return data;
}

template <class T> void packScales(const Weight &w, void *data) {
  const T *from = static_cast<const T *>(w.scales->data);
  T *to = static_cast<T *>(data);
  const int64_t blocks = w.blocks();
  for (int64_t column = 0; column < w.columns; ++column)
    for (int64_t b = 0; b < blocks; ++b)
      to[column * blocks + b] = from[w.scaleIndex(column, b)];
}

ConstRef packedScales(const Weight &w) {
  const int64_t count = w.columns * w.blocks();
  std::vector<char> scales(static_cast<size_t>(byteSize(w.scales->dtype, count)));
  if (dtypeInfo(w.scales->dtype).bits == 16)
    packScales<uint16_t>(w, scales.data());
  else
    packScales<uint32_t>(w, scales.data());
  return ir::makeConst(w.scales->dtype, {w.columns, w.blocks()}, scales.data(), scales.size());
}

// Null where they are all the middle, as signed codes have them by default.
ConstRef packedZeros(const Weight &w) {
  if (!w.zeros && w.offset() != 0)
    return nullptr;
  const int64_t perByte = 8 / w.bits();
  const int64_t rowBytes = ceilDiv(w.blocks(), perByte);
  std::vector<uint8_t> zeros(static_cast<size_t>(w.columns * rowBytes));
  for (int64_t column = 0; w.zeros && column < w.columns; ++column)
    for (int64_t b = 0; b < w.blocks(); ++b) {
      const int code = codeAt(*w.zeros, w.scaleIndex(column, b)) ^ static_cast<int>(w.offset());
      zeros[static_cast<size_t>(column * rowBytes + b / perByte)] |=
          static_cast<uint8_t>(code << (b % perByte * w.bits()));
    }
  return ir::makeConst(DType::kU8, {w.columns, rowBytes}, zeros.data(), zeros.size());
}

void rewrite(ir::GraphRewriter &rewriter, const Node &node, const Weight &weight) {
  ir::GraphBuilder &builder = rewriter.builder();
  builder.setOrigin(node.name, node.onnx);
  ir::QuantMatMul op;
  op.k = weight.depth;
  op.n = weight.columns;
  op.bits = weight.bits();
  op.blockSize = weight.packedBlock();
  llvm::SmallVector<ValueId, 4> operands = {rewriter[node.operands[0]],
                                            builder.constant(packedCodes(weight), "codes"),
                                            builder.constant(packedScales(weight), "scales")};
  if (const ConstRef zeros = packedZeros(weight))
    operands.push_back(builder.constant(zeros, "zeros"));
  rewriter.copyAs(node, op, operands);
}

} // namespace

ir::Graph recognizeQuantProducts(const ir::Graph &graph) {
  const Matcher matcher(graph);
  ir::GraphRewriter rewriter(graph);
  for (const Node &node : graph.nodes()) {
    const bool product = node.as<ir::MatMul>() && matcher.fact(node.operands[0]).rank() >= 1;
    const std::optional<Weight> weight =
        product ? weightOf(matcher, node.operands[1]) : std::nullopt;
    if (weight)
      rewrite(rewriter, node, *weight);
    else
      rewriter.copyAs(node, withBranches(node.op, recognizeQuantProducts), rewriter[node.operands]);
  }
  return rewriter.finish();
}

} // namespace engine::lowering
