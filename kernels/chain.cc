// needs: openblas
// Unfused attention on the CPU: what attention costs when nothing is fused, and the yardstick for counts of operations.
//   naive          5 operations and 1 memcpy in fp32: masking out of place clones the scores, which a count of kernels alone does not see
//   naive_inplace  5 operations, no copy
//   math           the fallback of a framework: operands scaled apart, the mask made anew for each call, a safe softmax
// chain.hpp lists the operations by name.

#include "chain.hpp"

namespace {

constexpr std::uint64_t kFlags = ATTN_FLAG_REPORTS_OPS;

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
  static constexpr attn::BackendInfo info{.name = "naive", .can = kCan, .flags = kFlags, .version = attn::kBlasVersion.data()};
  using Unfused::Unfused;
};
struct NaiveInplace : Unfused<attn::Route::naive_inplace> {
  static constexpr attn::BackendInfo info{
      .name = "naive_inplace", .can = kCan & ~ATTN_CAN_BACKWARD, .flags = kFlags, .version = attn::kBlasVersion.data(),
      .why_not = {ATTN_CAN_BACKWARD, "masking and softmax in place overwrite the scores that autograd needs; naive and math keep them"}};
  using Unfused::Unfused;
};
struct Math : Unfused<attn::Route::math> {
  static constexpr attn::BackendInfo info{.name = "math", .can = kCan, .flags = kFlags, .version = attn::kBlasVersion.data()};
  using Unfused::Unfused;
};

}  // namespace

ATTN_BACKENDS(Naive, NaiveInplace, Math)
