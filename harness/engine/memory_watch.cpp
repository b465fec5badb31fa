#include "engine/memory_watch.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace attn {
namespace {

// The first calls fill pools, caches and thread stacks; a trend needs calls beyond them.
constexpr std::size_t kSettling = 4, kFewest = 7;

std::int64_t resident_bytes() {
  long long total = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lld %lld", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace

void MemoryWatch::sample() {
  const struct mallinfo2 books = mallinfo2();
  malloc_bytes_.push_back(static_cast<std::int64_t>(books.uordblks + books.hblkhd));
  resident_bytes_.push_back(resident_bytes());
}

std::int64_t steady_growth(const std::vector<std::int64_t>& held) {
  std::vector<std::int64_t> steps;
  for (std::size_t i = std::max(kSettling, held.size() / 2); i < held.size(); ++i) steps.push_back(held[i] - held[i - 1]);
  if (steps.empty()) return 0;
  const auto rising = std::count_if(steps.begin(), steps.end(), [](std::int64_t step) { return step > 0; });
  if (4 * static_cast<std::size_t>(rising) < 3 * steps.size()) return 0;
  std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end());
  return std::max<std::int64_t>(0, steps[steps.size() / 2]);
}

std::optional<std::int64_t> MemoryWatch::growth_bytes() const {
  if (malloc_bytes_.size() < kFewest) return std::nullopt;
  return std::max(steady_growth(malloc_bytes_), steady_growth(resident_bytes_));
}

}  // namespace attn
