#include "cli/busy_machine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>

namespace attn {
namespace {

// One job beside a run is felt on a small machine; a large one runs a quarter of its processors' worth before the last ones share caches and clocks.
constexpr double kQuietJobs = 1, kQuietShare = 0.25;

}  // namespace

std::string busy_text(std::string_view loadavg, long processors) {
  double load = 0;
  std::from_chars(loadavg.data(), loadavg.data() + loadavg.size(), load);  // stays 0 where there is no number
  if (processors < 1 || load < std::max(kQuietJobs, kQuietShare * static_cast<double>(processors))) return {};
  return fmt::format("the machine is busy: load average {:.2f} over the last minute, {} processors", load, processors);
}

std::string busy_machine() {
  std::ifstream file("/proc/loadavg");
  std::string line;
  std::getline(file, line);
  return busy_text(line, sysconf(_SC_NPROCESSORS_ONLN));  // all of them: the load is the whole machine's too
}

std::string busy_gpu(const std::vector<const Row*>& rows) {
  const auto disturbed = std::ranges::count_if(rows, [](const Row* row) {
    return std::ranges::any_of(row->measurement.blocks, [](const Block& block) { return block.other_processes > 0; });
  });
  return disturbed == 0 ? "" : fmt::format("other processes computed on the GPU while {} of {} rows were measured", disturbed, rows.size());
}

}  // namespace attn
