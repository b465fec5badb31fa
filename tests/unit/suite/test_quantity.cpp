#include <gmock/gmock.h>

#include "base/error.hpp"
#include "suite/quantity.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

template <class Parse>
std::string message_of(Parse parse, std::string_view text) {
  try {
    parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Quantity, ReadsUnits) {
  EXPECT_DOUBLE_EQ(parse_ratio("3%"), 0.03);
  EXPECT_DOUBLE_EQ(parse_ratio("0.5%"), 0.005);
  EXPECT_DOUBLE_EQ(parse_ratio("0%"), 0);
  EXPECT_DOUBLE_EQ(parse_duration_ns("2us"), 2e3);
  EXPECT_DOUBLE_EQ(parse_duration_ns("10m"), 600e9);
  EXPECT_DOUBLE_EQ(parse_duration_ns("1.5ms"), 1.5e6);
  EXPECT_DOUBLE_EQ(parse_duration_ns("1h"), 3600e9);
  EXPECT_DOUBLE_EQ(parse_bytes("64MiB"), 64.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(parse_bytes("1.5KiB"), 1536);
  EXPECT_DOUBLE_EQ(parse_flops("20GFLOP"), 20e9);
}

TEST(Quantity, RefusesBareNumbersWithAnExample) {
  EXPECT_EQ(message_of(parse_ratio, "3"), "found \"3\" without a unit; write it with one, such as 3%; allowed are: %");
  EXPECT_THAT(message_of(parse_duration_ns, "10"), HasSubstr("such as 2us"));
  EXPECT_THAT(message_of(parse_bytes, "64"), HasSubstr("such as 64MiB"));
}

TEST(Quantity, RefusesNonsense) {
  for (const char* bad : {"", "%", "-3%", "+3%", "x%", ".5%", "3.%", "3..1%", " 3%", "1.2.3%"}) EXPECT_THAT(message_of(parse_ratio, bad), HasSubstr("wanted is a number with a unit, such as 3%")) << bad;
  EXPECT_EQ(message_of(parse_duration_ns, "2sec"), "found \"2sec\" with the unit \"sec\"; allowed are: ns, us, ms, s, m, h");
  EXPECT_THAT(message_of(parse_bytes, "64mib"), HasSubstr("did you mean MiB?"));
  EXPECT_EQ(message_of(parse_bytes, "0.5B"), "found \"0.5B\", which is no whole number of bytes");
  EXPECT_THAT(message_of(parse_bytes, "999999999TiB"), HasSubstr("out of range"));
  EXPECT_THAT(message_of(parse_ratio, std::string(400, '9') + "%"), testing::AnyOf(HasSubstr("out of range"), HasSubstr("wanted is")));
}

}  // namespace
}  // namespace attn
