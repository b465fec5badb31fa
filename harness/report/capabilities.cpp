#include "report/capabilities.hpp"

#include "core/case.hpp"

namespace attn {

std::string capabilities_text(std::uint64_t can) {
  const std::string able = words_of_bits(can), lacking = words_of_bits(~can);
  if (lacking.empty()) return "all";
  if (able.empty()) return "nothing";
  return lacking.size() <= able.size() ? "all but " + lacking : "only " + able;
}

std::string all_capabilities_text() { return "all = " + words_of_bits(~std::uint64_t{0}); }

}  // namespace attn
