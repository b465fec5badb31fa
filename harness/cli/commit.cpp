#include "cli/commit.hpp"

#include "base/child_process.hpp"
#include "base/error.hpp"

namespace attn {

std::string current_commit() {
  try {
    ChildProcess git({"git", "rev-parse", "--verify", "--quiet", "HEAD"});
    const Ending ending = git.wait(ChildProcess::Clock::now() + std::chrono::seconds(10));
    std::string commit = git.take_output();
    while (!commit.empty() && (commit.back() == '\n' || commit.back() == '\r')) commit.pop_back();
    const bool is_id = commit.size() >= 40 && commit.find_first_not_of("0123456789abcdef") == std::string::npos;
    return ending.exit_code == 0 && is_id ? commit : "";
  } catch (const Error&) {
    return "";  // no git
  }
}

}  // namespace attn
