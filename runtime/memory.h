// Memory of a session: 64-byte aligned, counted against its limit.
#pragma once

#include "ir/error.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <vector>

namespace engine {

class MemoryBudget {
public:
  explicit MemoryBudget(size_t limit) : limit_(limit) {}
  size_t used() const { return used_; }
  // Throws Error (kOutOfMemory) beyond the limit.
  void take(size_t bytes);
  void give(size_t bytes) { used_ -= bytes; }

private:
  size_t limit_ = 0; // 0: none
  size_t used_ = 0;
};

// Uninitialised.
class AlignedBuffer {
public:
  AlignedBuffer() = default;
  AlignedBuffer(MemoryBudget &budget, size_t bytes);
  AlignedBuffer(AlignedBuffer &&other) noexcept { swap(other); }
  AlignedBuffer &operator=(AlignedBuffer &&other) noexcept {
    swap(other);
    return *this;
  }
  ~AlignedBuffer();

  char *data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // At least `bytes`; the content is lost when it grows.
  void reserve(MemoryBudget &budget, size_t bytes);

private:
  void swap(AlignedBuffer &other) {
    std::swap(budget_, other.budget_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  MemoryBudget *budget_ = nullptr;
  char *data_ = nullptr;
  size_t bytes_ = 0;
};

// Buffers for values whose size is only known when they are made. Given back ones are used again.
class BufferPool {
public:
  explicit BufferPool(MemoryBudget &budget) : budget_(budget) {}
  char *take(size_t bytes);
  void give(char *data);
  // All buffers are free again.
  void reset();

private:
  struct Entry {
    AlignedBuffer buffer;
    bool free = true;
  };
  void dropOneFree();

  MemoryBudget &budget_;
  std::vector<Entry> entries_;
};

} // namespace engine
