#pragma once
// The one error type: what was found, where, what is allowed.

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace attn {

// A position in a text file; line and column count from 1, 0 = unknown.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  bool operator==(const Place&) const = default;
};

// "file:line:column", as far as known; empty for an empty place.
inline std::string to_string(const Place& place) {
  if (place.line == 0) return place.file;
  return fmt::format("{}:{}:{}", place.file, place.line, place.column);
}

// `input`: the user can mend it (exit code 4). `internal`: the program or the machine failed (exit code 3).
enum class Fault { input, internal };

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, Fault fault = Fault::input) : std::runtime_error(message), fault_(fault) {}
  Error(const Place& place, const std::string& message)
      : std::runtime_error(place.file.empty() ? message : to_string(place) + ": " + message), place_(place) {}

  // Empty when the error has no place in a file.
  const Place& place() const { return place_; }
  Fault fault() const { return fault_; }

 private:
  Place place_;
  Fault fault_ = Fault::input;
};

}  // namespace attn
