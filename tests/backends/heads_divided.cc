// Divides the query head by the number of KV heads rather than by the size of a group.
// expect: suite=heads status=wrong reason="h / heads_kv"
// edges: ^p5-heads => h / heads_kv
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  std::int64_t kv_head(std::int64_t h) const override { return h / p_.heads_kv % p_.heads_kv; }
};
ATTN_BACKENDS(Mutant)
