// Keys that no query sees get a gradient of what happened to lie there (Dao-AILab/flash-attention#2568).
// expect: suite=backward case=^empty status=wrong reason="dk: worst at \(batch 0, .*expected 0 within 0"
// expect: suite=backward case=^grouped status=ok exit=1
// edges: ^backward-lengths => dk: worst at .* expected 0 within 0;
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  void write_keys(const std::vector<double>& dk, const std::vector<double>& dv) const override {
    std::vector<double> other = dk;
    for (std::int64_t b = 0; b < p_.batch; ++b)
      for (std::int64_t j = 0; queries(b) == 0 && j < keys(b); ++j) other[at(b, 0, j, 0, p_.head_dim)] = 1e-20;
    Trained::write_keys(other, dv);
  }
};
ATTN_BACKENDS(Mutant)
