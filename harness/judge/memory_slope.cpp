#include "judge/memory_slope.hpp"

#include <cmath>
#include <fmt/format.h>

#include "core/size_family.hpp"

namespace attn {
namespace {

// Why the two cannot be compared; empty when they can.
std::string obstacle(const Measurement& here, const OtherRow& smaller) {
  if (!smaller.measurement) return fmt::format("{} is no part of this run", smaller.case_id);
  const Measurement& other = *smaller.measurement;
  if (other.status != Status::ok) return fmt::format("{} is {}", smaller.case_id, word(other.status));
  for (const Measurement* row : {&here, &other})
    if (!row->memory.peak_bytes || *row->memory.peak_bytes <= 0) return fmt::format("{} has no peak_bytes", row->case_id);
  if (here.memory.source != other.memory.source)
    return fmt::format("counted by {}, in {} by {}", here.memory.source, smaller.case_id, other.memory.source);
  return "";
}

void judge_one(const Measurement& here, const OtherRow& smaller, const MemorySlope& expected, int line, Verdict& verdict) {
  if (const std::string why = obstacle(here, smaller); !why.empty()) {
    verdict.not_judged.push_back("memory_slope: " + why);
    return;
  }
  const std::int64_t peak = *here.memory.peak_bytes, less = *smaller.measurement->memory.peak_bytes;
  const std::int64_t size = size_of(parse_case_id(here.case_id), expected.over), small = size_of(parse_case_id(smaller.case_id), expected.over);
  const double ratio = static_cast<double>(peak) / static_cast<double>(less), times = static_cast<double>(size) / static_cast<double>(small);
  const double allowed = std::pow(times, expected.at_most);
  if (ratio <= allowed * (1 + 1e-9)) return;  // what grows exactly so is rounded
  const std::string_view over = word(expected.over);
  Finding finding;
  finding.gate = Gate::memory;
  finding.metric = "peak_bytes";
  finding.message = fmt::format("peak_bytes {} at {} {}, {} at {}: it grows with {} to the power {:.2f}, expected at most {:.4g}", less, over, small, peak, size, over,
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
