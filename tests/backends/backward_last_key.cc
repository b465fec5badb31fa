// The gradients of the last key of each head are never written.
// expect: suite=backward status=wrong reason="dk: [0-9]+ elements never written, first \(batch 0, head 0, row [0-9]+, column 0\)"
// edges: ^backward- => dk: [0-9]+ elements never written
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  void write_keys(const std::vector<double>& dk, const std::vector<double>& dv) const override {
    const attn::View to_k(*t_.dk, p_.dtype_kv), to_v(*t_.dv, p_.dtype_kv);
    for (std::int64_t b = 0; b < p_.batch; ++b)
      for (std::int64_t g = 0; g < p_.heads_kv; ++g)
        for (std::int64_t j = 0; j + 1 < keys(b); ++j) {
          for (std::int64_t x = 0; x < p_.head_dim; ++x) to_k.set(b, g, j, x, dk[at(b, g, j, x, p_.head_dim)]);
          for (std::int64_t x = 0; x < p_.head_dim_v; ++x) to_v.set(b, g, j, x, dv[at(b, g, j, x, p_.head_dim_v)]);
        }
  }
};
ATTN_BACKENDS(Mutant)
