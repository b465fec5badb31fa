// The CPU backends against each other: prefill counts multiplications, decoding counts the bytes of K and V. `cold` reads a buffer larger than the cache
// between calls, outside the timed region.

#include <benchmark/benchmark.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "plugin.hpp"
#include "problem.hpp"

namespace {

using attn::test::Mask;
using attn::test::Spec;

struct Shape {
  const char* name;
  Spec spec;
};

const Shape kShapes[] = {
    {"prefill", {.heads = 8, .seq_q = 1024, .seq_kv = 1024, .head_dim = 128, .lse = false}},
    {"prefill_bf16", {.heads = 8, .seq_q = 1024, .seq_kv = 1024, .head_dim = 128, .dtype = ATTN_BF16, .lse = false}},
    {"prefill_causal", {.heads = 8, .seq_q = 1024, .seq_kv = 1024, .head_dim = 128, .mask = Mask::causal, .lse = false}},
    {"decode", {.heads = 32, .heads_kv = 8, .seq_q = 1, .seq_kv = 4096, .head_dim = 128, .lse = false}},
    {"decode_bf16", {.heads = 32, .heads_kv = 8, .seq_q = 1, .seq_kv = 4096, .head_dim = 128, .dtype = ATTN_BF16, .lse = false}},
    {"decode_group8", {.heads = 64, .heads_kv = 8, .seq_q = 1, .seq_kv = 4096, .head_dim = 128, .lse = false}},
    {"decode_mha", {.heads = 8, .seq_q = 1, .seq_kv = 8192, .head_dim = 128, .lse = false}},
};

double flops(const Spec& s) {
  const double pairs = s.mask == Mask::causal ? 0.5 * static_cast<double>(s.seq_q) * static_cast<double>(s.seq_q + 1)
                                              : static_cast<double>(s.seq_q) * static_cast<double>(s.seq_kv);
  return 4.0 * pairs * static_cast<double>(s.batch * s.heads * s.head_dim);
}

double kv_bytes(const Spec& s) {
  return 2.0 * static_cast<double>(s.batch * (s.heads_kv ? s.heads_kv : s.heads) * s.seq_kv * s.head_dim) * (s.dtype == ATTN_FP32 ? 4.0 : 2.0);
}

void flush_cache() {
  static const std::vector<std::uint64_t> buffer((std::size_t{128} << 20) / sizeof(std::uint64_t), 1);
  benchmark::DoNotOptimize(std::accumulate(buffer.begin(), buffer.end(), std::uint64_t{0}));
}

void measure(benchmark::State& state, const attn_backend& backend, const Spec& spec, bool cold) {
  using Clock = std::chrono::steady_clock;
  attn::test::Problem problem(spec);
  const bool control = backend.flags & ATTN_FLAG_CONTROL;
  attn::test::Session session(backend, problem, {}, static_cast<int>(std::thread::hardware_concurrency()));
  session.run();
  for (auto _ : state) {
    if (cold) flush_cache();
    const auto start = Clock::now();
    session.call();
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count());
  }
  if (control) return;
  state.counters["GFLOP/s"] = benchmark::Counter(flops(spec) * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["GB/s"] = benchmark::Counter(kv_bytes(spec) * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::pair<const char*, const char*> kBackends[] = {{"chain", "naive"},   {"chain", "naive_inplace"},     {"chain", "math"},
                                                               {"flash", "flash"},   {"control", "control.bandwidth"}, {"control", "control.matrix"}};
  for (const Shape& shape : kShapes)
    for (const auto& [file, name] : kBackends) {
      const attn_backend* backend = attn::test::find_backend(file, name);
      if (!backend || (backend->flags & ATTN_FLAG_CONTROL && &shape != kShapes)) continue;  // a control's work is the same for every shape
      for (const bool cold : {false, true})
        benchmark::RegisterBenchmark((std::string(shape.name) + "/" + name + (cold ? "/cold" : "/warm")).c_str(),
                                     [backend, &shape, cold](benchmark::State& state) { measure(state, *backend, shape.spec, cold); })
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
    }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 4;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
