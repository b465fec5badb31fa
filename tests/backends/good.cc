// Does everything right: the neighbour that no misbehaving backend may harm.
// expect: suite=plain status=ok
// expect: suite=scale status=ok
// expect: suite=softcap status=ok
// expect: suite=window status=ok
// expect: suite=causal status=ok
// expect: suite=alignment status=ok
// expect: suite=alibi status=ok
// expect: suite=lengths status=ok
// expect: suite=mask status=ok
// expect: suite=heads status=ok
// expect: suite=dead_rows status=ok
// expect: suite=head_dim_v status=ok
// expect: suite=strided status=ok
// expect: suite=dtypes status=ok
// expect: suite=rows status=ok
// expect: suite=long status=ok
// expect: suite=probes status=ok
// expect: suite=backward status=ok
// expect: suite=dropout status=ok
// expect: suite=counted status=ok check="row['counts']['kernels'] == {'low': 1, 'high': 1} and row['counts']['copies'] == {'low': 0, 'high': 0}"
// edges: nothing
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
};
ATTN_BACKENDS(Mutant)
