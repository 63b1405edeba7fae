// Finds races in one block's shared memory: two accesses to a byte, one of them a write, by threads
// between which no barrier stands. Only barriers order memory; shuffles, votes and matrix
// instructions do not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace engine::sim {

enum class AccessKind : uint8_t { kRead, kWrite, kAtomic };

struct Race {
  bool found = false;
  AccessKind before = AccessKind::kRead;
  int thread = -1; // -1: several
};

class RaceChecker {
public:
  // A new block: nothing that happened before can race with it.
  void begin(int threads, size_t sharedBytes);
  void blockBarrier() { ++epoch_; }
  // The lanes of `mask` in the warp that starts at `firstThread` met in a warp barrier.
  void warpBarrier(int firstThread, uint32_t mask);

  Race access(int thread, size_t offset, size_t bytes, AccessKind kind);

private:
  // Accesses of one granule of two bytes since the block barrier number `epoch`; `clock` is the
  // accessing lane's count of warp barriers. Reads by lanes of one warp share a mark; lanes that
  // took part in different warp barriers only look later than they are.
  struct WriteMark {
    uint32_t epoch = 0;
    uint32_t clock = 0;
    uint16_t thread = 0;
    uint8_t bytes = 0;
    bool atomic = false;
  };
  struct ReadMark {
    uint32_t epoch = 0;
    uint32_t clock = 0;
    uint32_t lanes = 0;
    uint8_t warp = 0;
    uint8_t bytes = 0;
    bool severalWarps = false;
  };
  struct Cell {
    WriteMark write;
    ReadMark read;
  };
  static constexpr size_t kGranule = 2;

  bool writeIsOrdered(const WriteMark &mark, int thread) const;
  bool readIsOrdered(const ReadMark &mark, int thread) const;
  void noteRead(ReadMark &mark, int thread, uint8_t bytes);

  std::vector<Cell> cells_;
  uint32_t epoch_ = 0;
  std::vector<uint32_t> clock_;
  std::vector<std::array<uint32_t, 32>>
      seen_; // per thread: the clocks of its warp's lanes that are ordered before it
};

} // namespace engine::sim
