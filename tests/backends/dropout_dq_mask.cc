// dq alone is made with other dropout than the rest, as where one kernel of two loses the offset.
// edges: ^dropout => dq and dk drop other weights
// expect: suite=dropout case=^(both|alone) status=wrong reason="^dq and dk drop other weights; sum\(dq . q\) and sum\(dk . k\) of "
// expect: suite=dropout case=^forward status=ok exit=1
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  void run(const attn_call& call) {
    Trained::run(call);
    if (p_.pass == ATTN_FORWARD || call.pass == ATTN_CALL_FORWARD) return;
    makes_dq_ = true;
    attn_call again = call;
    again.pass = ATTN_CALL_BACKWARD;
    Trained::run(again);
    makes_dq_ = false;
  }
  std::uint64_t dropout_seed() const override { return p_.dropout_seed + (makes_dq_ ? 1 : 0); }
  void write_keys(const std::vector<double>& dk, const std::vector<double>& dv) const override {
    if (!makes_dq_) Trained::write_keys(dk, dv);
  }

 private:
  bool makes_dq_ = false;
};
ATTN_BACKENDS(Mutant)
