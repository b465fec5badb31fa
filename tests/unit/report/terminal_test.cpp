#include "report/terminal.hpp"

#include <gtest/gtest.h>

#include <map>

namespace attn {
namespace {

Lookup variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) { return values.contains(name) ? values.at(name).c_str() : nullptr; };
}

TEST(Color, FollowsTheTerminal) {
  EXPECT_TRUE(want_color(ColorChoice::automatic, true, variables({})));
  EXPECT_FALSE(want_color(ColorChoice::automatic, false, variables({})));
  EXPECT_FALSE(want_color(ColorChoice::automatic, true, variables({{"TERM", "dumb"}})));
}

TEST(Color, IsSwitchedByTheEnvironment) {
  EXPECT_FALSE(want_color(ColorChoice::automatic, true, variables({{"NO_COLOR", "1"}})));
  EXPECT_TRUE(want_color(ColorChoice::automatic, true, variables({{"NO_COLOR", ""}})));
  EXPECT_TRUE(want_color(ColorChoice::automatic, false, variables({{"FORCE_COLOR", "1"}})));
  EXPECT_FALSE(want_color(ColorChoice::automatic, false, variables({{"FORCE_COLOR", "0"}})));
  EXPECT_FALSE(want_color(ColorChoice::automatic, true, variables({{"NO_COLOR", "1"}, {"FORCE_COLOR", "1"}})));
}

TEST(Color, ObeysTheOptionBeforeTheEnvironment) {
  EXPECT_TRUE(want_color(ColorChoice::always, false, variables({{"NO_COLOR", "1"}})));
  EXPECT_FALSE(want_color(ColorChoice::never, true, variables({{"FORCE_COLOR", "1"}})));
}

TEST(Columns, ComeFromTheVariableWhenItIsANumber) {
  EXPECT_EQ(terminal_columns(-1, variables({{"COLUMNS", "100"}})), 100);
  EXPECT_EQ(terminal_columns(-1, variables({{"COLUMNS", "0"}})), 0);
  EXPECT_EQ(terminal_columns(-1, variables({{"COLUMNS", "wide"}})), 0);
  EXPECT_EQ(terminal_columns(-1, variables({{"COLUMNS", "100x"}})), 0);
  EXPECT_EQ(terminal_columns(-1, variables({})), 0);
}

}  // namespace
}  // namespace attn
