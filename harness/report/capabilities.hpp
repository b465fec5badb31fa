#pragma once
// What a backend can do, as a person reads it: most can nearly everything, so what they cannot is said.

#include <cstdint>
#include <string>

namespace attn {

// "all but fp8, dropout" or "only fp32, causal", whichever is shorter; "all", "nothing". `can`: ATTN_CAN_* bits.
std::string capabilities_text(std::uint64_t can);
// "all = fp32, fp16, ...": what the text above leaves out.
std::string all_capabilities_text();

}  // namespace attn
