// What the compiler calls at every memory access of a file built with -fsanitize=thread. Linked in
// the place of that sanitizer's own runtime, which must be absent, these report the accesses of
// kernels to the simulated device.
#include "kernels/cuda/sim/device_api.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ENGINE_REAL_SANITIZER 1
#endif
#endif

#if !defined(__SANITIZE_THREAD__) && !defined(ENGINE_REAL_SANITIZER)

namespace {

void note(const void *address, size_t bytes, bool write) {
  if (engine::sim::currentThread)
    engine::sim::noteAccess(address, bytes, write, engine::sim::Site());
}

} // namespace

#define ENGINE_SIM_ACCESS(bytes)                                                                   \
  void __tsan_read##bytes(void *p) { note(p, bytes, false); }                                      \
  void __tsan_write##bytes(void *p) { note(p, bytes, true); }                                      \
  void __tsan_unaligned_read##bytes(void *p) { note(p, bytes, false); }                            \
  void __tsan_unaligned_write##bytes(void *p) { note(p, bytes, true); }                            \
  void __tsan_volatile_read##bytes(void *p) { note(p, bytes, false); }                             \
  void __tsan_volatile_write##bytes(void *p) { note(p, bytes, true); }

extern "C" {
ENGINE_SIM_ACCESS(1)
ENGINE_SIM_ACCESS(2)
ENGINE_SIM_ACCESS(4)
ENGINE_SIM_ACCESS(8)
ENGINE_SIM_ACCESS(16)
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}
void __tsan_read_range(void *p, size_t bytes) { note(p, bytes, false); }
void __tsan_write_range(void *p, size_t bytes) { note(p, bytes, true); }

// Atomics of the host code in such a file: static variables and reference counts of the standard
// library.
int __tsan_atomic32_load(const volatile int *p, int) {
  return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
signed char __tsan_atomic8_load(const volatile signed char *p, int) {
  return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
int __tsan_atomic32_fetch_add(volatile int *p, int value, int) {
  return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);
}
void __tsan_atomic32_store(volatile int *p, int value, int) {
  __atomic_store_n(p, value, __ATOMIC_SEQ_CST);
}
}

#endif
