#include "run/sides.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace attn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
namespace fs = std::filesystem;

TEST(Sides, TakeTurnsSoThatWhatRisesSteadilyWeighsOnBoth) {
  // The places of a and of b in the order of time, of any even number of blocks, have the same sum.
  std::size_t place = 0, sum[2] = {};
  for (std::size_t block = 0; block < 4; ++block)
    for (const Side side : turns(block)) sum[static_cast<std::size_t>(side)] += place++;
  EXPECT_EQ(turns(0), (std::array{Side::a, Side::b}));  // a's first answer is there when b's is judged
  EXPECT_EQ(sum[0], sum[1]);
}

TEST(Sides, LayTheirSettingsOverThoseOfBoth) {
  RunOptions both;
  both.plugins = {{"naive", "both.so", ""}};
  both.python = "/both/python";
  const SideSettings side{{{"naive", "own.so", ""}}, "/own/python", {{"FLAG", "1"}}, {}};
  const RunOptions own = side_options(both, side);
  ASSERT_EQ(own.plugins.size(), 2u);
  EXPECT_EQ(own.plugins.back().file, "own.so");  // the last one counts
  EXPECT_EQ(own.python, "/own/python");
  EXPECT_THAT(own.installation.variables, ElementsAre(Pair("FLAG", "1")));
  EXPECT_EQ(side_options(both, {}).python, "/both/python");
}

TEST(Sides, RecordWhatAnySideSetsWhateverItsName) {
  setenv("ATTN_TEST_INHERITED", "from outside", 1);
  unsetenv("ATTN_TEST_UNSET");
  const std::vector<SideSettings> sides{{}, {{}, "", {{"ATTN_TEST_INHERITED", "own"}, {"ATTN_TEST_UNSET", ""}}, {}}};
  EXPECT_THAT(side_variables(sides, sides[0]), ElementsAre(Pair("ATTN_TEST_INHERITED", "from outside")));
  EXPECT_THAT(side_variables(sides, sides[1]), ElementsAre(Pair("ATTN_TEST_INHERITED", "own"), Pair("ATTN_TEST_UNSET", "")));
}

class Places : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    for (const char* name : {"a", "b"}) fs::create_directories(folder_ / name);
    std::ofstream(folder_ / "a" / "python3.11") << "x";
    fs::create_symlink("python3.11", folder_ / "a" / "python3");
    fs::create_symlink(folder_ / "a" / "python3.11", folder_ / "b" / "python3");
    fs::create_symlink(folder_ / "a", folder_ / "link");
  }
  Environment with(const fs::path& python) const {
    Environment environment;
    environment.libraries["python"] = {"3.11.2", (folder_ / python).string()};
    return environment;
  }
  fs::path folder_ = fs::path(testing::TempDir()) / "sides_places";
};

TEST_F(Places, AreTheSameUnderTwoNamesInOneFolder) {
  EXPECT_EQ(side_difference(with("a/python3"), with("a/python3.11")), "");
  EXPECT_EQ(side_difference(with("a/python3"), with("link/python3")), "");
  EXPECT_THAT(side_difference(with("a/python3.11"), with("b/python3")), HasSubstr("python 3.11.2 from "));  // a virtual environment has modules of its own
}

TEST(SideDifference, NamesVersionsBuildsAndSwitches) {
  Environment a, b;
  EXPECT_EQ(side_difference(a, b), "");
  a.libraries[kBackendLibrary] = {"libold.so 12ab", "/x/libold.so"};
  b.libraries[kBackendLibrary] = {"libnew.so 34cd", "/x/libnew.so"};
  b.switches["FLAG"] = "1";
  EXPECT_EQ(side_difference(a, b), "FLAG unset -> 1, backend libold.so 12ab -> libnew.so 34cd");
  b = a;
  b.libraries[kBackendLibrary].path = "/y/libold.so";  // the same file elsewhere
  EXPECT_EQ(side_difference(a, b), "");
}

TEST(Sides, OfTwoDevicesAreRefused) {
  Environment a;
  a.device = DeviceType::cuda;
  a.device_name = "NVIDIA H200";
  a.device_uuid = "GPU-1";
  Environment b = a;
  EXPECT_NO_THROW(check_same_device(a, b));
  b.device_uuid = "GPU-2";
  EXPECT_THROW(check_same_device(a, b), Error);
  EXPECT_THROW(check_same_device(a, Environment{}), Error);
}

class SideA : public testing::Test {
 protected:
  Verdict verdict() {
    JudgeInput input;
    input.measurement = &m_;
    input.expectations = expectations_;
    return judge_alone(input);
  }
  void SetUp() override {
    m_.kernel_path = KernelPath::naive;
    m_.counts = {CountRange{5, 5}, CountRange{1, 1}, CountRange{0, 0}, CountRange{0, 0}};
    m_.memory.peak_bytes = 1;
    m_.blocks.emplace_back().device_ns = 1000;
  }
  Measurement m_;
  std::vector<Expectation> expectations_;
};

TEST_F(SideA, PassesWhenItIsRight) {
  EXPECT_EQ(verdict().outcome, Outcome::pass);
  EXPECT_THAT(verdict().not_judged, IsEmpty());
}

TEST_F(SideA, IsJudgedByItsAnswerAndByWhatTheSuiteExpects) {
  expectations_.emplace_back().copies = CountBound{0, 0};
  EXPECT_EQ(verdict().outcome, Outcome::regressed);
  m_.status = Status::wrong;
  EXPECT_EQ(verdict().outcome, Outcome::wrong);
}

}  // namespace
}  // namespace attn
