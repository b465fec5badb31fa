// Takes dout to lie dense, whatever its strides; of an expanded one there is only one number to read.
// expect: suite=backward case=^grouped status=wrong reason="^equals the reference with the strides of dout ignored; d[qkv]: worst at"
// expect: suite=backward case=^(softcap|empty|deterministic) status=ok exit=1
// edges: ^backward-layouts => the strides of dout ignored
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  attn::View dout_view() const override {
    attn::View view = Trained::dout_view();
    if (view.strides[3] == 0) return view;
    const std::int64_t dense[] = {p_.heads * p_.seq_q * p_.head_dim_v, p_.seq_q * p_.head_dim_v, p_.head_dim_v, 1};
    std::copy_n(dense, 4, view.strides);
    return view;
  }
};
ATTN_BACKENDS(Mutant)
