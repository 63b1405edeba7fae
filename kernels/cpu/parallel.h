// The one place with OpenMP: a loop over independent items. Without OpenMP it is a plain loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <type_traits>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace engine::cpu {

enum class Schedule : uint8_t {
  kStatic,  // equal shares, for items that cost the same
  kDynamic, // one item at a time, for items that do not
};

namespace detail {

// The first exception of a parallel region, kept until the region has ended: none may leave it.
class FirstException {
public:
  bool caught() const { return caught_.load(std::memory_order_relaxed); }

  template <class Call> void guard(Call &&call) noexcept {
    try {
      call();
    } catch (...) {
      if (!caught_.exchange(true))
        exception_ = std::current_exception();
    }
  }

  void rethrow() const {
    if (exception_)
      std::rethrow_exception(exception_);
  }

private:
  std::atomic<bool> caught_{false};
  std::exception_ptr exception_;
};

template <class Body> void callBody(Body &body, int64_t item, int worker) {
  if constexpr (std::is_invocable_v<Body &, int64_t, int>)
    body(item, worker);
  else
    body(item);
}

} // namespace detail

// Calls body(item) or body(item, worker) for every item in [0, count); `worker` is in [0, threads)
// and no two calls run at once with the same one. When a body throws, items that have not started
// are skipped and the first exception is rethrown here.
template <class Body>
void parallelFor(int64_t count, int threads, Body &&body, Schedule schedule = Schedule::kStatic) {
  if (count <= 0)
    return;
#if defined(_OPENMP)
  if (threads > 1 && count > 1) {
    detail::FirstException first;
    const auto run = [&](int64_t item) {
      if (!first.caught())
        first.guard([&] { detail::callBody(body, item, omp_get_thread_num()); });
    };
    const int workers = count < threads ? static_cast<int>(count) : threads;
    if (schedule == Schedule::kDynamic) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers)
      for (int64_t item = 0; item < count; ++item)
        run(item);
    } else {
#pragma omp parallel for schedule(static) num_threads(workers)
      for (int64_t item = 0; item < count; ++item)
        run(item);
    }
    first.rethrow();
    return;
  }
#endif
  static_cast<void>(threads);
  static_cast<void>(schedule);
  for (int64_t item = 0; item < count; ++item)
    detail::callBody(body, item, 0);
}

} // namespace engine::cpu
