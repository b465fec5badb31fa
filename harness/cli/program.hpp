#pragma once
// The program: words of the command line in, exit code out (0 pass, 1 a gate failed, 2 interrupted, 3 internal error, 4 usage or input error, 5 cannot judge).

#include <string>
#include <vector>

namespace attn {

// `words` begin with the program's name. Errors are printed to standard error; nothing is thrown.
int run_program(const std::vector<std::string>& words);

}  // namespace attn
