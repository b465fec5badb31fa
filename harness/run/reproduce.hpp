#pragma once
// The command that runs one row again.

#include <string>

#include "run/run.hpp"

namespace attn {

// `beside`: ids of further cases without which the row cannot be judged.
// "attn-regress run suites/llama.yaml --filter '^...$' --backend naive", quoted for a POSIX shell.
std::string reproduce_command(const Suite& suite, const Trial& trial, const RunOptions& options, const std::vector<std::string>& beside = {});

}  // namespace attn
