// Does everything right: the neighbour that no misbehaving backend may harm. One kernel, nothing else, and a graph can hold it.
// expect: suite=plain status=ok
// expect: suite=counted status=ok check="row['memory']['growth_bytes'] == 0"
// expect: suite=formats status=ok seconds=120
// expect: suite=strided status=ok
// expect: suite=grouped status=ok
// expect: suite=merge_heads status=ok
// expect: suite=many status=ok
// expect: suite=three status=ok
// expect: suite=long status=ok
// expect: suite=time gates=numerics,kernels,copies,latency,memory status=ok check="times['instrument'] == 'cupti' and 0 < times['device_ns'] <= times['span_ns'] + 5000 and times['host_ns'] > 0 and times['plan_ns'] > 0"
// expect: suite=masks backend=naive status=ok gates=numerics,kernels,memory check="row['memory']['peak_bytes'] >= row['memory']['workspace_bytes'] >= 256 * 256 * 4"
// list: mutant
// expect: suite=prepare_slope gates=numerics,memory status=ok check="row['memory']['prepare_source'] == 'cupti' and row['memory']['prepare_peak_bytes'] < 1 << 20"
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
};
ATTN_BACKENDS(Mutant)
