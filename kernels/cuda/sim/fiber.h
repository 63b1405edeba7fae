// Fibers: stacks that one host thread switches between. x86-64 only, like the switch in fiber.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

namespace engine::sim {

// Stacks of one size in one mapping, each above a page that faults.
class StackPool {
public:
  StackPool() = default;
  StackPool(const StackPool &) = delete;
  StackPool &operator=(const StackPool &) = delete;
  ~StackPool();

  // At least `count` stacks. Stacks handed out before are invalid when the pool grows.
  void reserve(int count);
  char *stack(int i) const { return memory_ + static_cast<size_t>(i) * kPitch + kGuard; }
  bool inGuard(const void *address) const;

  static constexpr size_t kGuard = 4096;
#if defined(__SANITIZE_ADDRESS__)
  static constexpr size_t kStackBytes = 256 << 10;
#else
  static constexpr size_t kStackBytes = 64 << 10;
#endif

private:
  static constexpr size_t kPitch = kStackBytes + kGuard;

  void release();

  char *memory_ = nullptr;
  int count_ = 0;
};

// Where a fiber, or the host thread that runs fibers, goes on.
struct Context {
  void *stackPointer = nullptr;
  const char *stack = nullptr; // lowest address and size: what a sanitizer has to be told
  size_t stackBytes = 0;
  void *fakeStack = nullptr;
};

// Leaves `from` and goes on in `to`. A fiber that `ends` is never resumed.
void switchContext(Context &from, Context &to, bool ends = false);

// Makes `fiber` start with entry() when it is switched to; entry must not return.
void prepareFiber(Context &fiber, char *stack, size_t bytes, void (*entry)());

// The first thing that entry() does; `host` learns the bounds of the host thread's stack.
void fiberStarted(Context &host);

} // namespace engine::sim
