#pragma once
// Values that fill every stored field, and a folder that vanishes.

#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "core/baseline.hpp"
#include "core/run_result.hpp"

namespace attn::test {

class Folder {
 public:
  Folder();
  ~Folder();
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Environment sample_environment(const std::string& platform = "cpu.sample.2t");
// One row of case number `index`, judged, with a kernel of `kernels` occurrences and two blocks.
Row sample_row(std::int64_t index = 0, std::int64_t kernels = 5);
// A run with `rows` rows in one environment.
RunResult sample_run(const std::string& run_id, const std::string& started_at, std::int64_t rows = 2);
Baseline sample_baseline(std::int64_t index = 0);

// What `action` throws, or "no error".
inline std::string error_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

}  // namespace attn::test
