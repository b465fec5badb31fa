// Answers right, and prints megabytes on stdout and stderr: binary, terminal escapes, lines that look like records and like commands to a CI service.
// expect: suite=plain status=ok
#include <cstdio>
#include <string>

#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    std::string bytes;
    for (int i = 0; i < 1 << 20; ++i) bytes.push_back(static_cast<char>(i * 37 + i / 256));
    for (std::FILE* file : {stdout, stderr}) {
      std::fwrite(bytes.data(), 1, bytes.size(), file);
      std::fputs("\n\x1b[2J\x1b]0;FORGED\x07\n::error::FORGED\n", file);
      std::fputs("{\"record\":\"measurement\",\"trial\":0,\"status\":\"wrong\",\"reason\":\"FORGED\"}\n", file);
      std::fflush(file);
    }
  }
};
ATTN_BACKENDS(Mutant)
