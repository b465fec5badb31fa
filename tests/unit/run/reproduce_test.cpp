#include "run/reproduce.hpp"

#include <gmock/gmock.h>

namespace attn {
namespace {

TEST(Reproduce, RunsJustThatRow) {
  Suite suite;
  suite.path = "suites/my suite.yaml";
  Trial trial;
  trial.value.name = "a+b/c";
  trial.id = case_id(trial.value);
  trial.backend.name = "naive";
  RunOptions options;
  EXPECT_EQ(reproduce_command(suite, trial, options),
            "attn-regress run 'suites/my suite.yaml' --filter '^a\\+b/c:fp32/b1/h1/q1\\.k1/d64$' --backend naive");
  options.plugins = {{"naive", "./lib.so", "planted.copy"}, {"other", "./x.so", ""}};
  options.python = "/venv/bin/python";
  options.gates = {Gate::copies, Gate::kernels};
  options.rules_file = "r.yaml";
  options.baseline_directory = "base lines";
  options.max_cost_flops = 50e9;
  options.timeout = std::chrono::seconds(5);
  options.seed = 3;
  EXPECT_THAT(reproduce_command(suite, trial, options), testing::EndsWith("--backend naive --plugin naive=./lib.so:planted.copy --python /venv/bin/python --gates kernels,copies --rules r.yaml --baseline 'base lines' --max-cost 50000000000FLOP --timeout 5000ms --seed 3"));
}

TEST(Reproduce, ComparesTheSameSides) {
  Suite suite;
  suite.path = "s.yaml";
  Trial trial;
  trial.id = "x";
  trial.backend.name = "n";
  RunOptions options;
  options.sides.resize(2);
  options.sides[0].typed = {"python=old/bin/python"};
  options.sides[1].typed = {"python=new/bin/python", "env:FLAG=a b"};
  EXPECT_EQ(reproduce_command(suite, trial, options), "attn-regress ab s.yaml --a python=old/bin/python --b python=new/bin/python --b 'env:FLAG=a b' --filter '^x$' --backend n");
}

TEST(Reproduce, RunsTheRowsThatItIsComparedWithToo) {
  Suite suite;
  suite.path = "s.yaml";
  Trial trial, smaller, other;
  trial.id = "large";
  smaller.id = "small";
  other.id = "large";
  trial.backend.name = smaller.backend.name = "mine";
  other.backend.name = "naive";
  RunOptions options;
  options.plugins = {{"naive", "./n.so", ""}};
  EXPECT_EQ(reproduce_command(suite, trial, options, {&smaller, &other}),
            "attn-regress run s.yaml --filter '^large$' --filter '^small$' --backend mine --backend naive --plugin naive=./n.so");
}

TEST(Reproduce, QuotesForTheShell) {
  Suite suite;
  suite.path = "it's.yaml";
  Trial trial;
  trial.id = "x";
  trial.backend.name = "n";
  EXPECT_THAT(reproduce_command(suite, trial, {}), testing::HasSubstr("'it'\\''s.yaml'"));
  suite.path = "it's\na\\b\x1b[1m.yaml";  // what a terminal would obey and a report would replace
  EXPECT_THAT(reproduce_command(suite, trial, {}), testing::HasSubstr(R"($'it\'s\na\\b\x1b[1m.yaml')"));
}

TEST(TooCostly, NamesTheFlagThatRunsIt) {
  Case c;
  c.heads = 32;
  c.heads_kv = 32;
  c.seq_q = c.seq_kv = 4096;
  c.head_dim = c.head_dim_v = 128;
  RunOptions options;
  EXPECT_EQ(too_costly(c, DeviceType::cpu, options), "costs 277 GFLOP, more than 10.0 GFLOP: --max-cost 278GFLOP runs it");
  options.max_cost_flops = 278e9;
  EXPECT_EQ(too_costly(c, DeviceType::cpu, options), "");
  options.max_cost_flops.reset();
  EXPECT_EQ(too_costly(c, DeviceType::cuda, options), "");
}

}  // namespace
}  // namespace attn
