#pragma once
// Kernel names as people can read and compare them. The raw ones are hostile text of any length: they come from the code under test.

#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

// Text that cannot act on a terminal: control characters, escapes, directional overrides and bytes that are not UTF-8 become '?'.
std::string neutral_text(std::string_view raw);

// Demangled (also a mangled name that was cut on its way, as far as it can be read) and neutral, at most 4096 bytes.
std::string readable_name(std::string_view raw);

constexpr std::size_t kNameLength = 160;

// Short and stable between builds: return type, parameters, anonymous namespaces, at::native and template arguments cut, except the one word that says
// what a generic kernel does: "vectorized_elementwise_kernel<MulFunctor>". At most kNameLength bytes; a cut name keeps a digest of the whole.
std::string normalised_name(std::string_view raw);

}  // namespace attn
