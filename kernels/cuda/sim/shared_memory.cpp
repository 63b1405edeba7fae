#include "kernels/cuda/sim/machine.h"

#include <sys/mman.h>

namespace engine::sim {
namespace {
constexpr unsigned char kPoison = 0xff; // NaN in every floating-point type
constexpr unsigned char kCanaryByte = 0xa5;
} // namespace

SharedMemory::SharedMemory() {
  void *map = mmap(nullptr, kGuard + kCapacity + kGuard, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED)
    throw Error("no memory for simulated shared memory", Error::Kind::kOutOfMemory);
  map_ = static_cast<unsigned char *>(map);
  mprotect(map_, kGuard, PROT_NONE);
  mprotect(map_ + kGuard + kCapacity, kGuard, PROT_NONE);
}

SharedMemory::~SharedMemory() { munmap(map_, kGuard + kCapacity + kGuard); }

void SharedMemory::begin(size_t bytes) {
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  bytes_ = bytes;
  data_ = map_ + kGuard + kCapacity - rounded;
  std::memset(data_ - kCanary, kCanaryByte, kCanary);
  std::memset(data_, kPoison, bytes);
  std::memset(data_ + bytes, kCanaryByte, rounded - bytes);
}

bool SharedMemory::inGuard(const void *address) const {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(map_);
  return offset < kGuard || (offset >= kGuard + kCapacity && offset < kGuard + kCapacity + kGuard);
}

std::optional<int64_t> SharedMemory::overwritten() const {
  const unsigned char *end = map_ + kGuard + kCapacity;
  for (const unsigned char *p = data_ - kCanary; p < end; ++p) {
    if (p == data_)
      p += bytes_;
    if (p < end && *p != kCanaryByte)
      return p - data_;
  }
  return std::nullopt;
}

} // namespace engine::sim
