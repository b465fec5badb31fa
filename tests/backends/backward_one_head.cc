// dk and dv are those of the last query head of a group, as where each head overwrites what the last one wrote (XunhaoLai/native-sparse-attention-triton#27).
// expect: suite=backward case=^grouped status=wrong reason="dk and dv of one query head of each group"
// expect: suite=backward case=^softcap status=ok exit=1
// edges: ^backward-head => dk and dv of one query head of each group
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  bool counts_for_keys(std::int64_t h) const override { return (h + 1) % (p_.heads / p_.heads_kv) == 0; }
};
ATTN_BACKENDS(Mutant)
