// Takes the square of the length while it opens and gives it back there: no call takes anything.
// expect: suite=prepare_slope case=q1024[.] gates=numerics,memory status=ok exit=1 check="row['memory']['prepare_source'] == 'cupti' and row['memory']['prepare_peak_bytes'] == 1024 * 1024 and row['memory']['peak_bytes'] < 1 << 20"
// expect: suite=prepare_slope case=q2048[.] gates=numerics,memory status=ok verdict=regressed exit=1 verdict_reason="^prepare_peak_bytes 1048576 at seq 1024, 4194304 at 2048: it grows with seq to the power 2.00, expected at most 1.2$"
#include "good.cuh"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& facts, const attn::Options& options) : Good(problem, tensors, facts, options) {
    void* memory = nullptr;
    attn::check(cudaMalloc(&memory, static_cast<std::size_t>(problem.seq_q * problem.seq_kv)), "cudaMalloc");
    attn::check(cudaFree(memory), "cudaFree");
  }
};
ATTN_BACKENDS(Mutant)
