#pragma once
// What every input must survive, whatever it is: the one entry of all fuzzers.

#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "suite/plan.hpp"
#include "suite/read_suite.hpp"

namespace attn {

struct BrokenPromise : std::logic_error {
  using std::logic_error::logic_error;
};

// True when `text` is a suite. Refused input gives an Error with a place, nothing else; accepted input gives cases whose ids read back and a plan.
// Throws BrokenPromise, or whatever else came out.
inline bool read_anything(std::string_view text) {
  Suite suite;
  try {
    suite = parse_suite(text, "fuzz/suite.yaml");
  } catch (const Error& error) {
    const std::string message = error.what();
    if (error.place().file.empty()) throw BrokenPromise("an error without a place: " + message);
    if (error.fault() != Fault::input) throw BrokenPromise("a user's mistake is called an internal fault: " + message);
    if (message.size() <= to_string(error.place()).size() + 2) throw BrokenPromise("an error without a message at " + message);
    for (const char c : message)
      if (static_cast<unsigned char>(c) < 0x20) throw BrokenPromise("a control character in a message: " + message);
    return false;
  }
  std::set<std::string> ids;
  for (const SuiteCase& each : suite.cases) {
    const std::string id = case_id(each.value);
    if (parse_case_id(id) != each.value) throw BrokenPromise("an id that reads back as another case: " + id);
    if (!ids.insert(id).second) throw BrokenPromise("two cases of one id: " + id);
  }
  const std::size_t trials = plan({suite}, {}).at(0).size();
  if (trials != suite.cases.size() * suite.backends.size()) throw BrokenPromise("a plan that lost trials");
  std::size_t parts = 0;
  for (std::int64_t k = 1; k <= 3; ++k) parts += plan({suite}, {.shard = {k, 3}}).at(0).size();
  if (parts != trials) throw BrokenPromise("shards that do not part the cases");
  return true;
}

}  // namespace attn
