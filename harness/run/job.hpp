#pragma once
// A row of a run while it is measured.

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/baseline.hpp"
#include "judge/judge.hpp"
#include "run/resolve.hpp"
#include "run/run.hpp"

namespace attn {

// What a side's rows run with; a run that compares nothing has one.
struct SideRun {
  RunOptions options;
  BackendResolver resolver;
  Variables variables;  // to be recorded
  SideRun(RunOptions own, Variables recorded, const std::atomic<bool>& interrupted)
      : options(std::move(own)), resolver(options, interrupted), variables(std::move(recorded)) {}
};

// A trial, what became of it, and where it runs.
struct Job {
  const Suite* suite = nullptr;
  Trial trial;
  SideRun* side = nullptr;
  const Target* target = nullptr;
  ResolvedBackend backend;
  Measurement measurement;
  Gates gates;
  std::vector<Expectation> expectations;
  RowFacts facts;
  std::size_t environment = 0;
  std::optional<Baseline> other_side;  // of side b: what side a gave, once it gave something to be held against
  std::string too_costly; // why it is not run; the backend is asked for support all the same
  bool measured = false;  // it came to its turn
  bool done = false;      // nothing more to measure
};

}  // namespace attn
