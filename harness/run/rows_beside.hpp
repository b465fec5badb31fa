#pragma once
// The rows of a run that one is held against because an expectation says so: its neighbours in a sweep, the same case on another backend, a smaller case.

#include <vector>

#include "judge/sweep.hpp"
#include "run/job.hpp"

namespace attn {

class RowsBeside {
 public:
  // `jobs` is complete, and outlives this.
  explicit RowsBeside(const std::vector<Job>& jobs);

  // Those whose times count for `job`: to be measured again with it.
  std::vector<const Job*> timed(const Job& job) const;
  // All that a run must measure beside `job` to judge it.
  std::vector<const Trial*> trials(const Job& job) const;
  // Fills what judge is to know of them: beside, smaller, other_backends.
  void add_to(JudgeInput& input, const Job& job) const;

 private:
  const std::vector<Neighbours>& neighbours(const Job& job) const { return neighbours_[static_cast<std::size_t>(&job - jobs_.data())]; }
  const Job* row_of(const Job& job, const std::string& id, const std::string& backend) const;
  const Job* other_backend(const Job& job, const Expectation& expectation) const;

  // A smaller case that `job` is held against, whether or not it is part of this run.
  struct Smaller {
    SizeAxis over;
    std::string case_id;
    const Job* row;  // null: no part of this run
  };
  std::vector<Smaller> smaller(const Job& job) const;

  const std::vector<Job>& jobs_;
  std::vector<std::vector<Neighbours>> neighbours_;  // of each job
};

}  // namespace attn
