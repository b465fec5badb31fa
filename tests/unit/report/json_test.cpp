#include "report/json.hpp"

#include <gmock/gmock.h>

#include "report/table.hpp"
#include "sample.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

RunResult full_run() {
  Row one = sample::row("naive", Outcome::regressed);
  one.trial.tags = {"prefill"};
  one.measurement.kernels = {{0, ActivityKind::memcpy, ActivityClass::copy, "memcpy", 64, {1, 2}, 12.5}};
  one.verdict.findings = {sample::latency(1.07)};
  one.verdict.findings[0].line = 9;
  one.verdict.not_judged = {"memory: unknown"};
  one.baseline_commit = "abc";
  one.baseline_device_ns = 3.0e6;
  Row control = sample::row("control", Outcome::pass);
  control.measurement.control = true;
  RunResult run = sample::run({one, control}, ExitCode::gate_failed);
  run.command = {"attn-regress", "run", "suites/llama.yaml"};
  run.warnings = {"careful"};
  run.environments[0].libraries["openblas"] = {"0.3.21", "/lib/libopenblas.so"};
  return run;
}

std::string message_of(const Json& document) {
  try {
    read_run_json(document, "run.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RunJson, StatesItsSchemaAndTheExitCode) {
  const Json json = run_json(full_run());
  EXPECT_EQ(json["schema"], "attn-regress/run");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["run"]["exit_code"], 1);
  EXPECT_EQ(json["run"]["exit"], "gate_failed");
  EXPECT_EQ(json["counts"], Json({{"regressed", 1}}));
}

TEST(RunJson, GivesMediansOverBlocksAndNullForWhatWasNotMeasured) {
  const Json row = run_json(full_run())["rows"][0];
  EXPECT_EQ(row["times"]["device_ns"], 3.2e6);
  EXPECT_EQ(row["times"]["blocks"], 3);
  EXPECT_EQ(row["times"]["calls"], 60);
  EXPECT_TRUE(row["times"]["span_ns"].is_null());
  EXPECT_NEAR(row["baseline"]["ratio"].get<double>(), 3.2 / 3.0, 1e-12);
}

TEST(RunJson, SpellsTheCaseOut) {
  const Json value = run_json(full_run())["rows"][0]["case"];
  EXPECT_EQ(value["heads_kv"], 8);
  EXPECT_EQ(value["dtype"], "bf16");
  EXPECT_EQ(value["mask"], "causal");
  EXPECT_TRUE(value["alignment"].is_null());
}

TEST(RunJson, IsReadBackToTheSameDocumentAndTheSameTable) {
  const RunResult run = full_run();
  const Json json = run_json(run);
  const RunResult again = read_run_json(parse_json(dump_line(json), "run.json"), "run.json");
  EXPECT_EQ(run_json(again), json);
  EXPECT_EQ(table(again, {}), table(run, {}));
}

TEST(RunJson, RefusesOtherDocuments) {
  EXPECT_THAT(message_of(Json::array()), HasSubstr("run.json: not a run"));
  Json json = run_json(full_run());
  json["version"] = 2;
  EXPECT_THAT(message_of(json), HasSubstr("version 2 of the schema"));
}

TEST(RunJson, NamesThePlaceOfAWrongValue) {
  Json json = run_json(full_run());
  json["rows"][0]["status"] = "fine";
  EXPECT_THAT(message_of(json), HasSubstr("run.json.rows[0].status: found \"fine\", expected one of: ok, wrong"));
  json = run_json(full_run());
  json["rows"][1]["case_id"] = "nonsense";
  EXPECT_THAT(message_of(json), HasSubstr("run.json.rows[1].case_id: "));
  json = run_json(full_run());
  json["rows"][1]["environment"] = 7;
  EXPECT_THAT(message_of(json), HasSubstr("run.json.rows[1].environment: 7, but there are 1 environments"));
  json.erase("rows");
  EXPECT_THAT(message_of(json), HasSubstr("\"rows\" is missing"));
}

}  // namespace
}  // namespace attn
