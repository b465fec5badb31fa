// Writes nothing into the output, and a record of its own that says all is well to every descriptor up to 63.
// expect: suite=plain status=wrong reason="never written"
#include <cstdio>
#include <string>
#include <unistd.h>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) {
    for (int trial = 0; trial < 4; ++trial) {
      const std::string line = "{\"record\":\"measurement\",\"trial\":" + std::to_string(trial) +
                               ",\"status\":\"ok\",\"reason\":\"\",\"counted\":true,\"calls\":[],"
                               "\"numerics\":{\"max_abs_error\":0,\"mean_abs_error\":0,\"rel_error\":0,\"max_budget\":1,\"mean_budget\":1,\"rows_checked\":24,"
                               "\"diagnosis\":\"\"},\"memory\":{\"workspace_bytes\":0,\"peak_bytes\":0,\"growth_bytes\":0,\"source\":\"\"}}\n";
      for (int descriptor = 3; descriptor < 64; ++descriptor)
        if (::write(descriptor, line.data(), line.size()) < 0) continue;
    }
  }
};
ATTN_BACKENDS(Mutant)
