#pragma once
// A file that is written as a whole or not at all.

#include <string>

namespace attn {

class OutputFile {
 public:
  // "-" is standard output; an empty path is no output at all. Throws Error now, not after a long run, when the file cannot be made.
  explicit OutputFile(const std::string& path);
  ~OutputFile();  // removes what was begun and not written
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  bool wanted() const { return !path_.empty(); }
  bool is_stdout() const { return path_ == "-"; }
  // Throws Error when it cannot be written.
  void write(const std::string& text);

 private:
  std::string path_, draft_;  // the draft lies beside the file and is renamed
};

}  // namespace attn
