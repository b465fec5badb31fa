#pragma once
// Which commit is measured.

#include <string>

namespace attn {

// `git rev-parse HEAD` of the working directory; empty outside a work tree or without git.
std::string current_commit();

}  // namespace attn
