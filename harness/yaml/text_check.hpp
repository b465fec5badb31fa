#pragma once
// What a text file must be before a YAML parser sees it.

#include <string>
#include <string_view>

namespace attn {

// Throws Error with the place of the first byte that is no UTF-8, a control character or a tab in an indentation.
void check_text(std::string_view text, const std::string& file);

}  // namespace attn
