#pragma once
// Writes records, one line each, to the worker's descriptor.

#include <string>

#include "core/records.hpp"

namespace attn {

class RecordWriter {
 public:
  explicit RecordWriter(int descriptor) : descriptor_(descriptor) {}
  template <class T>
  void operator()(const T& record) {
    write_line(record_line(record));
  }

 private:
  void write_line(const std::string& line);  // throws Error when the parent is gone
  int descriptor_;
};

}  // namespace attn
