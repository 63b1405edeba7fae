#include "kernels/cuda/sim/fiber.h"

#include "ir/error.h"

#include <string>

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__)
#error "the fibers of the CUDA simulator switch stacks by x86-64 code"
#endif

// void engine_sim_switch(void **save, void *load): the callee-saved registers are all that a call
// keeps.
extern "C" void engine_sim_switch(void **save, void *load);
asm(R"(
.text
.hidden engine_sim_switch
.globl engine_sim_switch
.type engine_sim_switch,@function
engine_sim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp,(%rdi)
  movq %rsi,%rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size engine_sim_switch,.-engine_sim_switch
)");

namespace engine::sim {
namespace {

// Takes back what an address sanitizer thinks of memory that fibers have left for good.
void forgetFrames([[maybe_unused]] char *memory, [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(memory, bytes);
#endif
}

} // namespace

StackPool::~StackPool() { release(); }

void StackPool::release() {
  if (!memory_)
    return;
  for (int i = 0; i < count_; ++i)
    forgetFrames(stack(i), kStackBytes);
  munmap(memory_, static_cast<size_t>(count_) * kPitch);
  memory_ = nullptr;
  count_ = 0;
}

void StackPool::reserve(int count) {
  if (count <= count_)
    return;
  release();
  const size_t bytes = static_cast<size_t>(count) * kPitch;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw Error("no memory for the stacks of " + std::to_string(count) + " simulated threads",
                Error::Kind::kOutOfMemory);
  memory_ = static_cast<char *>(memory);
  count_ = count;
  for (int i = 0; i < count; ++i)
    mprotect(stack(i) - kGuard, kGuard, PROT_NONE);
}

bool StackPool::inGuard(const void *address) const {
  const uintptr_t offset =
      reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(memory_);
  return offset < static_cast<size_t>(count_) * kPitch && offset % kPitch < kGuard;
}

void switchContext(Context &from, Context &to, [[maybe_unused]] bool ends) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(ends ? nullptr : &from.fakeStack, to.stack, to.stackBytes);
#endif
  engine_sim_switch(&from.stackPointer, to.stackPointer);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.fakeStack, nullptr, nullptr);
#endif
}

void prepareFiber(Context &fiber, char *stack, size_t bytes, void (*entry)()) {
  forgetFrames(stack, bytes);
  constexpr int kSavedRegisters = 6;
  // As after a call: entry finds the stack pointer 8 bytes off a multiple of 16, above it a null
  // return address.
  void **top = reinterpret_cast<void **>(stack + bytes);
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(entry);
  for (int i = 0; i < kSavedRegisters; ++i)
    *--top = nullptr;
  fiber = {top, stack, bytes, nullptr};
}

void fiberStarted([[maybe_unused]] Context &host) {
#if defined(__SANITIZE_ADDRESS__)
  const void *bottom = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
  host.stack = static_cast<const char *>(bottom);
  host.stackBytes = bytes;
#endif
}

} // namespace engine::sim
