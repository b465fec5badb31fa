#pragma once
// A measurement with its baseline to be judged, made of few words.

#include <string>
#include <vector>

#include "accounting/account.hpp"
#include "judge/judge.hpp"

namespace attn::scene {

inline constexpr std::int64_t kScores = 33554432;

inline Activity op(const std::string& name, std::int64_t ns = 1000) { return {ActivityKind::kernel, name, {}, 1, 1 + ns}; }
inline Activity memory_copy(std::int64_t bytes = kScores) { return {ActivityKind::memcpy, "cpu_memcpy_scores", bytes, 1, 1001}; }

inline CallActivities in_place(std::int64_t softmax_ns = 1000) {
  return {op("cpu_gemm_qk"), op("cpu_scale"), op("cpu_masked_fill"), op("cpu_softmax", softmax_ns), op("cpu_gemm_pv")};
}
inline CallActivities with_copy() {
  CallActivities call = in_place();
  call.insert(call.begin() + 2, memory_copy());
  return call;
}
inline CallActivities fused() { return {op("flash_fwd_cpu")}; }
inline CallActivities math() {
  return {op("cpu_scale_q"), op("cpu_scale_k"), op("cpu_mask_build"), op("cpu_gemm_qk"), op("cpu_mask_add"), op("cpu_is_neginf"), op("cpu_softmax"),
          op("cpu_all_masked"), op("cpu_where"), op("cpu_gemm_pv")};
}

// Blocks around `ns` with the little noise that keeps values apart, as every real clock does.
inline std::vector<Block> blocks_of(double ns, std::size_t count = 5, Instrument instrument = Instrument::reported) {
  constexpr double kNoise[] = {1.0, 1.0031, 0.9974, 1.0012, 0.9989, 1.0023, 0.9961};
  std::vector<Block> blocks(count);
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i].instrument = instrument;
    blocks[i].calls = 20;
    blocks[i].device_ns = ns * kNoise[i % 7];
  }
  return blocks;
}

struct Scene {
  Measurement now;
  Baseline baseline;
  Environment environment;
  JudgeInput input;

  explicit Scene(DeviceType device = DeviceType::cpu) {
    environment.device = now.device = device;
    environment.arch = now.arch = device == DeviceType::cpu ? "cpu.x86_64" : "cuda.sm90";
    environment.platform = now.platform = device == DeviceType::cpu ? "cpu.model.2t" : "cuda.h200";
    environment.libraries["openblas"] = {"0.3.21", "/usr/lib/libopenblas.so"};
    now.suite = "s";
    now.case_id = "c";
    now.backend = "b";
    now.memory = {1000, 2000, 0, "workspace"};
    now.blocks = blocks_of(1e6);
    calls(in_place());
    keep();
    input.measurement = &now;
    input.environment = &environment;
    input.gates = gates_for({"b", "c", {}, device, environment.arch, {}}, {}, Gates{}.enabled);
    input.counts_baseline = input.times_baseline = &baseline;
  }
  Scene(const Scene&) = delete;

  void calls(const CallActivities& call) { apply(account({call, call}, default_rules()), now); }
  // What is measured now becomes the baseline.
  void keep() { baseline = make_baseline(now, environment, "abc", "2026-01-01T00:00:00Z"); }
  void no_baseline() { input.counts_baseline = input.times_baseline = nullptr; }
  void slower(double ratio, std::size_t count = 5) { now.blocks = blocks_of(1e6 * ratio, count, baseline.instrument); }
  Verdict verdict() const { return judge(input); }
};

}  // namespace attn::scene
