// Returns before its work is done: threads of its own write the output 400 ms later.
// expect: suite=plain status=wrong reason="never written"
#include <chrono>
#include <thread>

#include "good.hpp"

struct Late : attn::Good {
  using Good::Good;
  void finish() { attend(); }
};

struct Mutant : Late {
  using Late::Late;
  ~Mutant() override {
    for (std::thread& thread : late_) thread.join();
  }
  void run(const attn_call& call) {
    const attn::Op op(call, ATTN_OP_KERNEL, "flash_fwd_cpu");
    late_.emplace_back([late = Late(*this)]() mutable {
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      late.finish();
    });
  }

 private:
  std::vector<std::thread> late_;
};
ATTN_BACKENDS(Mutant)
