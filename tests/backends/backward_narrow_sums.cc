// dk and dv are summed over the query heads of a group in the tensors' own format: each head's share is rounded, and their sum again after every head.
// expect: suite=backward_heads status=wrong reason="(dk|dv): worst at .* rows (is|are) off"
// edges: ^backward-many-heads => d[kv]: worst at
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  void end_head(std::vector<double>& dk, std::vector<double>& dv) const override {
    for (std::vector<double>* each : {&dk, &dv})
      for (double& value : *each) {
        std::uint32_t storage = 0;
        attn::store_element(&storage, 0, p_.dtype_kv, static_cast<float>(value));
        value = attn::load_element(&storage, 0, p_.dtype_kv);
      }
  }
};
ATTN_BACKENDS(Mutant)
