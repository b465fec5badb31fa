#include "report/table.hpp"

#include <gmock/gmock.h>

#include "report/printable.hpp"
#include "report/row_values.hpp"
#include "sample.hpp"

namespace attn {
namespace {

using sample::latency;
using sample::row;
using sample::run;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string line_with(const std::string& text, const std::string& part) {
  const auto at = text.find(part);
  if (at == std::string::npos) return "";
  const auto start = text.rfind('\n', at);
  return text.substr(start + 1, text.find('\n', at) - start - 1);
}

TEST(Table, ShowsTheMedianOverBlocksAndTheChangeAgainstTheBaseline) {
  Row one = row("naive", Outcome::pass);
  one.baseline_device_ns = 3.0e6;
  EXPECT_THAT(line_with(table(run({one}), {}), "naive "), AllOf(HasSubstr("3.20 ms"), HasSubstr("+6.7%"), HasSubstr("1 (256 MiB)"), HasSubstr("1.2e-03")));
}

TEST(Table, ShowsAnUnknownCountAsUnknownNotAsZero) {
  Row one = row("mine", Outcome::pass);
  one.measurement.counts = {};
  EXPECT_THAT(line_with(table(run({one, row("naive", Outcome::pass)}), {}), "mine "), HasSubstr("?  ?"));
}

TEST(Table, LeavesOutAColumnOfWhichNoRowKnowsAnything) {
  Row one = row("mine", Outcome::pass), two = row("yours", Outcome::pass);
  for (Row* each : {&one, &two}) each->measurement.counts = {}, each->measurement.kernel_path.reset();
  two.measurement.counts.copies = CountRange{0, 0};
  EXPECT_THAT(line_with(table(run({one, two}), {}), "backend "), AllOf(Not(HasSubstr("kernels")), Not(HasSubstr("path")), HasSubstr("copies")));
}

TEST(Table, TellsADiagnosisThatAFindingHoldsOnce) {
  Row one = row("mine", Outcome::wrong, Status::wrong);
  one.measurement.numerics.diagnosis = "equals the reference with softcap ignored";
  Finding finding;
  finding.gate = Gate::numerics, finding.metric = "numerics", finding.outcome = Outcome::wrong;
  finding.message = "wrong result: max error 0.25, allowed 1e-06";
  one.verdict.findings = {finding};
  EXPECT_THAT(table(run({one}, ExitCode::gate_failed), {}), HasSubstr("\n    output equals the reference with softcap ignored\n"));
  one.verdict.findings[0].message += "; " + one.measurement.numerics.diagnosis;
  EXPECT_THAT(table(run({one}, ExitCode::gate_failed), {}), Not(HasSubstr("output equals the reference")));
}

TEST(Table, SaysThatCopiedBytesAreALowerBoundBesideACopyKernel) {
  Row one = row("naive", Outcome::pass);
  one.measurement.counts.copies = CountRange{2, 2};
  one.measurement.kernels = {{.kind = ActivityKind::memcpy, .activity_class = ActivityClass::copy, .name = "Memcpy DtoD", .bytes = 256 << 20, .count = {1, 1}},
                             {.ordinal = 1, .activity_class = ActivityClass::copy, .name = "copy_kernel", .count = {1, 1}},
                             {.ordinal = 2, .activity_class = ActivityClass::softmax, .name = "softmax", .count = {1, 1}}};
  EXPECT_THAT(line_with(table(run({one}), {}), "naive "), HasSubstr("2 (>= 256 MiB)"));
  one.measurement.kernels.erase(one.measurement.kernels.begin() + 1);
  EXPECT_THAT(line_with(table(run({one}), {}), "naive "), HasSubstr("2 (256 MiB)"));
}

TEST(Table, GroupsBackendsUnderTheirCase) {
  const std::string text = table(run({row("naive", Outcome::pass), row("math", Outcome::pass)}), {});
  EXPECT_EQ(text.find(sample::kPrefill), text.rfind(sample::kPrefill));
}

TEST(Table, SaysACauseThatFindingsOfARowShareOnce) {
  Row one = row("naive", Outcome::regressed);
  Finding copies, kernels, slower = latency(1.1);
  copies.metric = "copies", copies.message = "copies 1, baseline 0";
  kernels.metric = "kernels", kernels.message = "kernels 6, baseline 5";
  copies.cause = kernels.cause = "torch 2.10 -> 2.11";
  slower.cause = "driver 580 -> 590";
  one.verdict.findings = {copies, kernels, slower};
  const std::string text = table(run({one}), {});
  EXPECT_THAT(text, AllOf(HasSubstr("copies 1, baseline 0; possible cause: torch 2.10 -> 2.11\n"), HasSubstr("kernels 6, baseline 5\n"), HasSubstr("possible cause: driver 580 -> 590")));
}

TEST(Table, EndsEveryFailingBlockWithItsCommandTheWorstFirst) {
  Row slow = row("slow", Outcome::regressed), slower = row("slower", Outcome::regressed), wrong = row("bad", Outcome::wrong, Status::wrong);
  slow.verdict.findings = {latency(1.1)};
  slower.verdict.findings = {latency(1.5)};
  const std::string text = table(run({slow, row("good", Outcome::pass), slower, wrong}, ExitCode::gate_failed), {});
  const auto bad_at = text.find("--backend bad"), slower_at = text.find("--backend slower\n"), slow_at = text.find("--backend slow\n");
  ASSERT_NE(slow_at, std::string::npos);
  EXPECT_LT(bad_at, slower_at);
  EXPECT_LT(slower_at, slow_at);
  EXPECT_THAT(text, Not(HasSubstr("--backend good")));
  EXPECT_THAT(text, AllOf(HasSubstr("(suites/llama.yaml:5)"), HasSubstr("exit 1: failed in 3 rows")));
}

TEST(Table, NamesTheLineOfTheExpectationThatSpoke) {
  Row one = row("naive", Outcome::regressed);
  Finding finding;
  finding.gate = Gate::copies;
  finding.metric = "copies";
  finding.message = "found 1, expected 0";
  finding.line = 31;
  finding.cause = "torch 2.10 -> 2.11";
  one.verdict.findings = {finding};
  EXPECT_THAT(table(run({one}, ExitCode::gate_failed), {}),
              HasSubstr("copies: found 1, expected 0; possible cause: torch 2.10 -> 2.11 (suites/llama.yaml:31)\n    reproduce: "));
}

TEST(Table, NamesTheMetricOfAFindingOnce) {
  Row one = row("naive", Outcome::regressed);
  one.verdict.findings = {latency(1.5), latency(1.5)};
  one.verdict.findings[1].message = "device_ns 1.00 us -> 1.50 us";
  EXPECT_THAT(table(run({one}, ExitCode::gate_failed), {}), HasSubstr("\n    device_ns: slower\n    device_ns 1.00 us -> 1.50 us\n"));
}

TEST(Table, PutsControlRowsInABlockOfTheirOwnAndDoesNotCountThem) {
  Row control = row("control", Outcome::pass);
  control.measurement.control = true;
  const std::string text = table(run({row("naive", Outcome::pass), control}), {});
  EXPECT_GT(text.find("  control "), text.find("control rows"));
  EXPECT_THAT(text, HasSubstr("\n1 pass\n"));
}

TEST(Table, GathersRowsThatWereLeftOutByReason) {
  Row first = row("flash", Outcome::unsupported, Status::unsupported), second = row("cudnn", Outcome::unsupported, Status::unsupported);
  first.measurement.reason = second.measurement.reason = "needs a GPU";
  const std::string text = table(run({first, second}, ExitCode::cannot_judge), {});
  EXPECT_THAT(text, AllOf(HasSubstr("all 2 rows: unsupported: needs a GPU"), HasSubstr("exit 5: cannot judge: every row was skipped or unsupported")));
}

TEST(Table, TellsOnceWhyRowsCannotBeMeasured) {
  std::vector<Row> rows;
  for (const char* backend : {"a", "b", "c", "d"}) rows.push_back(row(backend, Outcome::cannot_measure, Status::cannot_measure));
  for (Row& each : rows) each.measurement.reason = "no GPU";
  rows[3].measurement.reason = "another profiler";
  const std::string text = table(run(rows, ExitCode::cannot_judge), {});
  EXPECT_THAT(text, AllOf(HasSubstr("    no GPU\n    the same in 2 more rows\n    reproduce: "), HasSubstr("    another profiler\n    reproduce: "),
                          Not(HasSubstr("--backend b")), HasSubstr("\n4 cannot_measure")));
  rows[1].measurement.output = "what it printed";
  EXPECT_THAT(table(run(rows, ExitCode::cannot_judge), {}), AllOf(HasSubstr("the same in 1 more row\n"), HasSubstr("--backend b")));
}

TEST(Table, PrintsATracebackThatRowsShareOnceWithTheCommandOfEach) {
  std::vector<Row> rows;
  for (const char* backend : {"a", "b", "c", "d"}) rows.push_back(row(backend, Outcome::failed, Status::failed));
  for (Row& each : rows) each.measurement.reason = "prepare: ValueError: no", each.measurement.output = "Traceback";
  rows[3].measurement.output = "Traceback of another place";
  EXPECT_THAT(table(run(rows, ExitCode::gate_failed), {}),
              AllOf(HasSubstr("    prepare: ValueError: no\n    | Traceback\n    the same in 2 more rows\n    reproduce: "), HasSubstr("--backend b\n"), HasSubstr("--backend c\n"),
                    HasSubstr("    | Traceback of another place\n    reproduce: ")));
  rows[1].verdict.outcome = Outcome::crashed;
  EXPECT_THAT(table(run(rows, ExitCode::gate_failed), {}), AllOf(HasSubstr("the same in 1 more row\n"), HasSubstr("--backend b")));
}

TEST(Table, ShowsGatesThatWereNotJudged) {
  Row one = row("mine", Outcome::pass);
  one.verdict.not_judged = {"kernels: the backend reports no operations"};
  EXPECT_THAT(table(run({one}), {}), HasSubstr("gates not judged\n  1 x kernels: the backend reports no operations\n"));
}

TEST(Table, ShowsWhatACrashedBackendPrintedLast) {
  Row one = row("mine", Outcome::crashed, Status::crashed);
  one.measurement.reason = "SIGSEGV in phase bare";
  one.measurement.output = "start\nreading \x1b[31mmask\n";
  EXPECT_THAT(table(run({one}, ExitCode::gate_failed), {}), AllOf(HasSubstr("    SIGSEGV in phase bare\n    | start\n    | reading \\x1b[31mmask\n")));
}

TEST(Table, NamesNoRowWhereAReasonHoldsForAll) {
  std::vector<Row> rows;
  for (const char* backend : {"a", "b", "c", "d"}) rows.push_back(row(backend, Outcome::pass));
  for (Row& each : rows) each.verdict.not_judged = {"latency: switched off"};
  EXPECT_THAT(table(run(rows), {}), HasSubstr("  all 4 rows: latency: switched off\n\n4 pass"));
}

TEST(Table, NamesTheDatabase) {
  TableOptions options;
  options.database = ".attn-regress/history.db";
  EXPECT_THAT(table(run({row("naive", Outcome::pass)}), options), HasSubstr("run 20250102T030405-ab12cd kept in .attn-regress/history.db\nexit 0: pass\n"));
  options.rows_kept = 1;
  EXPECT_THAT(table(run({row("naive", Outcome::pass), row("math", Outcome::pass)}, ExitCode::usage_error), options),
              HasSubstr("\n1 of 2 rows of run 20250102T030405-ab12cd kept in .attn-regress/history.db\nexit 4: "));
}

TEST(Table, SaysWhyAnEmptyRunIsNoPass) { EXPECT_THAT(table(run({}, ExitCode::cannot_judge), {}), HasSubstr("nothing matched")); }

TEST(Table, SaysThatABaselineWasRequired) {
  EXPECT_THAT(table(run({row("naive", Outcome::no_baseline)}, ExitCode::cannot_judge), {}), HasSubstr("1 row without a baseline, which was required"));
}

TEST(Table, LetsNoEscapeOfOthersThrough) {
  Row one = row("naive", Outcome::failed, Status::failed);
  one.measurement.backend = "b\x1b[2J";
  one.measurement.reason = "r\x1b[2J\u202E";
  one.measurement.output = "o\x1b[2J";
  one.verdict.reason = "v\x1b[2J";
  one.verdict.not_judged = {"n\x1b[2J"};
  one.verdict.findings = {latency(2)};
  one.verdict.findings[0].message = "m\x1b[2J";
  one.verdict.findings[0].cause = "c\x1b[2J";
  one.measurement.numerics.diagnosis = "d\x1b[2J";
  one.reproduce = "x\x1b[2J";
  RunResult hostile = run({one}, ExitCode::gate_failed);
  hostile.warnings = {"w\x1b[2J"};
  const std::string text = table(hostile, {});
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\u202E"))));
}

TEST(HostTime, IsShownWhereTheHostMayBeTheBottleneck) {
  Measurement m = row("flash", Outcome::pass).measurement;
  for (Block& block : m.blocks) block.host_ns = 2.0e6;
  EXPECT_FALSE(notable_host_ns(m));  // on a CPU the call is the host's time
  m.device = DeviceType::cuda;
  EXPECT_EQ(notable_host_ns(m), 2.0e6);
  for (Block& block : m.blocks) block.host_ns = 1.0e5;
  EXPECT_FALSE(notable_host_ns(m));
}

}  // namespace
}  // namespace attn
