#include "cli/output_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"

namespace attn {
namespace {

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  std::string content(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t files() { return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {})); }
  std::string folder_ = testing::TempDir() + "output_file." + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(OutputFileTest, ReplacesTheFileOnlyWhenItIsWritten) {
  const std::string path = folder_ + "/run.json";
  std::ofstream(path) << "old";
  {
    OutputFile abandoned(path);
    EXPECT_EQ(content(path), "old");
  }
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files(), 1u);
  OutputFile(path).write("new");
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, FailsBeforeTheRunWhereItCannotBeMade) {
  EXPECT_THROW(OutputFile(folder_ + "/missing/run.json"), Error);
  EXPECT_THROW(OutputFile{folder_}, Error);
  EXPECT_EQ(files(), 0u);
}

TEST_F(OutputFileTest, WritesToADeviceWhereItIs) {
  OutputFile("/dev/null").write("text");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, IsNothingForAnEmptyPath) {
  OutputFile none("");
  EXPECT_FALSE(none.wanted());
  none.write("text");
}

}  // namespace
}  // namespace attn
