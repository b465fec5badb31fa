// needs: openblas
// Backends with a known fault, for the self-test of the gates: each is right, and each is worse than `naive` in one way that a gate must name.
//   planted.copy   the scores are copied once more: one memcpy more, same kernels
//   planted.slow   cpu_softmax does more work, about `extra` (default 100%) of what the whole call does: one operation's time, same counts
//   planted.delay  the host sleeps `delay_us` (default 1300) before the first operation: host time and span, no operation slower
//   planted.path   the math route: other kernels, under another name
// Try: attn-regress run SUITE --plugin naive=build/lib/attn-regress/libplanted.so:planted.copy

#include "chain.hpp"
#include "planted_options.hpp"

namespace {

using attn::Options;
using attn::Plants;
using attn::Route;

// One fault. Fault::plants reads the options and says which are known.
template <class Fault>
class Planted : public attn::Chain {
 public:
  static attn::Support supports(const attn_problem& problem, const attn_device_facts& device) {
    return Chain::supports(problem, device, Fault::route, Fault::plants(Options(nullptr)));
  }
  Planted(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const Options& options)
      : Chain(problem, tensors, device, Fault::route, Fault::plants(options)) {}
};

struct ExtraCopy {
  static constexpr Route route = Route::naive;
  static Plants plants(const Options& options) {
    options.allow({});
    return {.copy = true};
  }
};
struct SlowSoftmax {
  static constexpr Route route = Route::naive;
  static Plants plants(const Options& options) {
    options.allow({"extra"});
    return {.slow_softmax = attn::number(options, "extra", "100%", "%", 100000) / 100};
  }
};
struct Delay {
  static constexpr Route route = Route::naive;
  static Plants plants(const Options& options) {
    options.allow({"delay_us"});
    return {.delay_us = static_cast<std::int64_t>(attn::number(options, "delay_us", "1300", "", 10'000'000))};
  }
};
struct OtherPath {
  static constexpr Route route = Route::math;
  static Plants plants(const Options& options) {
    options.allow({});
    return {};
  }
};

struct Copy : Planted<ExtraCopy> {
  static constexpr attn::BackendInfo info{.name = "planted.copy", .can = kCan, .flags = ATTN_FLAG_REPORTS_OPS, .version = attn::kBlasVersion.data()};
  using Planted::Planted;
};
struct Slow : Planted<SlowSoftmax> {
  static constexpr attn::BackendInfo info{.name = "planted.slow", .can = kCan, .flags = ATTN_FLAG_REPORTS_OPS, .version = attn::kBlasVersion.data()};
  using Planted::Planted;
};
struct Late : Planted<Delay> {
  static constexpr attn::BackendInfo info{.name = "planted.delay", .can = kCan, .flags = ATTN_FLAG_REPORTS_OPS, .version = attn::kBlasVersion.data()};
  using Planted::Planted;
};
struct Path : Planted<OtherPath> {
  static constexpr attn::BackendInfo info{.name = "planted.path", .can = kCan, .flags = ATTN_FLAG_REPORTS_OPS, .version = attn::kBlasVersion.data()};
  using Planted::Planted;
};

}  // namespace

ATTN_BACKENDS(Copy, Slow, Late, Path)
