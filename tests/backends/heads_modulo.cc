// Gives query head h the KV head h mod heads_kv (XunhaoLai/native-sparse-attention-triton#27).
// expect: suite=heads status=wrong reason="KV heads mapped by modulo"
// expect: suite=plain status=ok
// edges: ^p5-heads => KV heads mapped by modulo
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  std::int64_t kv_head(std::int64_t h) const override { return h % p_.heads_kv; }
};
ATTN_BACKENDS(Mutant)
