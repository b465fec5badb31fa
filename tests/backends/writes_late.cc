// Returns before its work is done: a thread of its own writes the output 20 ms later.
// expect: suite=plain status=wrong reason="written"
#include <chrono>
#include <thread>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  ~Mutant() override { finish(); }
  void run(const attn_call& call) {
    const attn::Op op(call, ATTN_OP_KERNEL, "flash_fwd_cpu");
    finish();
    worker_ = std::thread([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      attend();
    });
  }

 private:
  void finish() {
    if (worker_.joinable()) worker_.join();
  }
  std::thread worker_;
};
ATTN_BACKENDS(Mutant)
