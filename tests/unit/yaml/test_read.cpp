#include <gmock/gmock.h>

#include <array>

#include "yaml/read.hpp"

namespace attn {

enum class Fruit { apple, pear };
template <>
struct Words<Fruit> {
  static constexpr std::array list{"apple", "pear"};
};

namespace {

template <class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Node value(const std::string& text) { return *parse_yaml("heads: " + text, "s.yaml").find("heads"); }

TEST(ReadInteger, TakesDecimalDigitsOnly) {
  const auto read = [](const std::string& text) { return read_integer(value(text), -5, 100); };
  EXPECT_EQ(read("32"), 32);
  EXPECT_EQ(read("0"), 0);
  EXPECT_EQ(read("-5"), -5);
  const auto message = [&](const std::string& text) { return message_of([&] { read(text); }); };
  EXPECT_EQ(message("010"), "s.yaml:1:8: heads: found 010: a leading zero means octal to some readers of YAML and nothing to others; write the number without it");
  EXPECT_EQ(message("\"4\""), "s.yaml:1:8: heads: found the text \"4\"; wanted is a whole number from -5 to 100, without quotes");
  for (const char* text : {"101", "-6", "0x10", "1_0", "1e1", "4.0", "+4", "on", "99999999999999999999", "4 5", "1:30"})
    EXPECT_EQ(message(text), fmt::format("s.yaml:1:8: heads: found \"{}\"; wanted is a whole number from -5 to 100", text));
  EXPECT_EQ(message("[4]"), "s.yaml:1:8: heads: found a list; wanted is a whole number from -5 to 100");
  EXPECT_EQ(message(""), "s.yaml:1:1: heads: found nothing; wanted is a whole number from -5 to 100");
}

TEST(ReadNumber, TakesJsonNumbersOnly) {
  const auto read = [](const std::string& text) { return read_number(value(text)); };
  EXPECT_EQ(read("0.5"), 0.5);
  EXPECT_EQ(read("-2"), -2.0);
  EXPECT_EQ(read("1e-3"), 1e-3);
  EXPECT_EQ(read("0"), 0.0);
  for (const char* text : {".5", "5.", "inf", ".inf", "nan", ".nan", "1e", "0x1p3", "1_0", "+1", "--1", "1,5"})
    EXPECT_EQ(message_of([&] { read(text); }), fmt::format("s.yaml:1:8: heads: found \"{}\"; wanted is a decimal number such as 0.5, -2 or 1e-3", text));
  EXPECT_EQ(message_of([&] { read("1e999"); }), "s.yaml:1:8: heads: found \"1e999\", which a double cannot hold");
  EXPECT_THAT(message_of([&] { read("010"); }), testing::HasSubstr("a leading zero"));
  EXPECT_THAT(message_of([&] { read("'1'"); }), testing::HasSubstr("without quotes"));
}

TEST(ReadBoolean, TakesTrueAndFalseOnly) {
  EXPECT_TRUE(read_boolean(value("true")));
  EXPECT_FALSE(read_boolean(value("false")));
  for (const char* text : {"on", "off", "yes", "no", "True", "TRUE", "1", "y"})
    EXPECT_EQ(message_of([&] { read_boolean(value(text)); }), fmt::format("s.yaml:1:8: heads: found \"{}\"; allowed are: true, false", text));
  EXPECT_THAT(message_of([&] { read_boolean(value("\"true\"")); }), testing::HasSubstr("without quotes"));
}

TEST(ReadText, TakesScalarsThatAreNotEmpty) {
  EXPECT_EQ(read_text(value("010")), "010");
  EXPECT_EQ(read_text(value("\"a b\"")), "a b");
  EXPECT_EQ(message_of([&] { read_text(value("''")); }), "s.yaml:1:8: heads: found empty text");
  EXPECT_EQ(message_of([&] { read_text(value("{}")); }), "s.yaml:1:8: heads: found a map; wanted is text");
}

TEST(ReadWord, ListsTheWordsAndTheNearest) {
  EXPECT_EQ(read_word<Fruit>(value("pear")), Fruit::pear);
  EXPECT_EQ(read_word<Fruit>(value("\"apple\"")), Fruit::apple);
  EXPECT_EQ(message_of([&] { read_word<Fruit>(value("aple")); }), "s.yaml:1:8: heads: found \"aple\"; allowed are: apple, pear; did you mean apple?");
  EXPECT_EQ(message_of([&] { read_word<Fruit>(value("table")); }), "s.yaml:1:8: heads: found \"table\"; allowed are: apple, pear");
  EXPECT_EQ(message_of([&] { read_word<Fruit>(value("[pear]")); }), "s.yaml:1:8: heads: found a list; wanted is one word; allowed are: apple, pear");
}

TEST(MapReader, NamesUnknownReservedAndMissingKeys) {
  const WordList allowed{"batch", "heads", "heads_kv"}, reserved{"sinks"};
  const auto message = [&](const std::string& text) {
    const Node node = parse_yaml(text, "s.yaml");
    return message_of([&] { MapReader(node, "a case", allowed, reserved).required("batch"); });
  };
  EXPECT_EQ(message("batch: 1\nheds: 2\n"), "s.yaml:2:1: unknown key \"heds\" in a case; allowed are: batch, heads, heads_kv; did you mean heads?");
  EXPECT_EQ(message("Heads-KV: 2\n"), "s.yaml:1:1: unknown key \"Heads-KV\" in a case; allowed are: batch, heads, heads_kv; did you mean heads_kv?");
  EXPECT_EQ(message("colour: 2\n"), "s.yaml:1:1: unknown key \"colour\" in a case; allowed are: batch, heads, heads_kv");
  EXPECT_EQ(message("batch: 1\nsinks: 2\n"), "s.yaml:2:1: sinks is reserved and does nothing yet; remove it from a case");
  EXPECT_EQ(message("heads: 2\n"), "s.yaml:1:1: a case needs the key batch");
  EXPECT_EQ(message("{batch:1}\n"), "s.yaml:1:2: found \"batch:1\"; YAML wants a space after the colon");
  EXPECT_EQ(message("- 1\n"), "s.yaml:1:1: found a list; a case is a map with the keys: batch, heads, heads_kv");
  EXPECT_EQ(message("batch: 1\n"), "no error");
}

TEST(OneOrMore, TakesAValueOrAListThatIsNotEmpty) {
  EXPECT_EQ(one_or_more(value("a")).size(), 1u);
  EXPECT_EQ(one_or_more(value("[a, b]")).size(), 2u);
  EXPECT_THROW(one_or_more(value("[]")), Error);
  EXPECT_THROW(one_or_more(value("")), Error);
}

TEST(Nearest, CountsSwapsAndForgivesCase) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("haeds", "heads"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("abc", "abc"), 0u);
  EXPECT_EQ(nearest("BF16", {"fp32", "bf16"}), "bf16");
  EXPECT_EQ(nearest("xyz", {"fp32", "bf16"}), "");
  EXPECT_EQ(nearest("a", {"b"}), "");
}

TEST(Quote, EscapesAndCuts) {
  EXPECT_EQ(quote("a\x1b[31m\n"), "\"a\\x1b[31m\\n\"");
  EXPECT_EQ(quote(std::string(100, 'x')), "\"" + std::string(60, 'x') + "...\"");
  EXPECT_EQ(quote(std::string(59, 'x') + "\xc3\xa9y"), "\"" + std::string(59, 'x') + "\xc3\xa9...\"");
}

}  // namespace
}  // namespace attn
