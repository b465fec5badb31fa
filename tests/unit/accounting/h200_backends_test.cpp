// What the shipped backends made an H200 do, recorded there: names, kinds and bytes of two calls each, and what must be made of them.

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "accounting/account.hpp"
#include "accounting/difference.hpp"
#include "base/json.hpp"

namespace attn {
namespace {

struct Recorded {
  std::string path;
  std::int64_t kernels = 0, copies = 0;
  std::vector<CallActivities> calls;
};

std::map<std::string, Recorded> recorded() {
  const std::string file = ATTN_SOURCE_DIR "/tests/unit/accounting/h200_backends.json";
  std::ifstream in(file);
  std::map<std::string, Recorded> all;
  for (const Json& each : parse_json(std::string(std::istreambuf_iterator<char>(in), {}), file)) {
    Recorded& backend = all[each.at("backend").get<std::string>()];
    backend.path = each.at("kernel_path").get<std::string>();
    backend.kernels = each.at("kernels").get<std::int64_t>();
    backend.copies = each.at("copies").get<std::int64_t>();
    for (const Json& call : each.at("calls")) {
      CallActivities& activities = backend.calls.emplace_back();
      for (const Json& a : call)
        activities.push_back({static_cast<ActivityKind>(a.at(0).get<int>()), each.at("names").at(a.at(1).get<std::size_t>()).get<std::string>(),
                              a.at(2).is_null() ? std::nullopt : std::optional(a.at(2).get<std::int64_t>()), a.at(3).get<std::int64_t>(), a.at(4).get<std::int64_t>()});
    }
  }
  return all;
}

TEST(H200Backends, AreCountedAsTheCardSaid) {
  const auto all = recorded();
  ASSERT_GE(all.size(), 9u);
  for (const auto& [name, backend] : all) {
    const Account result = account(backend.calls, default_rules());
    EXPECT_EQ(result.error, "") << name;
    EXPECT_EQ(result.counts.kernels, (CountRange{backend.kernels, backend.kernels})) << name;
    EXPECT_EQ(result.counts.copies, (CountRange{backend.copies, backend.copies})) << name;
    EXPECT_EQ(word(result.kernel_path.value()), backend.path) << name;
    EXPECT_EQ(result.counts.synchronisations, (CountRange{0, 0})) << name;
    EXPECT_EQ(result.counts.allocations, (CountRange{0, 0})) << name;
  }
}

TEST(H200Backends, HaveThePromisedCountsOnTheArticlesShape) {
  const auto all = recorded();
  const auto counts = [&](const char* name) { return account(all.at(name).calls, default_rules()).counts; };
  EXPECT_EQ(counts("naive").kernels, (CountRange{5, 5}));
  EXPECT_EQ(counts("naive").copies, (CountRange{1, 1}));
  EXPECT_EQ(counts("naive").copy_bytes, (CountRange{268435456, 268435456}));
  EXPECT_EQ(counts("naive_inplace").kernels, (CountRange{5, 5}));
  EXPECT_EQ(counts("naive_inplace").copies, (CountRange{0, 0}));
}

TEST(H200Backends, DifferByWhatWasPlanted) {
  const auto all = recorded();
  const auto rows = [&](const char* name) { return account(all.at(name).calls, default_rules()).kernels; };
  const auto copy = difference(rows("naive"), rows("planted.copy"));
  ASSERT_EQ(copy.size(), 1u);
  EXPECT_EQ(copy[0].text, "+1 memcpy DtoD of 268435456 B (2 instead of 1)");
  const auto in_place = difference(rows("naive_inplace"), rows("naive"));
  ASSERT_EQ(in_place.size(), 1u);
  EXPECT_THAT(in_place[0].text, testing::MatchesRegex("\\+1 memcpy DtoD of 268435456 B after .*attn_chain_scale.*"));
  EXPECT_THAT(difference(rows("naive"), rows("planted.delay")), testing::IsEmpty());
  EXPECT_THAT(slower_operations(rows("naive"), rows("planted.slow"), 1.5), testing::ElementsAre(testing::HasSubstr("softmax")));
}

}  // namespace
}  // namespace attn
