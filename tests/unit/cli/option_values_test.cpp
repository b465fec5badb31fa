#include "cli/option_values.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace attn {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

template <class Parse>
std::string refusal(Parse parse, const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Duration, CarriesAUnit) {
  EXPECT_EQ(parse_duration("60s"), 60s);
  EXPECT_EQ(parse_duration("1.5m"), 90s);
  EXPECT_EQ(parse_duration("250ms"), 250ms);
  EXPECT_EQ(parse_duration("2h"), 2h);
}

TEST(Duration, RefusesWhatIsNone) {
  for (const char* text : {"60", "", "s", "-1s", "0s", "1e99h", "nans", "10min", " 1s", "1s ", "9999999h"})
    EXPECT_NE(refusal(parse_duration, text), "") << text;
  EXPECT_THAT(refusal(parse_duration, "60"), HasSubstr("unit"));
}

TEST(Cost, CarriesAUnit) {
  EXPECT_EQ(parse_cost("20GFLOP"), 20e9);
  EXPECT_EQ(parse_cost("1.5TFLOP"), 1.5e12);
  for (const char* text : {"20", "0GFLOP", "20gflops", "GFLOP"}) EXPECT_NE(refusal(parse_cost, text), "") << text;
}

TEST(Seed, IsAnyWholeNumber) {
  EXPECT_EQ(parse_seed("0"), 0u);
  EXPECT_EQ(parse_seed("18446744073709551615"), 18446744073709551615u);
  for (const char* text : {"", "-1", "+1", "1.0", "0x1", "18446744073709551616"}) EXPECT_NE(refusal(parse_seed, text), "") << text;
}

TEST(Limit, IsAboveZero) {
  EXPECT_EQ(parse_positive("7"), 7);
  for (const char* text : {"0", "-1", "", "1x"}) EXPECT_NE(refusal(parse_positive, text), "") << text;
}

TEST(GateList, NamesTheNearestGate) {
  EXPECT_EQ(parse_gates("kernels,numerics"), (std::set{Gate::numerics, Gate::kernels}));
  EXPECT_THAT(refusal(parse_gates, "kernel"), HasSubstr("did you mean kernels?"));
  for (const char* text : {"", ",", "kernels,", "kernels numerics"}) EXPECT_NE(refusal(parse_gates, text), "") << text;
}

class PluginOption : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/lib.so") << "x";
    std::ofstream(folder_ + "/a:b.so") << "x";
  }
  std::string folder_ = testing::TempDir() + "plugin_option." + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(PluginOption, MayNameTheBackendInsideTheFile) {
  const PluginOverride plain = parse_plugin("mine=" + folder_ + "/lib.so"), named = parse_plugin("mine=" + folder_ + "/lib.so:other");
  EXPECT_EQ(plain.backend, "mine");
  EXPECT_EQ(plain.file, folder_ + "/lib.so");
  EXPECT_EQ(plain.name_in_file, "");
  EXPECT_EQ(named.file, plain.file);
  EXPECT_EQ(named.name_in_file, "other");
}

TEST_F(PluginOption, LeavesAColonToTheFileThatHasOne) {
  EXPECT_EQ(parse_plugin("mine=" + folder_ + "/a:b.so").file, folder_ + "/a:b.so");
  EXPECT_EQ(parse_plugin("mine=" + folder_ + "/a:b.so:c").name_in_file, "c");
}

TEST_F(PluginOption, RefusesAFileThatIsMissing) {
  EXPECT_THAT(refusal(parse_plugin, "mine=" + folder_ + "/no.so"), HasSubstr("there is no file"));
  EXPECT_THAT(refusal(parse_plugin, "mine=" + folder_), HasSubstr("there is no file"));
  for (const char* text : {"", "mine", "mine=", "=lib.so"}) EXPECT_THAT(refusal(parse_plugin, text), HasSubstr("NAME=FILE")) << text;
}

TEST(Device, IsNamedByItsKindAndNumber) {
  for (const char* text : {"auto", "cpu", "cuda", "cuda:0", "cuda:17", "all"}) EXPECT_EQ(parse_device(text), text);
  for (const char* text : {"gpu", "GPU:1", "nvidia"}) EXPECT_THAT(refusal(parse_device, text), HasSubstr("a GPU is called cuda")) << text;
  for (const char* text : {"cuda:", "cuda:x", "cuda:-1", "cuda:1000", "CUDA", "cuda 0", ""})
    EXPECT_THAT(refusal(parse_device, text), HasSubstr("allowed are: auto, cpu, cuda, all")) << text;
}

}  // namespace
}  // namespace attn
