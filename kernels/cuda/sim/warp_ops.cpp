// Barriers, warp operations, asynchronous copies, atomics and access checks of the simulated
// device.
#include "kernels/cuda/sim/device_api.h"

#include "kernels/cuda/sim/machine.h"

#include "ir/half.h"

#include <algorithm>

extern "C" {
extern const char __executable_start;
extern const char _end;
}

namespace engine::sim {
namespace {

constexpr uint32_t kFullMask = 0xffffffffu;

Machine &machine() { return Machine::ofThisThread(); }

// Element i of a register row: 16-bit elements, the lower half first.
float element(const unsigned char *registers, int i, bool bf16) {
  uint16_t bits;
  std::memcpy(&bits, registers + 2 * i, sizeof bits);
  return bf16 ? bfloat16ToFloat(bits) : halfToFloat(bits);
}

struct MmaOperands {
  uint32_t a[4];
  uint32_t b[2];
  uint32_t unused[2];
  float c[4];
};

// Lane 4g + t holds of A rows g, g + 8 and columns 2t, 2t + 1, 2t + 8, 2t + 9; of B the same rows
// in column g; of C and D rows g, g + 8 and columns 2t, 2t + 1.
template <bool kBf16> void finishMma(Collective &collective) {
  float a[16][16];
  float b[16][8];
  float c[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4;
    const int t = lane % 4;
    const unsigned char *in = collective.in[lane];
    for (int i = 0; i < 8; ++i) {
      const int row = g + (i / 2 % 2) * 8;
      const int column = 2 * t + i % 2 + (i / 4) * 8;
      a[row][column] = element(in, i, kBf16);
    }
    for (int i = 0; i < 4; ++i)
      b[2 * t + i % 2 + (i / 2) * 8][g] = element(in + 16, i, kBf16);
    float accumulator[4];
    std::memcpy(accumulator, in + offsetof(MmaOperands, c), sizeof accumulator);
    for (int i = 0; i < 4; ++i)
      c[g + (i / 2) * 8][2 * t + i % 2] = accumulator[i];
  }
  for (int i = 0; i < 16; ++i) {
    for (int k = 0; k < 16; ++k) {
      for (int j = 0; j < 8; ++j)
        c[i][j] += a[i][k] * b[k][j];
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4;
    const int t = lane % 4;
    const float d[4] = {c[g][2 * t], c[g][2 * t + 1], c[g + 8][2 * t], c[g + 8][2 * t + 1]};
    std::memcpy(collective.out[lane], d, sizeof d);
  }
}

struct MatrixRow {
  uint16_t elements[8];
  uint32_t offset; // of the row in shared memory
  int32_t count;
};

// A matrix of 8 rows of 16 bytes takes as many waves as rows fall into one group of 4 banks.
void finishLdmatrix(Collective &collective) {
  MatrixRow row;
  std::memcpy(&row, collective.in[0], sizeof row);
  Stats &stats = machine().stats();
  const int count = row.count;
  stats.ldmatrixWavesIdeal += count;
  for (int m = 0; m < count; ++m) {
    int rowsInGroup[8] = {};
    for (int i = 0; i < 8; ++i) {
      std::memcpy(&row, collective.in[8 * m + i], sizeof row);
      ++rowsInGroup[row.offset / 16 % 8];
    }
    stats.ldmatrixWaves += *std::max_element(rowsInGroup, rowsInGroup + 8);
  }
}

bool inShared(const ThreadInfo &thread, const void *address, size_t bytes) {
  const auto offset =
      reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(thread.shared);
  return offset < thread.sharedBytes && bytes <= thread.sharedBytes - offset;
}

std::string sharedByte(const ThreadInfo &thread, const void *address) {
  const int64_t offset = static_cast<const unsigned char *>(address) - thread.shared;
  return "byte " + std::to_string(offset) + " of " + std::to_string(thread.sharedBytes);
}

void checkAlignment(const void *address, size_t bytes, const char *what, Site site) {
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
    fail(FaultKind::kMisaligned, std::string(what) + " is no multiple of " + std::to_string(bytes),
         site);
}

const char *accessName(AccessKind kind) {
  return kind == AccessKind::kRead ? "read" : kind == AccessKind::kWrite ? "write" : "atomic";
}

void noteSharedAccess(const void *address, size_t bytes, AccessKind kind, Site site) {
  Machine &m = machine();
  if (!m.options().findRaces)
    return;
  Fiber &self = m.running();
  const size_t offset = static_cast<const unsigned char *>(address) - self.info.shared;
  const Race race = self.block->races.access(self.index, offset, bytes, kind);
  if (!race.found)
    return;
  m.fail(FaultKind::kRace,
         std::string(accessName(kind)) + " of " + std::to_string(bytes) + " bytes at byte " +
             std::to_string(offset) + " of shared memory after a " + accessName(race.before) +
             " by " +
             (race.thread < 0 ? "other threads" : "thread " + std::to_string(race.thread)) +
             " without a barrier between",
         site);
}

void noteGlobalAccess(const void *address, size_t bytes, bool write, Site site) {
  Machine &m = machine();
  (write ? m.stats().globalBytesWritten : m.stats().globalBytesRead) += static_cast<int64_t>(bytes);
  const MemoryMap *memory = m.options().memory;
  if (!memory || memory->contains(address, bytes))
    return;
  const bool constant = !write && address >= &__executable_start && address < &_end;
  if (constant)
    return;
  if (m.running().block->shared.inGuard(address))
    m.fail(FaultKind::kSharedOutOfRange,
           (write ? "write: " : "read: ") + sharedByte(m.running().info, address), site);
  m.fail(FaultKind::kGlobalOutOfRange,
         std::string(write ? "write" : "read") + " of " + std::to_string(bytes) +
             " bytes: " + memory->describe(address),
         site);
}

void landCopy(const PendingCopy &copy, Site site) {
  noteSharedAccess(copy.shared, copy.bytes, AccessKind::kWrite, site);
  std::memcpy(copy.shared, copy.global, copy.sourceBytes);
  std::memset(copy.shared + copy.sourceBytes, 0, copy.bytes - copy.sourceBytes);
}

template <class T> T applyAtomic(AtomicOp op, T *address, T value, Site site) {
  noteAtomic(address, sizeof(T), site);
  machine().progress();
  const T old = *address;
  switch (op) {
  case AtomicOp::kAdd:
    *address = old + value;
    break;
  case AtomicOp::kMin:
    *address = std::min(old, value);
    break;
  case AtomicOp::kMax:
    *address = std::max(old, value);
    break;
  case AtomicOp::kExchange:
    *address = value;
    break;
  default:
    if constexpr (std::is_integral_v<T>)
      *address = op == AtomicOp::kOr ? old | value : old & value;
    else
      fail(FaultKind::kKernel, "a bitwise atomic on floats", site);
  }
  return old;
}

} // namespace

const ThreadInfo &thisThread() { return *currentThread; }

void fail(FaultKind kind, const std::string &what, Site site) { machine().fail(kind, what, site); }

void syncBlock(Site site) { machine().arriveAtBarrier(site); }

void syncWarp(uint32_t mask, Site site) {
  Machine &m = machine();
  m.leave(m.join(mask, WarpOp::kSync, nullptr, 0, site, nullptr));
}

uint32_t ballot(uint32_t mask, bool vote, Site site) {
  Machine &m = machine();
  const unsigned char in = vote;
  Collective &collective = m.join(mask, WarpOp::kVote, &in, sizeof in, site, nullptr);
  uint32_t votes = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (((collective.toLeave | collective.arrived) >> lane) & 1)
      votes |= static_cast<uint32_t>(collective.in[lane][0]) << lane;
  }
  m.leave(collective);
  return votes;
}

uint64_t shuffleBits(uint32_t mask, uint64_t value, int source, Site site) {
  Machine &m = machine();
  Collective &collective = m.join(mask, WarpOp::kShuffle, &value, sizeof value, site, nullptr);
  if (!((collective.arrived >> source) & 1))
    fail(FaultKind::kBadLane,
         "the value of lane " + std::to_string(source) + ", which takes no part in the shuffle",
         site);
  std::memcpy(&value, collective.in[source], sizeof value);
  m.leave(collective);
  return value;
}

void mma16816(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], bool bf16, Site site) {
  Machine &m = machine();
  MmaOperands operands{};
  std::copy(a, a + 4, operands.a);
  std::copy(b, b + 2, operands.b);
  std::copy(d, d + 4, operands.c);
  const WarpOp op = bf16 ? WarpOp::kMmaBf16 : WarpOp::kMmaF16;
  Collective &collective = m.join(kFullMask, op, &operands, sizeof operands, site,
                                  bf16 ? finishMma<true> : finishMma<false>);
  const int lane = m.running().info.lane;
  std::memcpy(d, collective.out[lane], sizeof d);
  m.stats().mmas += lane == 0;
  m.leave(collective);
}

void ldmatrix(uint32_t *registers, const void *row, int count, bool transposed, Site site) {
  Machine &m = machine();
  const ThreadInfo &thread = *currentThread;
  const int lane = thread.lane;
  MatrixRow in{};
  in.count = count;
  if (lane < 8 * count) { // the other lanes' addresses are not used
    checkAlignment(row, 16, "the address of ldmatrix", site);
    if (!inShared(thread, row, 16))
      fail(FaultKind::kSharedOutOfRange, "ldmatrix: " + sharedByte(thread, row), site);
    noteSharedAccess(row, 16, AccessKind::kRead, site);
    std::memcpy(in.elements, row, sizeof in.elements);
    in.offset = static_cast<uint32_t>(static_cast<const unsigned char *>(row) - thread.shared);
  }
  const WarpOp op = transposed ? WarpOp::kLdmatrixTrans : WarpOp::kLdmatrix;
  Collective &collective = m.join(kFullMask, op, &in, sizeof in, site, finishLdmatrix);
  const auto elementOf = [&](int matrix, int r, int c) {
    uint16_t value;
    std::memcpy(&value, collective.in[8 * matrix + r] + 2 * c, sizeof value);
    return static_cast<uint32_t>(value);
  };
  const int g = lane / 4;
  const int t = lane % 4;
  for (int i = 0; i < count; ++i) {
    const uint32_t low = transposed ? elementOf(i, 2 * t, g) : elementOf(i, g, 2 * t);
    const uint32_t high = transposed ? elementOf(i, 2 * t + 1, g) : elementOf(i, g, 2 * t + 1);
    registers[i] = low | high << 16;
  }
  m.leave(collective);
}

void copyAsync(void *shared, const void *global, int bytes, int sourceBytes, Site site) {
  Machine &m = machine();
  Fiber &self = m.running();
  self.site = site;
  if (bytes != 4 && bytes != 8 && bytes != 16)
    fail(FaultKind::kBadCopy, "cp.async of " + std::to_string(bytes) + " bytes", site);
  if (sourceBytes < 0 || sourceBytes > bytes)
    fail(FaultKind::kBadCopy,
         "cp.async of " + std::to_string(sourceBytes) + " out of " + std::to_string(bytes) +
             " bytes",
         site);
  checkAlignment(shared, bytes, "the shared address of cp.async", site);
  checkAlignment(global, bytes, "the global address of cp.async", site);
  if (!inShared(self.info, shared, bytes))
    fail(FaultKind::kSharedOutOfRange, "cp.async: " + sharedByte(self.info, shared), site);
  if (sourceBytes > 0)
    noteGlobalAccess(global, sourceBytes, false, site);
  noteSharedAccess(shared, bytes, AccessKind::kWrite, site);
  ++m.stats().asyncCopies;
  m.stats().asyncBytes += bytes;
  const PendingCopy copy{static_cast<unsigned char *>(shared),
                         static_cast<const unsigned char *>(global), bytes, sourceBytes,
                         self.copyGroup};
  if (m.options().copies == CopyTiming::kEarly)
    landCopy(copy, site);
  self.copies.push_back(copy);
}

void commitCopies() { ++machine().running().copyGroup; }

void waitCopies(int groupsInFlight) {
  Machine &m = machine();
  Fiber &self = m.running();
  const bool late = m.options().copies == CopyTiming::kLate;
  size_t kept = 0;
  for (const PendingCopy &copy : self.copies) {
    if (self.copyGroup - copy.group <= groupsInFlight)
      self.copies[kept++] = copy;
    else if (late)
      landCopy(copy, self.site);
  }
  self.copies.resize(kept);
}

void poll(Site site) { machine().poll(site); }

void progress() { machine().progress(); }

void noteAccess(const void *address, size_t bytes, bool write, Site site) {
  const ThreadInfo *thread = currentThread;
  if (!thread)
    return; // host code of an instrumented file
  if (inShared(*thread, address, bytes)) {
    noteSharedAccess(address, bytes, write ? AccessKind::kWrite : AccessKind::kRead, site);
    return;
  }
  const auto inInfo = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(thread);
  if (!write && (inInfo < sizeof *thread || machine().isArgument(address)))
    return;
  const Context &context = machine().running().context;
  const auto onStack =
      reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(context.stack);
  if (onStack < context.stackBytes)
    return;
  const auto nearShared =
      reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(thread->shared) + 512;
  if (nearShared < thread->sharedBytes + 1024)
    fail(FaultKind::kSharedOutOfRange,
         (write ? "write: " : "read: ") + sharedByte(*thread, address), site);
  noteGlobalAccess(address, bytes, write, site);
}

void noteAtomic(const void *address, size_t bytes, Site site) {
  checkAlignment(address, bytes, "the address of an atomic operation", site);
  if (inShared(*currentThread, address, bytes))
    noteSharedAccess(address, bytes, AccessKind::kAtomic, site);
  else
    noteAccess(address, bytes, true, site);
}

void checkShared(const void *address, size_t bytes, bool write, Site site) {
  checkAlignment(address, bytes, "a shared address", site);
  if (!inShared(*currentThread, address, bytes))
    fail(FaultKind::kSharedOutOfRange,
         (write ? "write: " : "read: ") + sharedByte(*currentThread, address), site);
  noteSharedAccess(address, bytes, write ? AccessKind::kWrite : AccessKind::kRead, site);
}

void checkGlobal(const void *address, size_t bytes, bool write, Site site) {
  checkAlignment(address, bytes, "an address", site);
  noteAccess(address, bytes, write, site);
}

uint32_t atomicU32(AtomicOp op, uint32_t *address, uint32_t value, Site site) {
  return applyAtomic(op, address, value, site);
}
int32_t atomicS32(AtomicOp op, int32_t *address, int32_t value, Site site) {
  return applyAtomic(op, address, value, site);
}
uint64_t atomicU64(AtomicOp op, uint64_t *address, uint64_t value, Site site) {
  return applyAtomic(op, address, value, site);
}
float atomicF32(AtomicOp op, float *address, float value, Site site) {
  return applyAtomic(op, address, value, site);
}

uint32_t compareAndSwapU32(uint32_t *address, uint32_t expected, uint32_t value, Site site) {
  noteAtomic(address, sizeof *address, site);
  const uint32_t old = *address;
  if (old != expected)
    return old;
  *address = value;
  progress();
  return old;
}

} // namespace engine::sim
