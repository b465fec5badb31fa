#pragma once
// The threads of one opened backend: made once in open, woken for each operation, so that run creates and allocates nothing.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "abi/attn_abi.h"

namespace attn {

inline void relax_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// CPU threads that a backend may use; the hardware's number when the host does not say.
inline int threads_of(const attn_device_facts& device) {
  if (device.threads > 0) return device.threads;
  const unsigned hardware = std::thread::hardware_concurrency();
  return hardware ? static_cast<int>(hardware) : 1;
}

class Threads {
 public:
  // The calling thread is one of `count`.
  explicit Threads(int count) {
    try {
      for (int i = 1; i < count; ++i) workers_.emplace_back([this, i] { serve(i); });
    } catch (...) {  // the system gives no more
      end();
      throw;
    }
  }
  ~Threads() { end(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(task, thread) once for every task in [0, tasks), the lower ones first. Bodies must not throw.
  template <class Body>
  void each(std::int64_t tasks, const Body& body) {
    if (tasks <= 1 || workers_.empty()) {
      for (std::int64_t task = 0; task < tasks; ++task) body(task, 0);
      return;
    }
    context_ = &body;
    call_ = [](const void* context, std::int64_t task, int thread) { (*static_cast<const Body*>(context))(task, thread); };
    tasks_ = tasks;
    next_.store(0, std::memory_order_relaxed);
    busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    take_tasks(0);
    wait_while(busy_, [](int busy) { return busy != 0; });
  }

  // Calls body(first, end, thread) on ranges that cover [0, count), each of about `grain` or more.
  template <class Body>
  void ranges(std::int64_t count, std::int64_t grain, const Body& body) {
    const std::int64_t wanted = 4 * this->count();  // a few more than threads, for balance
    const std::int64_t size = std::max<std::int64_t>(std::max<std::int64_t>(grain, 1), (count + wanted - 1) / wanted);
    each((count + size - 1) / size, [&](std::int64_t task, int thread) { body(task * size, std::min(count, (task + 1) * size), thread); });
  }

 private:
  void end() {
    stop_ = true;
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  // Spins for the length of a short operation, because the next one follows at once; then sleeps.
  template <class Value, class Busy>
  static Value wait_while(const std::atomic<Value>& word, Busy busy) {
    constexpr int kSpins = 4000;
    for (int spin = 0; spin < kSpins; ++spin) {
      const Value value = word.load(std::memory_order_acquire);
      if (!busy(value)) return value;
      relax_cpu();
    }
    for (;;) {
      const Value value = word.load(std::memory_order_acquire);
      if (!busy(value)) return value;
      word.wait(value, std::memory_order_acquire);
    }
  }

  void take_tasks(int thread) {
    for (;;) {
      const std::int64_t task = next_.fetch_add(1, std::memory_order_relaxed);
      if (task >= tasks_) return;
      call_(context_, task, thread);
    }
  }

  void serve(int thread) {
    std::uint64_t seen = 0;
    for (;;) {
      seen = wait_while(generation_, [&](std::uint64_t value) { return value == seen; });
      if (stop_) return;
      take_tasks(thread);
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
    }
  }

  std::vector<std::thread> workers_;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<int> busy_{0};
  std::atomic<std::int64_t> next_{0};
  std::int64_t tasks_ = 0;
  void (*call_)(const void*, std::int64_t, int) = nullptr;
  const void* context_ = nullptr;
  std::atomic<bool> stop_{false};
};

}  // namespace attn
