// Right, unless a variable of its environment says otherwise. ab.py sets it on one side of a comparison.
//   ATTN_TEST_FAULT   copy: one copy more; wrong: nothing is computed; crash, none: it is not there for any call
//   ATTN_TEST_LOG     a file to which every process that opens it adds a line, what the other variable holds
// expect: suite=plain status=ok
// expect: suite=counted status=ok
#include <cstdlib>
#include <fstream>
#include <string>

#include "good.hpp"

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

struct Mutant : attn::Good {
  static attn::Support supports(const attn_problem&, const attn_device_facts&) {
    if (variable("ATTN_TEST_FAULT") == "none") throw attn::Unsupported("the variable says so");
    return {};
  }
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options), fault_(variable("ATTN_TEST_FAULT")) {
    if (const std::string log = variable("ATTN_TEST_LOG"); !log.empty()) std::ofstream(log, std::ios::app) << fault_ << "\n";
  }
  void run(const attn_call& call) {
    if (fault_ == "crash") std::abort();
    if (fault_ == "copy") {
      const attn::Op op(call, ATTN_OP_MEMCPY, "memcpy_q", 1024);
    }
    const attn::Op op(call, ATTN_OP_KERNEL, "flash_fwd_cpu");
    if (fault_ != "wrong") attend();
  }

 private:
  std::string fault_;
};
ATTN_BACKENDS(Mutant)
