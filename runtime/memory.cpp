#include "runtime/memory.h"

namespace engine {

namespace {
constexpr size_t kAlignment = 64;
} // namespace

void MemoryBudget::take(size_t bytes) {
  if (limit_ != 0 && (bytes > limit_ || used_ > limit_ - bytes))
    throw Error("out of memory: " + std::to_string(used_) + " bytes are in use and " +
                    std::to_string(bytes) + " more are needed, but the limit is " +
                    std::to_string(limit_) + "; raise the memory limit or run shorter inputs",
                Error::Kind::kOutOfMemory);
  used_ += bytes;
}

AlignedBuffer::AlignedBuffer(MemoryBudget &budget, size_t bytes) {
  if (bytes > SIZE_MAX - kAlignment)
    throw Error("out of memory: a buffer's size does not fit into an address",
                Error::Kind::kOutOfMemory);
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded == 0)
    return;
  budget.take(rounded);
  data_ = static_cast<char *>(std::aligned_alloc(kAlignment, rounded));
  if (!data_) {
    budget.give(rounded);
    throw Error("out of memory: the system refused " + std::to_string(rounded) + " bytes",
                Error::Kind::kOutOfMemory);
  }
  budget_ = &budget;
  bytes_ = rounded;
}

AlignedBuffer::~AlignedBuffer() {
  if (!data_)
    return;
  std::free(data_);
  budget_->give(bytes_);
}

void AlignedBuffer::reserve(MemoryBudget &budget, size_t bytes) {
  if (bytes <= bytes_)
    return;
  *this = AlignedBuffer(); // freed before the larger one is taken
  *this = AlignedBuffer(budget, bytes);
}

char *BufferPool::take(size_t bytes) {
  Entry *best = nullptr;
  for (Entry &entry : entries_)
    if (entry.free && entry.buffer.bytes() >= bytes &&
        (!best || entry.buffer.bytes() < best->buffer.bytes()))
      best = &entry;
  if (!best) {
    // Rounded up, so that lengths that creep up do not each need a buffer of their own.
    size_t rounded = 256;
    while (rounded < bytes && rounded < (size_t{1} << 62))
      rounded *= 2;
    if (bytes > (size_t{1} << 20))
      rounded = (bytes + (bytes >> 3) + 4095) / 4096 * 4096;
    dropOneFree();
    entries_.push_back({AlignedBuffer(budget_, rounded), true});
    best = &entries_.back();
  }
  best->free = false;
  return best->buffer.data();
}

// A free buffer that was too small makes room for the larger one, so that the pool stays bounded.
void BufferPool::dropOneFree() {
  auto largest = entries_.end();
  for (auto it = entries_.begin(); it != entries_.end(); ++it)
    if (it->free && (largest == entries_.end() || largest->buffer.bytes() < it->buffer.bytes()))
      largest = it;
  if (largest != entries_.end())
    entries_.erase(largest);
}

void BufferPool::give(char *data) {
  for (Entry &entry : entries_)
    if (entry.buffer.data() == data)
      entry.free = true;
}

void BufferPool::reset() {
  for (Entry &entry : entries_)
    entry.free = true;
}

} // namespace engine
