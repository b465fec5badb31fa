#include "report/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/printable.hpp"
#include "report/row_values.hpp"
#include "report/terminal.hpp"

namespace attn {
namespace {

constexpr std::size_t kOutputLines = 5, kRowsNamed = 3, kGroups = 20;

std::string line_of(const Row& row, const Finding& finding) {
  // Most messages begin with the metric that they speak of.
  const bool named = finding.metric.empty() || finding.message.starts_with(finding.metric);
  std::string text = "    " + (named ? "" : printable(finding.metric) + ": ") + printable(finding.message);
  if (!finding.cause.empty()) text += "; possible cause: " + printable(finding.cause);
  if (finding.line > 0) text += " (" + printable(place_text(row.trial, finding.line)) + ")";
  return text + "\n";
}

std::string block(const Row& row, const TableOptions& options) {
  const Outcome outcome = row.verdict.outcome;
  const std::string place = place_text(row.trial);
  std::string text = fmt::format("{}  {}  {}{}\n", paint(word(outcome), tone_of(outcome), options.color), printable(row.measurement.backend),
                                 printable(row.measurement.case_id), place.empty() ? "" : "  (" + printable(place) + ")");
  for (const Finding& finding : row.verdict.findings) text += line_of(row, finding);
  if (row.verdict.findings.empty()) {
    const std::string& reason = row.verdict.reason.empty() ? row.measurement.reason : row.verdict.reason;
    if (!reason.empty()) text += fmt::format("    {}\n", printable(reason));
  }
  if (!row.measurement.numerics.diagnosis.empty()) text += fmt::format("    output {}\n", printable(row.measurement.numerics.diagnosis));
  for (const std::string& line : printable_tail(row.measurement.output, kOutputLines)) text += fmt::format("    | {}\n", line);
  // Never cut: it is there to be copied.
  if (!row.reproduce.empty()) text += fmt::format("    reproduce: {}\n", printable(row.reproduce));
  return text;
}

// Rows by what is said of them, in the order in which it is said first.
class Groups {
 public:
  void add(const std::string& text, const Row& row) {
    const auto [it, is_new] = index_.try_emplace(text, groups_.size());
    if (is_new) groups_.push_back({text, {}});
    groups_[it->second].rows.push_back(&row);
  }
  // A group of `all` rows names none of them.
  std::string lines(const std::string& title, std::size_t all, const TableOptions& options) const {
    if (groups_.empty()) return "";
    std::string text = fmt::format("\n{}\n", paint(title, Tone::strong, options.color));
    for (std::size_t i = 0; i < std::min(kGroups, groups_.size()); ++i) {
      if (groups_[i].rows.size() == all && all > kRowsNamed) {
        text += fmt::format("  all {} rows: {}\n", all, printable(groups_[i].text));
        continue;
      }
      text += fmt::format("  {} x {}\n", groups_[i].rows.size(), printable(groups_[i].text));
      for (std::size_t k = 0; k < std::min(kRowsNamed, groups_[i].rows.size()); ++k) {
        const Measurement& m = groups_[i].rows[k]->measurement;
        text += fmt::format("      {}  {}\n", printable(m.backend), printable(m.case_id));
      }
      if (groups_[i].rows.size() > kRowsNamed) text += fmt::format("      and {} more\n", groups_[i].rows.size() - kRowsNamed);
    }
    if (groups_.size() > kGroups) text += fmt::format("  and {} more reasons\n", groups_.size() - kGroups);
    return text;
  }

 private:
  struct Group {
    std::string text;
    std::vector<const Row*> rows;
  };
  std::map<std::string, std::size_t> index_;
  std::vector<Group> groups_;
};

}  // namespace

std::string findings(const RunResult& run, const TableOptions& options) {
  std::string text;
  for (const Row* row : notable_rows(run)) text += fmt::format("\n{}", block(*row, options));

  Groups left_out, not_judged;
  for (const Row& row : run.rows) {
    const std::string& reason = row.verdict.reason.empty() ? row.measurement.reason : row.verdict.reason;
    if (row.verdict.outcome == Outcome::skipped || row.verdict.outcome == Outcome::unsupported)
      left_out.add(fmt::format("{}: {}", word(row.verdict.outcome), reason.empty() ? "no reason given" : reason), row);
    for (const std::string& gate : row.verdict.not_judged) not_judged.add(gate, row);
  }
  const auto is_judged = [](const Row& row) { return !row.measurement.control; };
  const auto all = static_cast<std::size_t>(std::count_if(run.rows.begin(), run.rows.end(), is_judged));
  text += left_out.lines("skipped or unsupported", all, options) + not_judged.lines("gates not judged", all, options);
  for (const std::string& warning : run.warnings) text += fmt::format("\n{}{}\n", paint("warning: ", Tone::warning, options.color), printable(warning));
  return text;
}

}  // namespace attn
