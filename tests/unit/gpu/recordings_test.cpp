// Every recording in recordings/, with the calls, or the error, that it must give. Files of the same form come from cards.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/json.hpp"
#include "gpu/call_windows.hpp"

namespace attn {
namespace {

struct Example {
  bool with_api = false;
  std::vector<CallWindow> windows;
  Recording recording;
  std::vector<RecordedCall> calls;
  std::optional<std::string> error;
  static void fields(auto& self, auto&& visit) {
    visit("with_api", self.with_api);
    visit("windows", self.windows);
    visit("recording", self.recording);
    visit("calls", self.calls);
    visit("error", self.error);
  }
};

std::vector<std::string> files() {
  std::vector<std::string> files;
  for (const auto& each : std::filesystem::directory_iterator(ATTN_SOURCE_DIR "/tests/unit/gpu/recordings")) files.push_back(each.path());
  std::ranges::sort(files);
  return files;
}

class Recordings : public ::testing::TestWithParam<std::string> {};

TEST_P(Recordings, GiveTheirCalls) {
  std::ifstream in(GetParam());
  Example example;
  from_json(parse_json(std::string(std::istreambuf_iterator<char>(in), {}), GetParam()), example, "recording");
  ASSERT_FALSE(example.windows.empty());
  if (example.error) {
    try {
      recorded_calls(example.recording, example.windows, example.with_api);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(*example.error));
    }
    return;
  }
  const auto calls = recorded_calls(example.recording, example.windows, example.with_api);
  EXPECT_EQ(to_json(calls).dump(1), to_json(example.calls).dump(1));
}

INSTANTIATE_TEST_SUITE_P(Files, Recordings, ::testing::ValuesIn(files()), [](const auto& file) { return std::filesystem::path(file.param).stem().string(); });

}  // namespace
}  // namespace attn
