#include "base/json.hpp"

#include <gmock/gmock.h>

#include <limits>

namespace attn {

enum class Fruit { apple, pear };
template <> struct Words<Fruit> { static constexpr std::array list{"apple", "pear"}; };

namespace {

struct Basket {
  Fruit fruit = Fruit::apple;
  std::optional<double> weight;
  std::vector<std::int64_t> counts;
  std::map<std::string, std::string> labels;
  static void fields(auto& self, auto&& visit) {
    visit("fruit", self.fruit);
    visit("weight", self.weight);
    visit("counts", self.counts);
    visit("labels", self.labels);
  }
};

std::string message_of(const std::string& text) {
  try {
    Basket basket;
    from_json(parse_json(text, "basket"), basket, "basket");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Json, ReadsBackWhatItWrote) {
  const Basket basket{Fruit::pear, 1.25, {1, -9007199254740993, 3}, {{"a", "b\"\n\x01"}}};
  Basket again;
  from_json(parse_json(dump_line(to_json(basket)), "basket"), again, "basket");
  EXPECT_EQ(again.fruit, Fruit::pear);
  EXPECT_EQ(again.weight, 1.25);
  EXPECT_EQ(again.counts, basket.counts);
  EXPECT_EQ(again.labels, basket.labels);
}

TEST(Json, KeepsUnknownApartFromZero) {
  Basket basket;
  EXPECT_EQ(dump_line(to_json(basket)), R"({"fruit":"apple","weight":null,"counts":[],"labels":{}})");
  from_json(parse_json(R"({"weight": null})", "basket"), basket, "basket");
  EXPECT_FALSE(basket.weight);
}

TEST(Json, WritesANumberThatIsNotFiniteAsUnknown) {
  Basket basket;
  basket.weight = std::numeric_limits<double>::infinity();
  EXPECT_EQ(to_json(basket)["weight"], nullptr);
}

TEST(Json, SaysWhereAndWhatIsWrong) {
  EXPECT_THAT(message_of(R"({"fruit": "plum"})"), testing::AllOf(testing::HasSubstr("basket.fruit"), testing::HasSubstr("plum"), testing::HasSubstr("apple, pear")));
  EXPECT_THAT(message_of(R"({"counts": [1, "two"]})"), testing::HasSubstr("basket.counts[1]: found string, expected a whole number"));
  EXPECT_THAT(message_of(R"({"counts": )"), testing::HasSubstr("basket: not JSON"));
  EXPECT_THAT(message_of("[]"), testing::HasSubstr("expected an object"));
}

TEST(Json, MendsTextThatIsNotUtf8) {
  EXPECT_EQ(dump_line(Json("a\xff")), "\"a\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace attn
