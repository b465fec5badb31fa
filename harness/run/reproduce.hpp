#pragma once
// The command that runs one row again.

#include <string>

#include "run/run.hpp"

namespace attn {

// "attn-regress run suites/llama.yaml --filter '^...$' --backend naive", quoted for a POSIX shell.
std::string reproduce_command(const Suite& suite, const Trial& trial, const RunOptions& options);

}  // namespace attn
