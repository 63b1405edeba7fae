#include "kernels/cuda/sim/race_checker.h"

#include <algorithm>

namespace engine::sim {

void RaceChecker::begin(int threads, size_t sharedBytes) {
  ++epoch_;
  const size_t cells = (sharedBytes + kGranule - 1) / kGranule;
  if (cells_.size() < cells)
    cells_.resize(cells);
  clock_.assign(threads, 1);
  seen_.assign(threads, {});
}

void RaceChecker::warpBarrier(int firstThread, uint32_t mask) {
  std::array<uint32_t, 32> joined{};
  uint32_t latest = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (!((mask >> lane) & 1))
      continue;
    const int thread = firstThread + lane;
    for (int other = 0; other < 32; ++other)
      joined[other] = std::max(joined[other], seen_[thread][other]);
    joined[lane] = std::max(joined[lane], clock_[thread]);
    latest = std::max(latest, clock_[thread]);
  }
  for (int lane = 0; lane < 32; ++lane) {
    if (!((mask >> lane) & 1))
      continue;
    seen_[firstThread + lane] = joined;
    clock_[firstThread + lane] = latest + 1;
  }
}

bool RaceChecker::writeIsOrdered(const WriteMark &mark, int thread) const {
  if (mark.epoch != epoch_ || mark.thread == thread)
    return true;
  return mark.thread / 32 == thread / 32 && seen_[thread][mark.thread % 32] >= mark.clock;
}

bool RaceChecker::readIsOrdered(const ReadMark &mark, int thread) const {
  if (mark.epoch != epoch_)
    return true;
  if (mark.severalWarps || mark.warp != thread / 32)
    return false;
  for (int lane = 0; lane < 32; ++lane) {
    const bool other = ((mark.lanes >> lane) & 1) && lane != thread % 32;
    if (other && seen_[thread][lane] < mark.clock)
      return false;
  }
  return true;
}

void RaceChecker::noteRead(ReadMark &mark, int thread, uint8_t bytes) {
  const uint32_t lane = 1u << (thread % 32);
  if (mark.epoch != epoch_ || (!mark.severalWarps && readIsOrdered(mark, thread))) {
    mark = {epoch_, clock_[thread], lane, static_cast<uint8_t>(thread / 32), bytes, false};
    return;
  }
  mark.bytes |= bytes;
  if (mark.warp != thread / 32) {
    mark.severalWarps = true;
    return;
  }
  mark.lanes |= lane;
  mark.clock = std::max(mark.clock, clock_[thread]);
}

Race RaceChecker::access(int thread, size_t offset, size_t bytes, AccessKind kind) {
  Race race;
  const size_t first = offset / kGranule;
  const size_t last = (offset + bytes - 1) / kGranule;
  for (size_t i = first; i <= last; ++i) {
    const size_t low = std::max(offset, i * kGranule) - i * kGranule;
    const size_t high = std::min(offset + bytes, (i + 1) * kGranule) - i * kGranule;
    const uint8_t touched = static_cast<uint8_t>(((1u << high) - 1) & ~((1u << low) - 1));
    Cell &cell = cells_[i];
    const bool bothAtomic = kind == AccessKind::kAtomic && cell.write.atomic;
    if ((cell.write.bytes & touched) && !bothAtomic && !writeIsOrdered(cell.write, thread))
      race = {true, cell.write.atomic ? AccessKind::kAtomic : AccessKind::kWrite,
              cell.write.thread};
    if (kind == AccessKind::kRead) {
      noteRead(cell.read, thread, touched);
      continue;
    }
    if ((cell.read.bytes & touched) && !readIsOrdered(cell.read, thread))
      race = {true, AccessKind::kRead, -1};
    const bool merge = cell.write.epoch == epoch_ && cell.write.thread == thread;
    const uint8_t all = static_cast<uint8_t>(merge ? cell.write.bytes | touched : touched);
    cell.write = {epoch_, clock_[thread], static_cast<uint16_t>(thread), all,
                  kind == AccessKind::kAtomic};
  }
  return race;
}

} // namespace engine::sim
