// Puts two kernels and a copy into a graph when it is opened and replays that: one launch, counted by its nodes. The driver runs so small a copy of a graph as
// a kernel of its own (memcpy32_post): a kernel and a copy, without bytes.
// expect: suite=plain status=ok check="[row['counts'][each]['high'] for each in ('kernels', 'copies', 'copy_bytes', 'launches')] in ([3, 1, 0, 1], [2, 1, 768, 1])"
#include "good.cuh"

class Mutant : public attn::Good {
 public:
  static attn::Support supports(const attn_problem& p, const attn_device_facts&) {
    return {static_cast<std::uint64_t>(p.batch * p.heads * p.seq_q * p.head_dim_v) * sizeof(float)};
  }
  // The suite's o is dense: its twin in the workspace has the same strides.
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    char* const o = std::exchange(a_.o.data, static_cast<char*>(tensors.workspace));
    const std::int64_t half = a_.elements() / 2;
    const attn::SideStream side;
    cudaGraph_t graph = nullptr;
    attn::check(cudaStreamBeginCapture(side.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    attend(side.get(), 0, half);
    attend(side.get(), half, a_.elements());
    const std::size_t bytes = static_cast<std::size_t>(a_.elements()) * sizeof(float);
    attn::check(cudaMemcpyAsync(o, a_.o.data, bytes, cudaMemcpyDeviceToDevice, side.get()), "cudaMemcpyAsync");
    attn::check(cudaStreamEndCapture(side.get(), &graph), "cudaStreamEndCapture");
    attn::check(cudaGraphInstantiate(&replay_, graph, 0), "cudaGraphInstantiate");
    cudaGraphDestroy(graph);
  }
  ~Mutant() override { cudaGraphExecDestroy(replay_); }
  void run(const attn_call& call) { attn::check(cudaGraphLaunch(replay_, attn::stream_of(call)), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t replay_ = nullptr;
};
ATTN_BACKENDS(Mutant)
