#include "kernels/cuda/prim.h"

#include "tests/cuda/primitives.h"

using namespace engine;
using namespace engine::test;

namespace {

ENGINE_DEVICE float asFloat(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
ENGINE_DEVICE uint32_t asBits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

template <class T> ENGINE_DEVICE void mma(const uint32_t *in, uint32_t *out) {
  const uint32_t a[4] = {in[0], in[1], in[2], in[3]};
  float d[4];
  for (int i = 0; i < 4; ++i)
    d[i] = asFloat(in[8 + i]);
  prim::mma16816<T>(d, a, in[4], in[5]);
  for (int i = 0; i < 4; ++i)
    out[i] = asBits(d[i]);
}

ENGINE_DEVICE void shuffles(const uint32_t *in, uint32_t *out, int lane) {
  out[0] = prim::shuffleXor(in[0], 5);
  out[1] = prim::shuffle(in[1], static_cast<int>(in[2] & 31));
  out[2] = prim::shuffleDown(in[0], 3);
  out[3] = prim::shuffleUp(in[0], 9);
  out[4] = prim::ballot(in[0] & 1);
  out[5] = asBits(prim::shuffleXor(asFloat(in[3]), 16));
  out[6] = prim::shuffle(in[4], 31 - lane);
}

ENGINE_DEVICE void partialShuffles(const uint32_t *in, uint32_t *out, int lane) {
  const uint32_t mask = lane < 8 ? 0x000000ffu : 0xffffff00u;
  out[0] = prim::shuffleXor(in[0], 7, mask);
  out[1] = prim::ballot(in[0] & 2, mask);
  prim::syncWarp(mask);
  out[2] = prim::shuffleXor(in[1], 3, mask);
}

template <class T> ENGINE_DEVICE void pack(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < 8; ++i)
    out[i] = prim::pack2<T>(asFloat(in[i]), -asFloat(in[i + 8]));
}

ENGINE_DEVICE void toFloat(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < 4; ++i) {
    Half half;
    half.bits = static_cast<uint16_t>(in[i]);
    BFloat16 bfloat;
    bfloat.bits = static_cast<uint16_t>(in[i] >> 16);
    out[2 * i] = asBits(prim::toFloat(half));
    out[2 * i + 1] = asBits(prim::toFloat(bfloat));
  }
}

ENGINE_DEVICE void runPrimitive(const PrimitiveArgs &args) {
  unsigned char *shared = prim::sharedMemory();
  uint32_t *words = reinterpret_cast<uint32_t *>(shared);
  const int lane = prim::threadIndex();
  const uint32_t *in = args.in + lane * kInWords;
  uint32_t *out = args.out + lane * kOutWords;
  uint32_t r[4] = {};
  uint32_t r2[2] = {};
  for (int i = 0; i < kInWords; ++i)
    words[lane * kInWords + i] = in[i];
  for (int i = 0; i < kOutWords; ++i)
    out[i] = 0;
  prim::syncBlock();
  switch (args.which) {
  case Primitive::kMmaF16:
    mma<Half>(in, out);
    break;
  case Primitive::kMmaBf16:
    mma<BFloat16>(in, out);
    break;
  case Primitive::kLdmatrix4:
    prim::ldmatrix4(r, shared + lane * 64);
    break;
  case Primitive::kLdmatrix4Transposed:
    prim::ldmatrix4Transposed(r, shared + lane * 64);
    break;
  case Primitive::kLdmatrix2Transposed:
    prim::ldmatrix2Transposed(r2, shared + lane * 64 + 16);
    break;
  case Primitive::kShuffle:
    shuffles(in, out, lane);
    break;
  case Primitive::kShufflePartial:
    partialShuffles(in, out, lane);
    break;
  case Primitive::kPackF16:
    pack<Half>(in, out);
    break;
  case Primitive::kPackBf16:
    pack<BFloat16>(in, out);
    break;
  case Primitive::kToFloat:
    toFloat(in, out);
    break;
  case Primitive::kExp2:
    for (int i = 0; i < kOutWords; ++i)
      out[i] = asBits(prim::exp2Fast(asFloat(in[i])));
    break;
  case Primitive::kTanh:
    for (int i = 0; i < kOutWords; ++i)
      out[i] = asBits(prim::tanhAccurate(asFloat(in[i])));
    break;
  case Primitive::kCopyAsync:
    prim::copyAsync16(words + 512 + 4 * lane, in, lane & 1);
    prim::commitCopies();
    prim::waitCopies<0>();
    prim::syncBlock();
    for (int i = 0; i < 4; ++i)
      out[i] = words[512 + 4 * (31 - lane) + i];
    break;
  case Primitive::kAtomic:
    prim::syncBlock();
    if (lane < 4)
      words[lane] = 0;
    prim::syncBlock();
    prim::addAtomic(words + in[0] % 4, in[1]);
    prim::syncBlock();
    if (lane < 4)
      out[0] = words[lane];
    break;
  default:
    break;
  }
  for (int i = 0; i < 4; ++i)
    out[i] |= r[i];
  for (int i = 0; i < 2; ++i)
    out[i] |= r2[i];
}

} // namespace

ENGINE_KERNEL_ENTRY(primitive, 32, PrimitiveArgs, runPrimitive)
