#include "engine/memory_watch.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace attn {
namespace {

// The first calls fill pools, caches and thread stacks; a trend needs calls beyond them.
constexpr std::size_t kSettling = 4, kFewest = 7;
// What comes and goes by chance: small blocks of an interpreter and of an allocator's own; pages, which the kernel counts in lots.
constexpr std::int64_t kMallocFloor = 4096, kResidentFloor = 65536;
// Room for all samples of a trial: growing in between would be in the books it reads.
constexpr std::size_t kRoom = 1024;

std::int64_t resident_bytes() {
  long long total = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lld %lld", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace

HeldMemory memory_of_this_process() {
  const struct mallinfo2 books = mallinfo2();
  return {static_cast<std::int64_t>(books.uordblks + books.hblkhd), resident_bytes()};
}

MemoryWatch::MemoryWatch(std::function<HeldMemory()> read) : read_(std::move(read)) {
  malloc_bytes_.reserve(kRoom);
  resident_bytes_.reserve(kRoom);
}

void MemoryWatch::sample() {
  const HeldMemory held = read_();
  malloc_bytes_.push_back(held.malloc_bytes);
  resident_bytes_.push_back(held.resident_bytes);
}

void MemoryWatch::doubt(const std::function<void()>& call_and_sample) {
  if (growth_bytes().value_or(0) == 0) return;
  for (std::size_t more = malloc_bytes_.size(); more > 0; --more) call_and_sample();
}

std::int64_t steady_growth(const std::vector<std::int64_t>& held, std::int64_t floor_bytes) {
  std::vector<std::int64_t> steps;
  for (std::size_t i = std::max(kSettling, held.size() / 2); i < held.size(); ++i) steps.push_back(held[i] - held[i - 1]);
  if (steps.empty()) return 0;
  const auto rising = std::count_if(steps.begin(), steps.end(), [](std::int64_t step) { return step > 0; });
  if (4 * static_cast<std::size_t>(rising) < 3 * steps.size()) return 0;
  std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end());
  const std::int64_t step = steps[steps.size() / 2];
  return step * static_cast<std::int64_t>(steps.size()) >= floor_bytes ? step : 0;
}

std::optional<std::int64_t> MemoryWatch::growth_bytes() const {
  if (malloc_bytes_.size() < kFewest) return std::nullopt;
  return std::max(steady_growth(malloc_bytes_, kMallocFloor), steady_growth(resident_bytes_, kResidentFloor));
}

}  // namespace attn
