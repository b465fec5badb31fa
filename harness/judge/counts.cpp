#include "judge/counts.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "accounting/difference.hpp"

namespace attn {
namespace {

bool on(const JudgeInput& input, Gate gate) { return input.gates.enabled.contains(gate); }

// The changes that a count of `gate` can come from, at most three of them, in words.
std::string changes_text(const std::vector<Change>& changes, Gate gate) {
  std::vector<std::string> texts;
  std::size_t more = 0;
  for (const Change& change : changes) {
    const bool copy = change.kind == ActivityKind::memcpy || change.activity_class == ActivityClass::copy;
    if (gate == Gate::copies ? !copy : gate == Gate::kernels && change.kind != ActivityKind::kernel) continue;
    if (texts.size() < 3) texts.push_back(change.text);
    else ++more;
  }
  if (texts.empty()) return {};
  return ": " + fmt::format("{}", fmt::join(texts, ", ")) + (more ? fmt::format(", {} more", more) : "");
}

// A count of one gate in the measurement, in the baseline, and how much more is allowed.
struct Counted {
  const char* name;
  Gate gate;
  std::optional<CountRange> Counts::*field;
  std::int64_t extra;
};

void judge_count(const Counted& counted, const JudgeInput& input, const Baseline& baseline, const std::vector<Change>& changes, bool path_changed,
                 Verdict& verdict) {
  const auto& now = input.measurement->counts.*counted.field;
  const auto& before = baseline.counts.*counted.field;
  if (!now || !before) {
    verdict.not_judged.push_back(fmt::format("{}: {}", counted.name, now ? "the baseline has no count" : "not counted"));
    if (now && verdict.outcome == Outcome::pass) verdict.outcome = Outcome::no_baseline;
    return;
  }
  const bool more = now->high > before->high + counted.extra, fewer = now->high < before->high;
  if (!more && (!fewer || path_changed)) return;
  Finding finding;
  finding.gate = counted.gate;
  finding.metric = counted.name;
  finding.outcome = more ? Outcome::regressed : Outcome::improved;
  finding.message = fmt::format("{} {}, baseline {}{}{}", counted.name, to_string(*now), to_string(*before),
                                counted.extra > 0 ? fmt::format(" and {} more allowed", counted.extra) : "", changes_text(changes, counted.gate));
  if (before->high > 0) finding.ratio = static_cast<double>(now->high) / static_cast<double>(before->high);
  finding.threshold = static_cast<double>(before->high + counted.extra);
  verdict.findings.push_back(std::move(finding));
}

// What a call makes the host do: to wait for the device, to take memory, to be no part of a graph. Where it cannot be seen (on a CPU) nothing is said.
void judge_hidden(const JudgeInput& input, const Baseline& baseline, Verdict& verdict) {
  const Measurement& m = *input.measurement;
  const auto add = [&](const char* metric, std::string message) {
    Finding finding;
    finding.gate = Gate::kernels;
    finding.metric = metric;
    finding.message = std::move(message);
    verdict.findings.push_back(std::move(finding));
  };
  const std::pair<const char*, std::optional<CountRange> Counts::*> counts[] = {{"synchronisations", &Counts::synchronisations}, {"allocations", &Counts::allocations},
                                                                                     {"frees", &Counts::frees}};
  for (const auto& [name, field] : counts) {
    const auto &now = m.counts.*field, &before = baseline.counts.*field;
    if (now && before && now->high > before->high) add(name, fmt::format("{} inside a call {}, baseline {}", name, to_string(*now), to_string(*before)));
  }
  if (m.capturable == false && baseline.capturable == true) add("capturable", "a call cannot be captured into a CUDA graph any more");
}

}  // namespace

void judge_path(const JudgeInput& input, const Baseline* baseline, Verdict& verdict) {
  if (!on(input, Gate::kernel_path)) return;
  const Measurement& m = *input.measurement;
  if (!m.kernel_path) {
    verdict.not_judged.push_back("kernel_path: not known, no operations were recorded");
    return;
  }
  Finding finding;
  finding.gate = Gate::kernel_path;
  finding.metric = "kernel_path";
  if (*m.kernel_path == KernelPath::none) {
    // A failure by itself: the work was done elsewhere, for example on the host, whatever it was before.
    finding.message = "kernel_path none: no attention, gemm or softmax ran on the device" +
                      (baseline && baseline->kernel_path ? fmt::format(", baseline {}", word(*baseline->kernel_path)) : "");
    if (!m.control) verdict.findings.push_back(std::move(finding));
    return;
  }
  if (!baseline) return;
  if (m.kernel_path == baseline->kernel_path) return;
  if (!baseline->kernel_path || *baseline->kernel_path == KernelPath::unknown) {
    verdict.not_judged.push_back("kernel_path: not known in the baseline");
  } else {
    finding.message = fmt::format("kernel path changed: {} -> {}{}", word(*baseline->kernel_path), word(*m.kernel_path),
                                  changes_text(difference(baseline->kernels, m.kernels), Gate::kernel_path));
    verdict.findings.push_back(std::move(finding));
  }
}

void judge_counts(const JudgeInput& input, const Baseline* baseline, Verdict& verdict) {
  const Measurement& m = *input.measurement;
  const Gates& gates = input.gates;
  if (!baseline) {
    for (const auto& [gate, name, count] : {std::tuple{Gate::kernels, "kernels", m.counts.kernels}, {Gate::copies, "copies", m.counts.copies}})
      if (on(input, gate) && !count) verdict.not_judged.push_back(fmt::format("{}: not counted", name));
    return;
  }
  const std::vector<Change> changes = difference(baseline->kernels, m.kernels);
  const bool path_changed = m.kernel_path != baseline->kernel_path;
  const std::size_t findings = verdict.findings.size();
  if (on(input, Gate::copies)) {
    judge_count({"copies", Gate::copies, &Counts::copies, gates.extra_copies}, input, *baseline, changes, path_changed, verdict);
    // An extra copy that is allowed may carry bytes, unless they are limited on their own.
    const auto &now = m.counts.copies, &before = baseline->counts.copies;
    const bool allowed_copy = now && before && now->high > before->high && gates.extra_copies > 0;
    if (!allowed_copy || gates.extra_copy_bytes > 0)
      judge_count({"copy_bytes", Gate::copies, &Counts::copy_bytes, gates.extra_copy_bytes}, input, *baseline, changes, path_changed, verdict);
  }
  if (on(input, Gate::kernels)) judge_hidden(input, *baseline, verdict);
  if (on(input, Gate::kernels))
    judge_count({"kernels", Gate::kernels, &Counts::kernels, gates.extra_kernels}, input, *baseline, changes, path_changed, verdict);

  // Names drift with every library; shown, not failed.
  if (verdict.findings.size() > findings || changes.empty() || path_changed || !on(input, Gate::kernels)) return;
  Finding note;
  note.gate = Gate::kernels;
  note.metric = "kernels";
  note.outcome = Outcome::pass;
  note.message = "same counts, other operations" + changes_text(changes, Gate::kernel_path);
  verdict.findings.push_back(std::move(note));
}

}  // namespace attn
