#include "judge/memory_slope.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "core/size_family.hpp"
#include "judge/memory.hpp"

namespace attn {
namespace {

// Less than an allocator's smallest block says nothing of growth.
constexpr std::int64_t kSmallestBlock = 512;

// Why the two cannot be compared; empty when they can.
std::string obstacle(const Measurement& here, const OtherRow& smaller, PeakOf of) {
  if (!smaller.measurement) return fmt::format("{} is no part of this run", smaller.case_id);
  const Measurement& other = *smaller.measurement;
  if (other.status != Status::ok) return fmt::format("{} is {}", smaller.case_id, word(other.status));
  const Peak peaks[] = {peak_of(here.memory, of), peak_of(other.memory, of)};
  if (!peaks[0].bytes || !peaks[1].bytes) return fmt::format("{} has no {}", (peaks[0].bytes ? other : here).case_id, peaks[0].name);
  if (peaks[0].source != peaks[1].source) return fmt::format("counted by {}, in {} by {}", peaks[0].source, smaller.case_id, peaks[1].source);
  return "";
}

void judge_one(const Measurement& here, const OtherRow& smaller, const MemorySlope& expected, int line, Verdict& verdict) {
  if (const std::string why = obstacle(here, smaller, expected.of); !why.empty()) {
    verdict.not_judged.push_back("memory_slope: " + why);
    return;
  }
  const Peak mine = peak_of(here.memory, expected.of);
  const auto bytes = [&](const Measurement& row) { return std::max({*peak_of(row.memory, expected.of).bytes, mine.step, kSmallestBlock}); };
  const std::int64_t peak = bytes(here), less = bytes(*smaller.measurement);
  const std::int64_t size = size_of(parse_case_id(here.case_id), expected.over), small = size_of(parse_case_id(smaller.case_id), expected.over);
  const double ratio = static_cast<double>(peak) / static_cast<double>(less), times = static_cast<double>(size) / static_cast<double>(small);
  const double allowed = std::pow(times, expected.at_most);
  if (ratio <= allowed * (1 + 1e-9)) return;  // what grows exactly so is rounded
  const std::string_view over = word(expected.over);
  Finding finding;
  finding.gate = Gate::memory;
  finding.metric = mine.name;
  finding.message = fmt::format("{} {} at {} {}, {} at {}: it grows with {} to the power {:.2f}, expected at most {:.4g}", mine.name, less, over, small, peak, size, over,
                                std::log(ratio) / std::log(times), expected.at_most);
  finding.ratio = ratio;
  finding.threshold = allowed;
  finding.line = line;
  verdict.findings.push_back(std::move(finding));
}

}  // namespace

void judge_memory_slopes(const JudgeInput& input, Verdict& verdict) {
  if (!input.gates.enabled.contains(Gate::memory)) return;
  for (const Expectation& expectation : input.expectations) {
    if (!expectation.memory_slope) continue;
    const auto smaller = input.smaller.find(expectation.memory_slope->over);
    if (smaller != input.smaller.end()) judge_one(*input.measurement, smaller->second, *expectation.memory_slope, expectation.place.line, verdict);
  }
}

}  // namespace attn
