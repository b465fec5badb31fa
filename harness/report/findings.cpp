#include "report/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "report/printable.hpp"
#include "report/row_values.hpp"
#include "report/terminal.hpp"

namespace attn {
namespace {

constexpr std::size_t kOutputLines = 5, kGroups = 20;

// `told`: the cause that the line before gave; findings of one row mostly share theirs.
std::string line_of(const Row& row, const Finding& finding, const std::string& told) {
  // Most messages begin with the metric that they speak of.
  std::string spelled = finding.metric;
  std::ranges::replace(spelled, '_', ' ');
  const bool named = finding.message.starts_with(finding.metric) || finding.message.starts_with(spelled);
  std::string text = "    " + (named ? "" : printable(finding.metric) + ": ") + printable(finding.message);
  if (!finding.cause.empty() && finding.cause != told) text += "; possible cause: " + printable(finding.cause);
  if (finding.line > 0) text += " (" + printable(place_text(row.trial, finding.line)) + ")";
  return text + "\n";
}

bool tells(const std::vector<Finding>& findings, const std::string& what) {
  return std::ranges::any_of(findings, [&](const Finding& finding) { return finding.message.find(what) != std::string::npos; });
}

// What rows that gave no result have in common when nothing else is to be said of them, what was printed included; else empty.
std::string shared_fault(const Row& row) {
  const Measurement& m = row.measurement;
  const Outcome outcome = row.verdict.outcome;
  const bool no_result = outcome == Outcome::cannot_measure || outcome == Outcome::failed || outcome == Outcome::crashed || outcome == Outcome::timed_out;
  const std::vector<Finding>& findings = row.verdict.findings;
  if (!no_result || findings.size() > 1 || m.reason.empty()) return "";
  return fmt::format("{}{}\n{}\n{}\n{}", word(outcome), side_text(row.trial), m.reason, findings.empty() ? "" : findings.front().message, m.output);
}

// Of the first of `rows`, which is true of all of them.
std::string block(const std::vector<const Row*>& rows, const TableOptions& options) {
  const Row& row = *rows.front();
  const Outcome outcome = row.verdict.outcome;
  const std::string place = place_text(row.trial);
  std::string text = fmt::format("{}  {}  {}{}\n", paint(word(outcome), tone_of(outcome), options.color), printable(row.measurement.backend) + side_text(row.trial),
                                 printable(row.measurement.case_id), place.empty() ? "" : "  (" + printable(place) + ")");
  std::string cause;
  for (const Finding& finding : row.verdict.findings) {
    text += line_of(row, finding, cause);
    if (!finding.cause.empty()) cause = finding.cause;
  }
  if (row.verdict.findings.empty()) {
    const std::string& reason = row.verdict.reason.empty() ? row.measurement.reason : row.verdict.reason;
    if (!reason.empty()) text += fmt::format("    {}\n", printable(reason));
  }
  if (const std::string& diagnosis = row.measurement.numerics.diagnosis; !diagnosis.empty() && !tells(row.verdict.findings, diagnosis))
    text += fmt::format("    output {}\n", printable(diagnosis));
  for (const std::string& line : printable_tail(row.measurement.output, kOutputLines)) text += fmt::format("    | {}\n", line);
  if (rows.size() > 1) text += fmt::format("    the same in {} more row{}\n", rows.size() - 1, rows.size() == 2 ? "" : "s");
  // Never cut: they are there to be copied. Of rows that did not fail one is enough.
  for (const Row* each : rows)
    if (!each->reproduce.empty() && (each == &row || outcome != Outcome::cannot_measure)) text += fmt::format("    reproduce: {}\n", printable(each->reproduce));
  return text;
}

// How many rows something is said of, in the order in which it is said first.
class Groups {
 public:
  void add(const std::string& text) {
    const auto [it, is_new] = index_.try_emplace(text, groups_.size());
    if (is_new) groups_.push_back({text, 0});
    ++groups_[it->second].second;
  }
  // One line a reason: the table shows the rows. `all` is the number of rows that could have it.
  std::string lines(const std::string& title, std::size_t all, const TableOptions& options) const {
    if (groups_.empty()) return "";
    std::string text = fmt::format("\n{}\n", paint(title, Tone::strong, options.color));
    for (std::size_t i = 0; i < std::min(kGroups, groups_.size()); ++i) {
      const auto& [reason, count] = groups_[i];
      text += count == all && all > 1 ? fmt::format("  all {} rows: {}\n", all, printable(reason)) : fmt::format("  {} x {}\n", count, printable(reason));
    }
    if (groups_.size() > kGroups) text += fmt::format("  and {} more reasons\n", groups_.size() - kGroups);
    return text;
  }

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<std::pair<std::string, std::size_t>> groups_;
};

}  // namespace

std::string findings(const RunResult& run, const TableOptions& options) {
  std::string text;
  const std::vector<const Row*> notable = notable_rows(run);
  std::map<std::string, std::vector<const Row*>> faults;  // rows that have it and were not told of
  for (const Row* row : notable) faults[shared_fault(*row)].push_back(row);
  for (const Row* row : notable) {
    const std::string fault = shared_fault(*row);
    const std::vector<const Row*> rows = fault.empty() ? std::vector{row} : std::exchange(faults[fault], {});
    if (!rows.empty()) text += fmt::format("\n{}", block(rows, options));
  }

  Groups left_out, not_judged;
  for (const Row& row : run.rows) {
    if (!is_judged(row)) continue;
    const std::string& reason = row.verdict.reason.empty() ? row.measurement.reason : row.verdict.reason;
    if (row.verdict.outcome == Outcome::skipped || row.verdict.outcome == Outcome::unsupported)
      left_out.add(fmt::format("{}: {}", word(row.verdict.outcome), reason.empty() ? "no reason given" : reason));
    for (const std::string& gate : row.verdict.not_judged) not_judged.add(gate);
  }
  const auto all = static_cast<std::size_t>(std::count_if(run.rows.begin(), run.rows.end(), is_judged));
  text += left_out.lines("skipped or unsupported", all, options) + not_judged.lines("gates not judged", all, options);
  for (const std::string& warning : run.warnings) text += fmt::format("\n{}{}\n", paint("warning: ", Tone::warning, options.color), printable(warning));
  return text;
}

}  // namespace attn
