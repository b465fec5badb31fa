#pragma once
// Committed baselines as the run asks for them, and measurements as baselines.

#include <map>
#include <string>
#include <vector>

#include "cli/subcommand.hpp"
#include "core/run_result.hpp"
#include "run/run.hpp"
#include "store/baseline_files.hpp"

namespace attn {

inline constexpr const char* kDefaultBaselines = "baselines";  // under the working directory
// Adds `--baseline DIR`.
void add_baseline_directory(CLI::App& app, std::string& directory);

class BaselineLookup : public BaselineSource {
 public:
  // Reads the files of the suites. Throws Error for a file that is corrupt.
  BaselineLookup(const BaselineStore& store, const std::vector<std::string>& suites);

  const Baseline* counts(const Measurement& measurement) const override;
  const Baseline* times(const Measurement& measurement) const override;

 private:
  std::map<std::string, SuiteBaselines> suites_;
};

// The row as a baseline; `reason` is why it was accepted, when somebody had to say.
Baseline baseline_of(const RunResult& run, const Row& row, const std::string& reason = "");
// Adds the rows to the files, with the run's environments in new files' heads. What a run with fewer gates did not measure stays as the files have it.
BaselineUpdate record(const BaselineStore& store, const RunResult& run, const std::vector<const Row*>& rows, const std::string& reason = "");
// "3 added, 1 changed, 12 unchanged" and the files that were written, one line each.
std::string update_text(const BaselineUpdate& update);

}  // namespace attn
