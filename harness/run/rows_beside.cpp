#include "run/rows_beside.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/size_family.hpp"

namespace attn {
namespace {

std::vector<SweepRow> sweep_rows(const std::vector<Job>& jobs) {
  std::vector<SweepRow> rows;
  for (const Job& job : jobs)
    rows.push_back({job.trial.value, fmt::format("{}\n{}\n{}\n{}", job.trial.suite, job.trial.backend.name, job.target->name, job.trial.side == Side::b)});
  return rows;
}

}  // namespace

RowsBeside::RowsBeside(const std::vector<Job>& jobs) : jobs_(jobs), neighbours_(sweep_neighbours(sweep_rows(jobs))) {}

// The row of `job`'s suite and device with another case or backend; null: no part of this run.
const Job* RowsBeside::row_of(const Job& job, const std::string& id, const std::string& backend) const {
  const auto found = std::ranges::find_if(jobs_, [&](const Job& each) {
    return each.suite == job.suite && each.side == job.side && each.target == job.target && each.trial.id == id && each.trial.backend.name == backend && !each.measurement.control;
  });
  return found == jobs_.end() ? nullptr : &*found;
}

const Job* RowsBeside::other_backend(const Job& job, const Expectation& expectation) const {
  return expectation.time_ratio ? row_of(job, job.trial.id, expectation.time_ratio->to) : nullptr;
}

std::vector<RowsBeside::Smaller> RowsBeside::smaller(const Job& job) const {
  std::vector<Smaller> rows;
  for (const Expectation& expectation : job.expectations) {
    if (!expectation.memory_slope) continue;
    const SizeAxis over = expectation.memory_slope->over;
    const SuiteCase* smaller = smaller_case(job.trial.value, over, job.suite->cases);
    if (!smaller || std::ranges::find(rows, over, &Smaller::over) != rows.end()) continue;
    const std::string id = case_id(smaller->value);
    rows.push_back({over, id, row_of(job, id, job.trial.backend.name)});
  }
  return rows;
}

std::vector<const Job*> RowsBeside::timed(const Job& job) const {
  std::vector<const Job*> rows;
  for (const Expectation& expectation : job.expectations) {
    if (expectation.smooth)
      for (const Neighbours& pair : neighbours(job))
        for (const std::size_t beside : {pair.before, pair.after}) rows.push_back(&jobs_[beside]);
    if (const Job* other = other_backend(job, expectation); other && other != &job) rows.push_back(other);
  }
  return rows;
}

std::vector<const Trial*> RowsBeside::trials(const Job& job) const {
  std::vector<const Trial*> trials;
  for (const Job* row : timed(job)) trials.push_back(&row->trial);
  for (const Smaller& each : smaller(job))
    if (each.row) trials.push_back(&each.row->trial);
  return trials;
}

void RowsBeside::add_to(JudgeInput& input, const Job& job) const {
  for (const Neighbours& pair : neighbours(job)) input.beside.push_back({&jobs_[pair.before].measurement, &jobs_[pair.after].measurement});
  for (const Smaller& each : smaller(job)) input.smaller[each.over] = {each.case_id, each.row ? &each.row->measurement : nullptr};
  for (const Expectation& expectation : job.expectations)
    if (const Job* other = other_backend(job, expectation)) input.other_backends[expectation.time_ratio->to] = &other->measurement;
}

}  // namespace attn
