// Kernels whose names are very long, look like markup, or use every letter that a name can have. A verdict names them; names are text in every report.
// expect: suite=grouped status=ok verdict=regressed exit=1 verdict_reason="copies 3, expected 0: .*elementwise_copy_kernel<script>" check="row['counts']['kernels'] == {'low': 4, 'high': 4} and all(0 < len(each['name']) < 5000 for each in row['kernels'])"
#include "good.cuh"

struct script {};
template <int...>
struct Numbers {};
template <int... Each>
Numbers<(100'000'000 + Each)...> big_numbers(std::integer_sequence<int, Each...>);
using Long = decltype(big_numbers(std::make_integer_sequence<int, 150>()));

// A generic kernel's name is shown with what says what it does.
template <class What>
__global__ void elementwise_copy_kernel(What) {}
template <class What>
__global__ void long_copy_kernel(What) {}
extern "C" __global__ void __$copy_kernel$__GITHUB_$_Error_() {}

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    const cudaStream_t stream = attn::stream_of(call);
    attn::launch(elementwise_copy_kernel<script>, 1, 1, stream, "markup", script{});
    attn::launch(long_copy_kernel<Long>, 1, 1, stream, "a long name", Long{});
    attn::launch(__$copy_kernel$__GITHUB_$_Error_, 1, 1, stream, "dollars");
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
