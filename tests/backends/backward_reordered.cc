// dq is summed in another order in every call, as atomic additions do: right each time, and never the same (Dao-AILab/flash-attention#2244).
// expect: suite=backward case=^deterministic status=wrong reason="^dq differs in [0-9]+ of 10 repeats$"
// expect: suite=backward case=^(softcap|grouped) status=ok exit=1
// A seed promises the same weights, not the same order of sums.
// expect: suite=dropout status=ok
// edges: ^backward-arguments => ^dq differs in [0-9]+ of 10 repeats$
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  void write_dq(std::int64_t b, std::int64_t h, std::int64_t i, const std::vector<double>& dscores) const override {
    const attn::View dq(*t_.dq, p_.dtype);
    const std::int64_t count = keys(b), first = calls_ * 7;
    for (std::int64_t x = 0; x < p_.head_dim; ++x) {
      float sum = 0;
      for (std::int64_t n = 0; n < count; ++n) {
        const std::int64_t j = (first + n) % count;
        sum += static_cast<float>(dscores[static_cast<std::size_t>(j)] * k_.get(b, kv_head(h), j, x));
      }
      dq.set(b, h, i, x, static_cast<double>(sum));
    }
  }
};
ATTN_BACKENDS(Mutant)
