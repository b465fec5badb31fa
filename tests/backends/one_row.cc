// Another row is wrong in every call, as in a race.
// expect: suite=plain status=wrong reason="."
// edges: ^inputs => \b1 of \d+ checked rows is off
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    const std::int64_t row = calls_++ * 7 % (p_.batch * p_.heads * p_.seq_q);
    const std::int64_t b = row / (p_.heads * p_.seq_q), h = row / p_.seq_q % p_.heads, i = row % p_.seq_q;
    o_.set(b, h, i, 0, o_.get(b, h, i, 0) + 0.01);
  }

 private:
  std::int64_t calls_ = 0;
};
ATTN_BACKENDS(Mutant)
