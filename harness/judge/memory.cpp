#include "judge/memory.hpp"

#include <fmt/format.h>

namespace attn {
namespace {

// The kernel keeps its books of resident pages per processor and adds them up now and then; an interpreter's own objects come on top.
constexpr std::int64_t kResidentStep = 2 << 20;

void judge_peak(PeakOf of, const JudgeInput& input, const Baseline& baseline, Verdict& verdict) {
  const Peak now = peak_of(input.measurement->memory, of), before = peak_of(baseline.memory, of);
  if (!before.bytes || before.source != now.source) {
    const char* const whose = of == PeakOf::call ? "memory" : "memory of prepare";
    verdict.not_judged.push_back(before.bytes ? fmt::format("{}: counted by {}, in the baseline by {}", whose, now.source, before.source)
                                              : fmt::format("{}: the baseline has none", whose));
    return;
  }
  const double limit = static_cast<double>(*before.bytes) * (1 + input.gates.memory_tolerate) + static_cast<double>(input.gates.memory_floor_bytes + now.step);
  const bool more = static_cast<double>(*now.bytes) > limit;
  if (!more && *now.bytes + now.step >= *before.bytes) return;
  Finding finding;
  finding.gate = Gate::memory;
  finding.metric = now.name;
  finding.outcome = more ? Outcome::regressed : Outcome::improved;
  finding.message = fmt::format("{} {}, baseline {}{}", now.name, *now.bytes, *before.bytes, more ? fmt::format(" (+{} B)", *now.bytes - *before.bytes) : "");
  if (*before.bytes > 0) finding.ratio = static_cast<double>(*now.bytes) / static_cast<double>(*before.bytes);
  finding.threshold = limit;
  verdict.findings.push_back(std::move(finding));
}

}  // namespace

Peak peak_of(const Memory& memory, PeakOf of) {
  if (of == PeakOf::call) return {"peak_bytes", memory.peak_bytes, memory.source};
  return {"prepare_peak_bytes", memory.prepare_peak_bytes, memory.prepare_source, memory.prepare_source == "resident" ? kResidentStep : 0};
}

void judge_memory(const JudgeInput& input, const Baseline* baseline, Verdict& verdict) {
  if (!input.gates.enabled.contains(Gate::memory)) return;
  const Memory& now = input.measurement->memory;
  if (now.growth_bytes && *now.growth_bytes > 0) {
    Finding finding;
    finding.gate = Gate::memory;
    finding.metric = "growth_bytes";
    finding.message = fmt::format("memory grows by {} B in every call", *now.growth_bytes);
    finding.threshold = 0;
    verdict.findings.push_back(std::move(finding));
  }
  if (!now.growth_bytes) verdict.not_judged.push_back("growth of memory: not measured");
  if (!now.peak_bytes) verdict.not_judged.push_back("memory: peak_bytes not measured");
  else if (baseline) judge_peak(PeakOf::call, input, *baseline, verdict);
  if (now.prepare_peak_bytes && baseline) judge_peak(PeakOf::prepare, input, *baseline, verdict);
}

}  // namespace attn
