#include "report/capabilities.hpp"

#include "core/case.hpp"

namespace attn {
namespace {

// A plugin may claim bits that have no meaning yet.
std::uint64_t known_bits() { return (std::uint64_t{1} << capability_words().size()) - 1; }

}  // namespace

std::string capabilities_text(std::uint64_t can) {
  const std::string able = words_of_bits(can & known_bits()), lacking = words_of_bits(~can & known_bits());
  if (lacking.empty()) return "all";
  if (able.empty()) return "nothing";
  return lacking.size() <= able.size() ? "all but " + lacking : "only " + able;
}

std::string all_capabilities_text() { return "all = " + words_of_bits(known_bits()); }

}  // namespace attn
