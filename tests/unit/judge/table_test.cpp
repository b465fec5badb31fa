// DESIGN section 3: each row of the table of outcomes.

#include <gmock/gmock.h>

#include <functional>

#include "scene.hpp"

namespace attn {
namespace {

using scene::Scene;
using testing::HasSubstr;

struct TableRow {
  const char* name;
  std::function<void(Scene&)> set;
  Outcome outcome;
  int exit;
  const char* reason;  // part of it
};

class Table : public testing::TestWithParam<TableRow> {};

TEST_P(Table, GivesTheOutcome) {
  Scene scene;
  GetParam().set(scene);
  const Verdict verdict = scene.verdict();
  EXPECT_EQ(word(verdict.outcome), word(GetParam().outcome)) << verdict.reason;
  EXPECT_EQ(exit_code(verdict.outcome), GetParam().exit);
  EXPECT_THAT(verdict.reason, HasSubstr(GetParam().reason));
  EXPECT_EQ(verdict.reason.find('\n'), std::string::npos);
}

Expectation expecting(std::optional<bool> supported, std::optional<CountBound> copies) {
  Expectation expectation;
  expectation.supported = supported;
  expectation.copies = copies;
  expectation.place = {"s.yaml", 31, 5};
  return expectation;
}

void status(Scene& s, Status now, const char* reason) {
  s.now.status = now;
  s.now.reason = reason;
}

INSTANTIATE_TEST_SUITE_P(Ok, Table, testing::Values(
    TableRow{"same", [](Scene&) {}, Outcome::pass, 0, ""},
    TableRow{"all faster", [](Scene& s) { s.slower(0.5); }, Outcome::improved, 0, "0.5x"},
    TableRow{"all slower", [](Scene& s) { s.slower(2); }, Outcome::regressed, 1, "device_ns 1.00 ms -> 2.00 ms, 2x"},
    TableRow{"fewer copies", [](Scene& s) { s.calls(scene::with_copy()); s.keep(); s.calls(scene::in_place()); }, Outcome::improved, 0, "copies 0, baseline 1"},
    TableRow{"one more copy", [](Scene& s) { s.calls(scene::with_copy()); }, Outcome::regressed, 1, "copies 1, baseline 0: +1 memcpy cpu_memcpy_scores of 33554432 B after cpu_scale"},
    TableRow{"mixed: faster with one more copy", [](Scene& s) { s.calls(scene::with_copy()); s.slower(0.5); }, Outcome::regressed, 1, "copies 1, baseline 0"},
    TableRow{"an expectation fails", [](Scene& s) { s.calls(scene::with_copy()); s.keep(); s.input.expectations = {expecting({}, CountBound{0, 0})}; }, Outcome::regressed,
             1, "copies 1, expected 0: 1 x cpu_memcpy_scores of 33554432 B"},
    TableRow{"too noisy", [](Scene& s) { for (std::size_t i = 0; i < 5; ++i) s.now.blocks[i].device_ns = 1e6 * (1 + 0.37 * double(i)); }, Outcome::undecided, 5,
             "cannot tell it from the allowed 25%"},
    TableRow{"the machine is slower too", [](Scene& s) { s.slower(2); s.input.control = Interval{2.1, 1.9, 2.3}; }, Outcome::environment_shift, 5, "control rows moved too"},
    TableRow{"no baseline", [](Scene& s) { s.no_baseline(); }, Outcome::no_baseline, 0, ""},
    TableRow{"a baseline of times alone", [](Scene& s) { s.input.counts_baseline = nullptr; }, Outcome::no_baseline, 0, ""},
    TableRow{"a baseline without counts", [](Scene& s) { s.baseline.counts = {}; }, Outcome::no_baseline, 0, ""},
    TableRow{"no baseline, an expectation fails", [](Scene& s) { s.no_baseline(); s.input.expectations = {expecting({}, CountBound{1, {}})}; }, Outcome::regressed, 1,
             "copies 0, expected 1 or more"},
    TableRow{"no baseline, an expectation holds", [](Scene& s) { s.no_baseline(); s.input.expectations = {expecting(true, CountBound{0, 0})}; }, Outcome::no_baseline, 0, ""},
    TableRow{"expected to be unsupported", [](Scene& s) { s.input.expectations = {expecting(false, {})}; }, Outcome::regressed, 1, "it runs, expected to be unsupported"},
    TableRow{"was unsupported", [](Scene& s) { s.baseline.status = Status::unsupported; }, Outcome::improved, 0, "ok, unsupported in the baseline"}),
    [](const auto& row) { return "Row" + std::to_string(row.index); });

INSTANTIATE_TEST_SUITE_P(NotOk, Table, testing::Values(
    TableRow{"wrong", [](Scene& s) { status(s, Status::wrong, ""); s.now.numerics = {0.3, {}, {}, 0.002, {}, 8, "equals the reference with softcap ignored"}; }, Outcome::wrong, 1,
             "max error 0.3, allowed 0.002; equals the reference with softcap ignored"},
    TableRow{"wrong without a baseline", [](Scene& s) { status(s, Status::wrong, "row 3"); s.no_baseline(); }, Outcome::wrong, 1, "row 3"},
    TableRow{"failed", [](Scene& s) { status(s, Status::failed, "no kernel image"); }, Outcome::failed, 1, "failed: no kernel image"},
    TableRow{"crashed", [](Scene& s) { status(s, Status::crashed, "SIGSEGV"); }, Outcome::crashed, 1, "crashed: SIGSEGV"},
    TableRow{"timed out", [](Scene& s) { status(s, Status::timed_out, "60 s"); }, Outcome::timed_out, 1, "timed out: 60 s"},
    TableRow{"lost support", [](Scene& s) { status(s, Status::unsupported, "head_dim 300"); }, Outcome::regressed, 1, "unsupported, ok in the baseline: head_dim 300"},
    TableRow{"expected support", [](Scene& s) { status(s, Status::unsupported, "no"); s.no_baseline(); s.input.expectations = {expecting(true, {})}; }, Outcome::regressed, 1,
             "unsupported, expected to be supported: no"},
    TableRow{"unsupported as before", [](Scene& s) { status(s, Status::unsupported, "fp8"); s.keep(); }, Outcome::unsupported, 0, "fp8"},
    TableRow{"unsupported, other expectations", [](Scene& s) { status(s, Status::unsupported, "fp8"); s.no_baseline(); s.input.expectations = {expecting({}, CountBound{3, 3})}; },
             Outcome::unsupported, 0, "fp8"},
    TableRow{"cannot measure", [](Scene& s) { status(s, Status::cannot_measure, "CUPTI error 39"); }, Outcome::cannot_measure, 5, "CUPTI error 39"},
    TableRow{"skipped", [](Scene& s) { status(s, Status::skipped, "--max-cost 40GFLOP runs it"); }, Outcome::skipped, 0, "--max-cost 40GFLOP"}),
    [](const auto& row) { return "Row" + std::to_string(row.index); });

// All slower, all faster, mixed, below the floor, a crash: what the process returns.
TEST(RunExitCode, FollowsTheVerdicts) {
  const auto outcome_of = [](const std::function<void(Scene&)>& set) {
    Scene scene;
    set(scene);
    return scene.verdict().outcome;
  };
  const Outcome slower = outcome_of([](Scene& s) { s.slower(2); }), faster = outcome_of([](Scene& s) { s.slower(0.5); });
  const Outcome below = outcome_of([](Scene& s) { s.slower(2); s.input.gates.latency->floor_ns = 2e6; });
  const Outcome crash = outcome_of([](Scene& s) { s.now.status = Status::crashed; });
  const Outcome skipped = outcome_of([](Scene& s) { s.now.status = Status::skipped; }), unclear = outcome_of([](Scene& s) { s.now.status = Status::cannot_measure; });
  const Outcome fresh = outcome_of([](Scene& s) { s.no_baseline(); });
  EXPECT_EQ(run_exit_code({slower, slower}, false), ExitCode::gate_failed);
  EXPECT_EQ(run_exit_code({faster, faster}, false), ExitCode::pass);
  EXPECT_EQ(run_exit_code({faster, slower}, false), ExitCode::gate_failed);
  EXPECT_EQ(run_exit_code({below}, false), ExitCode::pass);
  EXPECT_EQ(run_exit_code({crash, unclear}, false), ExitCode::gate_failed);
  EXPECT_EQ(run_exit_code({faster, unclear}, false), ExitCode::cannot_judge);
  EXPECT_EQ(run_exit_code({skipped}, false), ExitCode::cannot_judge);
  EXPECT_EQ(run_exit_code({fresh}, false), ExitCode::pass);
  EXPECT_EQ(run_exit_code({fresh}, true), ExitCode::cannot_judge);
}

}  // namespace
}  // namespace attn
