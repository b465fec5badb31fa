#include <algorithm>
#include <fmt/format.h>

#include "judge/judge.hpp"

namespace attn {

Verdict apply_waivers(Verdict verdict, const std::vector<Waiver>& waivers, const RowFacts& row, const std::string& today) {
  bool waived = false;
  for (Finding& finding : verdict.findings) {
    if (exit_code(finding.outcome) != 1) continue;
    std::string expired;
    for (const Waiver& waiver : waivers) {
      if ((waiver.metric && waiver.metric != finding.gate) || !selects(waiver.where, row)) continue;
      if (waiver.expires < today) {  // ISO dates: their order is that of their text
        expired = std::max(expired, waiver.expires);
        continue;
      }
      finding.outcome = Outcome::waived;
      finding.message += fmt::format(" (waived until {}: {})", waiver.expires, waiver.reason);
      waived = true;
      break;
    }
    if (finding.outcome != Outcome::waived && !expired.empty()) finding.message += fmt::format(" (its waiver expired on {})", expired);
  }
  if (verdict.findings.empty()) return verdict;
  std::ranges::stable_sort(verdict.findings, std::greater{}, &Finding::outcome);
  const Outcome worst = verdict.findings.front().outcome;
  if (waived && exit_code(verdict.outcome) == 1) verdict.outcome = std::max(worst, Outcome::waived);
  verdict.reason = verdict.findings.front().message;
  return verdict;
}

}  // namespace attn
