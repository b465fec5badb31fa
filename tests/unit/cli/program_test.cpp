#include "cli/program.hpp"

#include <gmock/gmock.h>

#include "cli/subcommands.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

struct Printed {
  int code;
  std::string out, err;
};

Printed run_words(std::vector<std::string> words) {
  words.insert(words.begin(), "attn-regress");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run_program(words);
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(Program, ShowsHelpAndVersionOnStandardOutput) {
  const Printed help = run_words({"--help"}), version = run_words({"--version"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, testing::AllOf(HasSubstr("Exit codes: 0 pass"), HasSubstr("baseline"), testing::Not(HasSubstr("worker"))));
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.out, testing::StartsWith("attn-regress "));
}

TEST(Program, HasHelpForEverySubcommand) {
  CLI::App program;
  for (AddSubcommand* add : kSubcommands) {
    const std::string name = add(program).app->get_name();
    const Printed help = run_words({name, "--help"});
    EXPECT_EQ(help.code, 0) << name;
    EXPECT_THAT(help.out, HasSubstr("Usage: attn-regress " + name));
    EXPECT_EQ(help.err, "") << name;
  }
}

TEST(Program, RefusesAnUnknownOptionWithTheNearest) {
  const Printed found = run_words({"history", "--limt", "3"});
  EXPECT_EQ(found.code, 4);
  EXPECT_EQ(found.out, "");
  EXPECT_EQ(found.err, "attn-regress: unknown option \"--limt\"; did you mean --limit?; see attn-regress history --help\n");
}

TEST(Program, RefusesAnUnknownOptionOfANestedSubcommand) {
  const Printed found = run_words({"baseline", "show", "--basline=x"});
  EXPECT_EQ(found.code, 4);
  EXPECT_THAT(found.err, HasSubstr("unknown option \"--basline\"; did you mean --baseline?; see attn-regress baseline show --help"));
}

TEST(Program, TakesOneValuePerRepeatableOption) {
  // Otherwise --backend would swallow the first of the suites behind it.
  const Printed found = run_words({"run", "--backend", "naive", "/no/such/first.yaml", "/no/such/second.yaml"});
  EXPECT_EQ(found.code, 4);
  EXPECT_THAT(found.err, HasSubstr("/no/such/first.yaml"));
}

}  // namespace
}  // namespace attn
