#pragma once
// Where a run is: one line that is rewritten on a terminal, one line per trial elsewhere. Goes to standard error; data has standard output for itself.

#include <chrono>
#include <cstdio>
#include <functional>
#include <set>
#include <string>

#include "core/run_result.hpp"

namespace attn {

struct ProgressOptions {
  bool rewrite = false;      // the stream is a terminal that can rewrite its line
  std::size_t columns = 80;  // of that terminal; 0 counts as 80
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

class Progress : public RunObserver {
 public:
  // `stream` outlives this.
  Progress(std::FILE* stream, ProgressOptions options) : stream_(stream), options_(std::move(options)) {}
  ~Progress() override { clear(); }

  void planned(const std::vector<Trial>& trials) override;
  void trial_started(const Trial& trial, Phase phase) override;
  void trial_measured(const Trial& trial, const Measurement& measurement, const Environment& environment) override;
  void remeasuring(const Trial& trial, std::size_t block) override;
  void finished(const RunResult& result) override;

  // Takes the rewritten line away, before something else is printed.
  void clear();

 private:
  void show(const Trial& trial, const std::string& what);
  std::string left() const;  // ", about 3m04s left", once a trial is done

  std::FILE* stream_;
  ProgressOptions options_;
  std::chrono::steady_clock::time_point start_{};
  std::size_t trials_ = 0;
  std::set<std::int64_t> begun_, done_;
  std::size_t block_ = 0;  // the one that is measured again
  std::string reason_;     // of the row that was told of last
  bool line_shown_ = false;
};

}  // namespace attn
