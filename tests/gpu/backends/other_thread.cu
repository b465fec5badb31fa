// Launches from another thread of the host, which has ended when run returns. That is allowed and counted.
// expect: suite=plain status=ok check="row['counts']['kernels'] == {'low': 1, 'high': 1} and row['counts']['launches'] == {'low': 1, 'high': 1}"
#include <exception>
#include <thread>

#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    std::exception_ptr fault;
    std::thread other([&] {
      try {
        attn::check(cudaSetDevice(device_), "cudaSetDevice");
        attend(attn::stream_of(call));
      } catch (...) {
        fault = std::current_exception();
      }
    });
    other.join();
    if (fault) std::rethrow_exception(fault);
  }
};
ATTN_BACKENDS(Mutant)
