#pragma once
// `--a SPEC` and `--b SPEC`: what a side of a comparison has of its own.

#include <string>
#include <vector>

#include "run/run.hpp"

namespace attn {

// Adds one setting to a side: "python=INTERPRETER", "plugin=[NAME=]FILE[:BACKEND]" or "env:NAME=VALUE". Throws Error that says what was found and what is
// allowed: for another key, a file that is not there, and what the side has already.
void add_setting(const std::string& text, SideSettings& side);

// A plugin that names no backend takes the place of the only one that runs. Throws Error, in which `option` is named, when several run or the names are wrong.
void bind_plugins(const std::string& option, const std::vector<PlannedSuite>& planned, SideSettings& side);

}  // namespace attn
