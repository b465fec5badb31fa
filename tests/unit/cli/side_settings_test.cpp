#include "cli/side_settings.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace attn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
namespace fs = std::filesystem;

std::string refusal(const std::string& text, SideSettings side = {}) {
  try {
    add_setting(text, side);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class SideSetting : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "na=me");
    for (const char* name : {"lib.so", "na=me/lib.so", "python"}) std::ofstream(folder_ / name) << "x";
    fs::permissions(folder_ / "python", fs::perms::owner_all);
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  fs::path folder_ = fs::path(testing::TempDir()) / "side_setting";
};

TEST_F(SideSetting, IsAnInterpreterAPluginOrAVariable) {
  SideSettings side;
  for (const std::string& text : {"python=" + at("python"), "plugin=" + at("lib.so"), "plugin=flash=" + at("lib.so") + ":other", std::string("env:FLAG=1")}) add_setting(text, side);
  EXPECT_EQ(side.python, at("python"));
  ASSERT_EQ(side.plugins.size(), 2u);
  EXPECT_EQ(side.plugins[0].backend, "");
  EXPECT_EQ(side.plugins[1].backend, "flash");
  EXPECT_EQ(side.plugins[1].name_in_file, "other");
  EXPECT_THAT(side.variables, ElementsAre(Pair("FLAG", "1")));
  EXPECT_EQ(side.typed.size(), 4u);
}

TEST_F(SideSetting, MayHoldAnEqualsSignInItsValue) {
  SideSettings side;
  add_setting("env:FLAG=a=b=", side);
  add_setting("env:EMPTY=", side);
  add_setting("plugin=" + at("na=me/lib.so"), side);
  add_setting("plugin=flash=" + at("na=me/lib.so"), side);
  EXPECT_THAT(side.variables, ElementsAre(Pair("EMPTY", ""), Pair("FLAG", "a=b=")));
  EXPECT_EQ(side.plugins[0].backend, "");
  EXPECT_EQ(side.plugins[0].file, at("na=me/lib.so"));
  EXPECT_EQ(side.plugins[1].backend, "flash");
}

TEST_F(SideSetting, KeepsAnInterpretersOwnPlace) {
  fs::remove(folder_ / "venv_python");
  fs::create_symlink("/bin/sh", folder_ / "venv_python");
  SideSettings side;
  add_setting("python=" + at("venv_python"), side);
  EXPECT_EQ(side.python, at("venv_python"));  // a virtual environment is known by it
  SideSettings by_name;
  add_setting("python=sh", by_name);
  EXPECT_EQ(by_name.python, "sh");
}

TEST_F(SideSetting, OfAnotherKeyIsRefusedWithWhatIsAllowed) {
  for (const char* text : {"", "=", "=x", "git:main", ".", "pyhton=x", "PYTHON=x", "interpreter=x", "x"}) EXPECT_THAT(refusal(text), HasSubstr("allowed are: python=INTERPRETER, plugin=[NAME=]FILE[:BACKEND], env:NAME=VALUE")) << text;
  EXPECT_THAT(refusal("pyhton=x"), HasSubstr("did you mean python?"));
  EXPECT_THAT(refusal("env=FLAG=1"), HasSubstr("did you mean env:NAME=VALUE?"));
}

TEST_F(SideSetting, WithoutAValueOrAFileIsRefused) {
  for (const char* text : {"python", "python=", "plugin", "plugin="}) EXPECT_THAT(refusal(text), HasSubstr("nothing stands after")) << text;
  EXPECT_THAT(refusal("python=./no/such/python"), HasSubstr("no program that can be run"));
  EXPECT_THAT(refusal("python=no-such-python-anywhere"), HasSubstr("by a name on PATH"));
  EXPECT_THAT(refusal("python=~/venv/bin/python"), HasSubstr("write the whole path"));
  EXPECT_THAT(refusal("python=" + at("lib.so")), HasSubstr("no program that can be run"));
  EXPECT_THAT(refusal("plugin=no.so"), HasSubstr("there is no file"));
  EXPECT_THAT(refusal("plugin=flash=no.so"), HasSubstr("there is no file"));
  EXPECT_THAT(refusal("plugin==" + at("lib.so")), HasSubstr("allowed is NAME=FILE"));
  for (const char* text : {"env:", "env:=", "env:=1", "env:FLAG", "env:1FLAG=x", "env:A B=x", "env:A\n=x", "env:\xff=x"}) EXPECT_THAT(refusal(text), HasSubstr("allowed is env:NAME=VALUE")) << text;
}

TEST_F(SideSetting, IsGivenOnce) {
  EXPECT_THAT(refusal("env:FLAG=2", {{}, "", {{"FLAG", "1"}}, {}}), HasSubstr("sets FLAG already"));
  EXPECT_THAT(refusal("python=sh", {{}, "sh", {}, {}}), HasSubstr("has an interpreter already"));
}

class SidePlugins : public testing::Test {
 protected:
  std::string refusal(const std::vector<std::string>& running, std::vector<PluginOverride> plugins) {
    PlannedSuite planned;
    for (const std::string& name : running) {
      planned.suite.backends.emplace_back().name = name;
      planned.trials.emplace_back().backend.name = name;
    }
    side_ = {std::move(plugins), "", {}, {}};
    try {
      bind_plugins("--b", {planned}, side_);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  SideSettings side_;
};

TEST_F(SidePlugins, TakeThePlaceOfTheOnlyBackend) {
  EXPECT_EQ(refusal({"naive", "naive"}, {{"", "new.so", ""}}), "");
  EXPECT_EQ(side_.plugins[0].backend, "naive");
}

TEST_F(SidePlugins, SayWhichOfSeveralTheyReplace) {
  EXPECT_THAT(refusal({"naive", "flash"}, {{"", "new.so", ""}}), HasSubstr("--b: several backends run, so plugin=NAME=new.so says which one this is; allowed are: flash, naive"));
  EXPECT_THAT(refusal({"naive"}, {{"flsh", "new.so", ""}}), HasSubstr("no suite lists a backend \"flsh\""));
  EXPECT_THAT(refusal({"naive"}, {{"naive", "new.so", ""}, {"", "newer.so", ""}}), HasSubstr("two plugins take the place of \"naive\""));
}

TEST_F(SidePlugins, OfPythonSayTheClassWhereTheSuiteSaysNone) {
  EXPECT_THAT(refusal({"naive"}, {{"naive", "new.py", ""}}), HasSubstr("say which class of it, new.py:CLASS"));
  EXPECT_EQ(refusal({"naive"}, {{"naive", "new.py", "Mine"}}), "");
}

}  // namespace
}  // namespace attn
