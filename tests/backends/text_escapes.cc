// Fails with a reason that is an attack on whatever shows it: terminal, CI service, HTML, XML, Markdown.
// expect: suite=plain status=failed reason="FORGED"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) {
    throw std::runtime_error("\x1b[31mFORGED\x1b[0m\n::error::FORGED\r\x07 <script>alert('FORGED')</script> ]]> | `FORGED` \xe2\x80\xae \xff\xfe");
  }
};
ATTN_BACKENDS(Mutant)
