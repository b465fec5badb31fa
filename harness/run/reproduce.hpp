#pragma once
// The command that runs one row again.

#include <string>

#include "run/run.hpp"

namespace attn {

// `beside`: further trials of the suite without which the row cannot be judged.
// "attn-regress run suites/llama.yaml --filter '^...$' --backend naive", quoted for a POSIX shell.
std::string reproduce_command(const Suite& suite, const Trial& trial, const RunOptions& options, const std::vector<const Trial*>& beside = {});

}  // namespace attn
