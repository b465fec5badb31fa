#include "core/records.hpp"

#include <gmock/gmock.h>

#include "core/verdict.hpp"

namespace attn {
namespace {

TEST(Records, ReadBackWhatWasWritten) {
  MeasurementRecord record;
  record.trial = 7;
  record.status = Status::wrong;
  record.reason = "equals the reference with softcap ignored";
  record.counted = true;
  record.calls = {{{ActivityKind::memcpy, "cpu_memcpy_scores", 4096, 10, 20}}, {}};
  record.numerics.max_abs_error = 0.5;
  const Record again = parse_record(record_line(record));
  ASSERT_TRUE(std::holds_alternative<MeasurementRecord>(again));
  EXPECT_EQ(record_line(std::get<MeasurementRecord>(again)), record_line(record));
}

TEST(Records, RefuseNonsense) {
  for (const char* line : {"", "{", "[]", "{}", "{\"record\": 1}", "{\"record\": \"surprise\"}", "{\"record\": \"started\", \"phase\": \"lunch\"}", "null", "\"started\""})
    EXPECT_THROW(parse_record(line), Error) << line;
}

TEST(ExitCode, FollowsTheTable) {
  using enum Outcome;
  const auto code = [](std::vector<Outcome> outcomes, bool require = false) { return static_cast<int>(run_exit_code(outcomes, require)); };
  EXPECT_EQ(code({pass, improved, no_baseline, waived, skipped, unsupported}), 0);
  EXPECT_EQ(code({no_baseline}), 0);
  EXPECT_EQ(code({no_baseline}, true), 5);
  for (const Outcome failing : {regressed, wrong, failed, crashed, timed_out}) EXPECT_EQ(code({pass, failing, undecided}), 1) << word(failing);
  for (const Outcome unclear : {undecided, environment_shift, cannot_measure}) EXPECT_EQ(code({pass, unclear}), 5) << word(unclear);
  EXPECT_EQ(code({}), 5);
  EXPECT_EQ(code({skipped, unsupported}), 5);
}

}  // namespace
}  // namespace attn
