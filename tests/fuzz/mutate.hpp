#pragma once
// Mutations of suite files by bytes, by tokens and by lines; the same seed gives the same mutations on every machine.

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

class Mutator {
 public:
  // `seeds`: right suites, not empty.
  Mutator(std::vector<std::string> seeds, std::uint64_t seed) : seeds_(std::move(seeds)), state_(seed) {}

  // One of the seeds after one to eight mutations.
  std::string next();

 private:
  std::size_t below(std::size_t n);  // uniform in [0, n); 0 for n = 0
  void mutate_bytes(std::string& text);
  void mutate_tokens(std::string& text);
  void mutate_lines(std::string& text);

  std::vector<std::string> seeds_;
  std::uint64_t state_;
};

}  // namespace attn
