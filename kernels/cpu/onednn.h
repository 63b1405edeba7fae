// oneDNN's matrix product of views.
#pragma once

#include "ir/view.h"

#include <cstdint>
#include <memory>

namespace engine::cpu {

// Pieces of scratch memory, 64-byte aligned, in order.
class Scratch {
public:
  explicit Scratch(void *base) : next_(static_cast<char *>(base)) {}

  static constexpr int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }
  template <class T> static constexpr int64_t bytes(int64_t count) {
    return aligned(count * static_cast<int64_t>(sizeof(T)));
  }
  template <class T> T *take(int64_t count) {
    char *piece = next_;
    next_ += bytes<T>(count);
    return reinterpret_cast<T *>(piece);
  }

private:
  char *next_;
};

// Whether it takes such an operand: one of the two inner axes dense, none with a gap of zero.
bool isOneDnnMatrix(const View &view);

// y = a b for f32, or bf16 where the machine has its dot product; ranks agree, axes in front of the
// last two may be broadcast. Keeps the primitives of the shapes seen last; may be used by several
// threads at a time.
class OneDnnProduct {
public:
  OneDnnProduct();
  ~OneDnnProduct();

  int64_t scratchBytes(const View &a, const View &b, const View &y, int threads) const;
  void run(const View &a, const View &b, const View &y, int threads, void *scratch) const;

private:
  class Primitives;
  std::unique_ptr<Primitives> primitives_;
};

} // namespace engine::cpu
