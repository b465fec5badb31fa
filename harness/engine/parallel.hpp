#pragma once
// A loop over independent pieces of work on several threads.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace attn {

// Calls body(first, end) for ranges of at most `grain` that cover [0, count). Rethrows the first exception of a body. `body` may run in several threads at once.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t grain, Body&& body) {
  constexpr std::int64_t kMostThreads = 16;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t pieces = (count + grain - 1) / grain;
  const std::int64_t threads = std::min({pieces, kMostThreads, static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()))});
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  const auto work = [&] {
    try {
      for (std::int64_t piece; (piece = next++) < pieces;) body(piece * grain, std::min(count, (piece + 1) * grain));
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = pieces;
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::int64_t i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attn
