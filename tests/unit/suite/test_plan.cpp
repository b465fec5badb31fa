#include <gmock/gmock.h>

#include <map>
#include <set>

#include "suite/plan.hpp"
#include "suite_text.hpp"

namespace attn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSuite = R"(version: 1
suite: plans
defaults: {heads: 1, head_dim: 16, dtype: fp32}
cases:
  - {name: model/prefill, batch: [1, 2], seq: [8, 16]}
  - {name: model/decode, batch: 1, seq_q: 1, seq_kv: 8, tags: [short, big]}
backends: [naive, flash]
)";

std::vector<Trial> planned(const Selection& selection, const std::string& text = kSuite) { return plan({parse_suite(text, "p.yaml")}, selection).at(0); }

std::set<std::string> ids(const std::vector<Trial>& trials) {
  std::set<std::string> all;
  for (const Trial& trial : trials) all.insert(trial.id);
  return all;
}

std::string plan_error(const Selection& selection, const std::string& text = kSuite) {
  try {
    planned(selection, text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Plan, RunsEveryCaseOnEveryBackendInTheOrderOfTheFile) {
  const std::vector<Trial> trials = planned({});
  ASSERT_EQ(trials.size(), 10u);
  EXPECT_EQ(trials[0].id, "model/prefill:fp32/b1/h1/q8.k8/d16");
  EXPECT_EQ(trials[0].backend.name, "naive");
  EXPECT_EQ(trials[1].id, trials[0].id);
  EXPECT_EQ(trials[1].backend.name, "flash");
  EXPECT_EQ(trials[9].place, (Place{"p.yaml", 6, 5}));
  EXPECT_THAT(trials[9].tags, ElementsAre("short", "big"));
  EXPECT_EQ(trials[9].suite, "plans");
  for (std::size_t i = 0; i < trials.size(); ++i) EXPECT_EQ(trials[i].index, static_cast<std::int64_t>(i));
}

TEST(Plan, FiltersByIdNameAndTag) {
  const auto count = [](std::vector<std::string> filters) { return ids(planned({.filters = std::move(filters)})).size(); };
  EXPECT_EQ(count({"/b2/"}), 2u);
  EXPECT_EQ(count({"^model/decode$"}), 1u) << "the name alone";
  EXPECT_EQ(count({"^big$"}), 1u) << "a tag";
  EXPECT_EQ(count({"/b2/", "decode"}), 3u) << "any of them";
  EXPECT_EQ(count({"-decode"}), 4u);
  EXPECT_EQ(count({"prefill", "-q8", "-b2"}), 1u);
  EXPECT_EQ(count({"-short"}), 4u);
  EXPECT_EQ(count({"nothing"}), 0u);
}

TEST(Plan, SelectsBackends) {
  const std::vector<Trial> trials = planned({.backends = {"flash"}});
  EXPECT_EQ(trials.size(), 5u);
  for (const Trial& trial : trials) EXPECT_EQ(trial.backend.name, "flash");
}

TEST(Plan, RefusesWhatSelectsByMistake) {
  EXPECT_EQ(plan_error({.backends = {"flahs"}}), "--backend: found \"flahs\"; allowed are: naive, flash; did you mean flash?");
  EXPECT_THAT(plan_error({.filters = {"["}}), HasSubstr("--filter: \"[\" is no regular expression: "));
  EXPECT_THAT(plan_error({.filters = {"-["}}), HasSubstr("--filter: \"-[\" is no regular expression: "));
  EXPECT_THAT(plan_error({.filters = {"-"}}), HasSubstr("--filter: found no expression"));
  EXPECT_THAT(plan_error({.filters = {""}}), HasSubstr("--filter: found no expression"));
  const Suite suite = parse_suite(kSuite, "p.yaml");
  EXPECT_THROW(plan({suite, suite}, {}), Error);
}

TEST(Plan, CountsThroughAllSuites) {
  Suite first = parse_suite(kSuite, "p.yaml"), second = first;
  second.name = "second";
  second.backends.push_back(first.backends.front());
  second.backends.back().name = "cudnn";
  const auto plans = plan({first, second}, {.backends = {"cudnn", "naive"}});
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0].size(), 5u);
  EXPECT_EQ(plans[1].size(), 10u);
  EXPECT_EQ(plans[1].front().index, 5);
}

std::string hundred_cases(const char* more = "") {
  return std::string("version: 1\nsuite: s\ndefaults: {heads: 1, head_dim: 16, dtype: fp32, batch: 1}\ncases:\n") + more + "  - {name: x, seq: [" + count_to(100) + "]}\nbackends: [a, b]\n";
}

TEST(Shards, PartTheCasesAndKeepTheBackendsOfOneTogether) {
  const std::set<std::string> all = ids(planned({}, hundred_cases()));
  std::set<std::string> seen;
  std::size_t trials = 0;
  for (std::int64_t k = 1; k <= 3; ++k) {
    const std::vector<Trial> part = planned({.shard = {k, 3}}, hundred_cases());
    std::map<std::string, int> backends;
    for (const Trial& trial : part) ++backends[trial.id];
    for (const auto& [id, count] : backends) {
      EXPECT_EQ(count, 2) << id;
      EXPECT_TRUE(seen.insert(id).second) << id << " is in two shards";
    }
    EXPECT_GT(backends.size(), 20u) << "100 cases in 3 parts, evenly enough";
    trials += part.size();
  }
  EXPECT_EQ(seen, all);
  EXPECT_EQ(trials, 200u);
}

TEST(Shards, StayTheSameWhenASuiteGrows) {
  const auto before = ids(planned({.shard = {1, 3}}, hundred_cases()));
  const auto after = ids(planned({.shard = {1, 3}}, hundred_cases("  - {name: y, seq: [1, 2, 3]}\n")));
  for (const std::string& id : before) EXPECT_TRUE(after.contains(id)) << id;
}

TEST(Shards, AreTheSameOnEveryMachine) {
  // Pinned: another hash would move every case to another part.
  EXPECT_THAT(ids(planned({.shard = {2, 4}})), ElementsAre("model/prefill:fp32/b1/h1/q8.k8/d16", "model/prefill:fp32/b2/h1/q16.k16/d16", "model/prefill:fp32/b2/h1/q8.k8/d16"));
}

TEST(Shards, AreWrittenKOfN) {
  EXPECT_EQ(parse_shard("2/4").index, 2);
  EXPECT_EQ(parse_shard("2/4").count, 4);
  for (const char* bad : {"", "2", "0/4", "5/4", "2/", "/4", "2/4x", "-1/4", "a/b", "1/10001", "2 / 4"}) EXPECT_THROW(parse_shard(bad), Error) << bad;
}

TEST(OrderSeed, ShufflesTheSameWayEachTime) {
  const auto order = [](std::optional<std::uint64_t> seed) {
    std::vector<std::string> all;
    for (const Trial& trial : planned({.order_seed = seed}, hundred_cases())) all.push_back(trial.id + trial.backend.name);
    return all;
  };
  EXPECT_EQ(order(7), order(7));
  EXPECT_NE(order(7), order(8));
  EXPECT_NE(order(7), order(std::nullopt));
  auto shuffled = order(7), plain = order(std::nullopt);
  std::sort(shuffled.begin(), shuffled.end());
  std::sort(plain.begin(), plain.end());
  EXPECT_EQ(shuffled, plain);
  const std::vector<Trial> trials = planned({.order_seed = 7});
  for (std::size_t i = 0; i < trials.size(); ++i) EXPECT_EQ(trials[i].index, static_cast<std::int64_t>(i));
}

}  // namespace
}  // namespace attn
