// needs: cublaslt
// Unfused attention on the GPU: what attention costs when nothing is fused, and the yardstick for counts of kernels.
//   naive          5 kernels and 1 memcpy on a causal prefill: masking out of place clones the scores, which a count of kernels alone does not see
//   naive_inplace  5 kernels, no copy
//   math           the fallback of a framework: fp32, operands scaled apart, the mask made anew for each call, a safe softmax
// B8 H16 S1024 D64 bf16 causal on an H200: naive 717 us, of them 128 the copy of 268,435,456 bytes; naive_inplace 588 us; math 1986 us.
// chain.cuh lists the kernels.

#include "chain.cuh"

namespace {

template <attn::Route route>
class Unfused : public attn::Chain {
 public:
  static attn::Support supports(const attn_problem& problem, const attn_device_facts& device) { return Chain::supports(problem, device, route); }
  Unfused(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Chain(problem, tensors, device, route) {
    options.allow({});
  }
};

struct Naive : Unfused<attn::Route::naive> {
  static constexpr attn::BackendInfo info{.name = "naive", .can = kCan, .device_type = ATTN_DEVICE_CUDA, .version = attn::lt_version};
  using Unfused::Unfused;
};
struct NaiveInplace : Unfused<attn::Route::naive_inplace> {
  static constexpr attn::BackendInfo info{.name = "naive_inplace", .can = kCan, .device_type = ATTN_DEVICE_CUDA, .version = attn::lt_version};
  using Unfused::Unfused;
};
struct Math : Unfused<attn::Route::math> {
  static constexpr attn::BackendInfo info{.name = "math", .can = kCan, .device_type = ATTN_DEVICE_CUDA, .version = attn::lt_version};
  using Unfused::Unfused;
};

}  // namespace

ATTN_BACKENDS(Naive, NaiveInplace, Math)
