#pragma once
// A suite file to values. Every mistake is an Error with file:line:column, what was found, what is allowed and the nearest word.

#include <string>
#include <string_view>

#include "core/suite.hpp"

namespace attn {

// Paths in the file become relative to the working directory.
Suite read_suite(const std::string& path);
// The same for text; `path` names it and is what its paths are relative to.
Suite parse_suite(std::string_view text, const std::string& path);

}  // namespace attn
