#include "cli/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "cli/console.hpp"
#include "yaml/nearest.hpp"

namespace attn {
namespace {

// Devices and pipes ("/dev/null", a shell's ">(...)") are written where they are.
bool is_special(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
}

[[noreturn]] void refuse(const std::string& path) { throw Error(fmt::format("cannot write {}: {}", quote(path), std::strerror(errno))); }

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path) {
  if (!wanted() || is_stdout()) return;
  struct stat facts {};
  if (stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) {
    errno = EISDIR;
    refuse(path);
  }
  if (is_special(path)) return;
  draft_ = fmt::format("{}.{}.draft", path, getpid());
  if (const Descriptor made(open(draft_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)); !made) {
    draft_.clear();
    refuse(path);
  }
}

OutputFile::~OutputFile() {
  if (!draft_.empty()) unlink(draft_.c_str());
}

void OutputFile::write(const std::string& text) {
  if (!wanted()) return;
  if (is_stdout()) return print(stdout, text);
  const std::string& target = draft_.empty() ? path_ : draft_;
  Handle<std::FILE*, std::fclose> file(std::fopen(target.c_str(), "we"));
  if (!file || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() || std::fclose(file.release()) != 0) refuse(path_);
  if (draft_.empty()) return;
  if (rename(draft_.c_str(), path_.c_str()) != 0) refuse(path_);
  draft_.clear();
}

}  // namespace attn
