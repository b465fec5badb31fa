#include "judge/expectations.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attn {
namespace {

bool on(const JudgeInput& input, Gate gate) { return input.gates.enabled.contains(gate); }

bool within(const CountRange& range, const CountBound& bound) { return range.low >= bound.low && (!bound.high || range.high <= *bound.high); }

std::string to_string(const CountBound& bound) {
  if (!bound.high) return fmt::format("{} or more", bound.low);
  return bound.low == *bound.high ? fmt::format("{}", bound.low) : fmt::format("{}..{}", bound.low, *bound.high);
}

// What was copied, for an expectation that has no baseline to compare with.
std::string copies_text(const std::vector<KernelRow>& rows) {
  std::vector<std::string> texts;
  for (const KernelRow& row : rows)
    if (row.activity_class == ActivityClass::copy)
      texts.push_back(fmt::format("{} x {}{}", attn::to_string(row.count), row.name, row.bytes ? fmt::format(" of {} B", *row.bytes) : ""));
  if (texts.size() > 3) texts.resize(3);
  return texts.empty() ? "" : fmt::format(": {}", fmt::join(texts, ", "));
}

Finding expected_finding(std::optional<Gate> gate, const char* metric, std::string message, const Expectation& expectation) {
  Finding finding;
  finding.gate = gate;
  finding.metric = metric;
  finding.message = std::move(message);
  finding.line = expectation.place.line;
  return finding;
}

// Operations of a class that must not occur; a kernel of whose kind nothing is known is none of the kind, but that is said.
void judge_class(const OperationClass& unwanted, const Expectation& expectation, const Measurement& m, Verdict& verdict) {
  std::vector<std::string> found;
  for (const KernelRow& row : m.kernels) {
    if (row.activity_class != unwanted.activity_class) continue;
    if (!unwanted.gemm_kind || row.gemm_kind == unwanted.gemm_kind)
      found.push_back(fmt::format("{} x {} is {}", attn::to_string(row.count), row.name, attn::to_string(OperationClass{row.activity_class, row.gemm_kind})));
    else if (!row.gemm_kind)
      verdict.not_judged.push_back(fmt::format("expected no {}: what {} computes with is not known", attn::to_string(unwanted), row.name));
  }
  if (found.empty()) return;
  const std::size_t more = found.size() > 3 ? found.size() - 3 : 0;
  found.resize(found.size() - more);
  const std::string message = fmt::format("{}{}, expected no {}", fmt::join(found, ", "), more ? fmt::format(", {} more", more) : "", attn::to_string(unwanted));
  verdict.findings.push_back(expected_finding(Gate::kernels, "class", message, expectation));
}

bool path_fits(KernelPath path, const std::vector<KernelPath>& wanted) { return std::ranges::find(wanted, path) != wanted.end(); }

std::string paths_text(const std::vector<KernelPath>& paths) {
  if (paths.size() == static_cast<std::size_t>(KernelPath::flex) + 1 && std::ranges::all_of(paths, is_fused)) return "fused";
  std::vector<std::string_view> words;
  for (const KernelPath path : paths) words.push_back(word(path));
  return fmt::format("{}", fmt::join(words, " or "));
}

void judge_expectation(const Expectation& expectation, const JudgeInput& input, Verdict& verdict) {
  const Measurement& m = *input.measurement;
  const struct {
    const char* name;
    std::optional<Gate> gate;
    const std::optional<CountBound>& bound;
    const std::optional<CountRange>& count;
  } counts[] = {{"kernels", Gate::kernels, expectation.kernels, m.counts.kernels},
                {"copies", Gate::copies, expectation.copies, m.counts.copies},
                {"copy_bytes", Gate::copies, expectation.copy_bytes, m.counts.copy_bytes},
                {"memsets", std::nullopt, expectation.memsets, m.counts.memsets},
                {"launches", std::nullopt, expectation.launches, m.counts.launches},
                {"synchronisations", std::nullopt, expectation.synchronisations, m.counts.synchronisations},
                {"allocations", std::nullopt, expectation.allocations, m.counts.allocations}};
  for (const auto& each : counts) {
    if (!each.bound || (each.gate && !on(input, *each.gate))) continue;
    if (!each.count) {
      verdict.not_judged.push_back(fmt::format("expected {}: not counted", each.name));
    } else if (!within(*each.count, *each.bound)) {
      const std::string message = fmt::format("{} {}, expected {}{}", each.name, attn::to_string(*each.count), to_string(*each.bound),
                                              each.gate == Gate::copies ? copies_text(m.kernels) : "");
      Finding finding = expected_finding(each.gate, each.name, message, expectation);
      if (each.bound->high) finding.threshold = static_cast<double>(*each.bound->high);
      verdict.findings.push_back(std::move(finding));
    }
  }
  if (expectation.capturable) {
    if (!m.capturable) verdict.not_judged.push_back("expected capturable: not known");
    else if (*m.capturable != *expectation.capturable)
      verdict.findings.push_back(expected_finding(std::nullopt, "capturable", m.capturable.value() ? "it can be captured into a graph, expected not to be" : "it cannot be captured into a graph", expectation));
  }
  if (!expectation.no.empty() && on(input, Gate::kernels)) {
    if (!m.counts.kernels) verdict.not_judged.push_back(fmt::format("expected no {}: not counted", attn::to_string(expectation.no.front())));
    else
      for (const OperationClass& unwanted : expectation.no) judge_class(unwanted, expectation, m, verdict);
  }
  if (expectation.kernel_path.empty() || !on(input, Gate::kernel_path)) return;
  if (!m.kernel_path) verdict.not_judged.push_back("expected kernel_path: not known");
  else if (!path_fits(*m.kernel_path, expectation.kernel_path)) {
    const std::string message = fmt::format("kernel_path {}, expected {}", word(*m.kernel_path), paths_text(expectation.kernel_path));
    verdict.findings.push_back(expected_finding(Gate::kernel_path, "kernel_path", message, expectation));
  }
}

}  // namespace

void judge_expectations(const JudgeInput& input, Verdict& verdict) {
  for (const Expectation& expectation : input.expectations) {
    if (expectation.supported == false)
      verdict.findings.push_back(expected_finding(std::nullopt, "status", "it runs, expected to be unsupported", expectation));
    judge_expectation(expectation, input, verdict);
  }
}

}  // namespace attn
