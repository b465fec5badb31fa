#pragma once
// The vocabulary of a case, a measurement and a verdict: enumerations with the words that users read and write.

#include "base/words.hpp"

namespace attn {

// The first six are in the order of the C ABI's enumerations of the same names.
enum class DType { fp32, fp16, bf16, fp8_e4m3, fp8_e5m2 };
enum class Layout { bhsd, bshd, sbhd, packed_qkv, thd };
enum class MaskKind { none, causal, tensor };
enum class Alignment { top_left, bottom_right };
enum class DeadRows { zero, nan, mean };
enum class Pass { forward, backward, forward_backward };

enum class MaskPattern { causal, random, all_true, rows_dead };
enum class MaskDType { boolean, dtype };
enum class MaskFill { minus_infinity, minimum };
enum class StrideKind { dense, expanded, transposed, sliced };  // dense = what the layout gives
enum class PageOrder { sequential, shuffled };
enum class GradLayout { like_output, transposed, expanded };
enum class Then { none, merge_heads };
// visibility: Q = 0, V[j] = j. kv_head: Q = 0, V = index of the KV head. scale_probe, softcap_probe: two keys with known scores. ramp: 0.1, 0.2, ... in Q, then
// K; V counts 1, 2, ... large_logits: scores where a softcap of 20 to 50 bends. heavy_edges: the first and the last key outweigh all others.
enum class Inputs { normal, skewed, negative_logits, poison_padding, visibility, kv_head, scale_probe, softcap_probe, ramp, large_logits, heavy_edges };
enum class Cache { cold, warm };

enum class DeviceType { cpu, cuda };
enum class Instrument { reported, cupti, events, graph, clock };
enum class ActivityKind { kernel, memcpy, memset, api };  // api: a call of the CUDA runtime or driver, no work of the device
enum class ActivityClass { attention, gemm, softmax, mask, elementwise, reduce, copy, cast, fill, rng, other };
// What a matrix product computes with, as far as its name tells; fp32_simt: fp32 without tensor cores.
enum class GemmKind { fp32_simt, tf32, fp16, bf16, fp8 };
// What a call of the CUDA runtime or driver does, as far as a gate cares; cudaMemcpy does two of them.
enum class CallEffect { launch, synchronise, allocate, free };
enum class KernelPath { flash2, flash3, flash4, cudnn, efficient, flex, triton, math, naive, none, unknown };
enum class Phase { open, bare, device_time, accounting, numerics };

enum class Status { ok, wrong, failed, crashed, timed_out, unsupported, cannot_measure, skipped };
enum class Outcome {
  pass, improved, no_baseline, waived, skipped, unsupported,  // exit 0
  undecided, environment_shift, cannot_measure,               // exit 5
  regressed, wrong, failed, crashed, timed_out                // exit 1
};
enum class Gate { numerics, kernels, copies, kernel_path, latency, memory };
enum class LatencyMetric { device, span, host };
enum class Side { a, b };  // of a comparison: what b is held against, and b
enum class PeakOf { call, prepare };  // whose memory
// The sizes of a case along which a row's memory may be followed; seq is both seq_q and seq_kv.
enum class SizeAxis { batch, heads, seq, seq_q, seq_kv, head_dim };

// What `kernel_path: fused` means: one of the first six.
constexpr bool is_fused(KernelPath path) { return path <= KernelPath::flex; }

template <> struct Words<DType> { static constexpr std::array list{"fp32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2"}; };
template <> struct Words<Layout> { static constexpr std::array list{"bhsd", "bshd", "sbhd", "packed_qkv", "thd"}; };
template <> struct Words<MaskKind> { static constexpr std::array list{"none", "causal", "tensor"}; };
template <> struct Words<Alignment> { static constexpr std::array list{"top_left", "bottom_right"}; };
template <> struct Words<DeadRows> { static constexpr std::array list{"zero", "nan", "mean"}; };
template <> struct Words<Pass> { static constexpr std::array list{"forward", "backward", "forward_backward"}; };
template <> struct Words<MaskPattern> { static constexpr std::array list{"causal", "random", "all_true", "rows_dead"}; };
template <> struct Words<MaskDType> { static constexpr std::array list{"bool", "dtype"}; };
template <> struct Words<MaskFill> { static constexpr std::array list{"-inf", "min"}; };
template <> struct Words<StrideKind> { static constexpr std::array list{"dense", "expanded", "transposed", "sliced"}; };
template <> struct Words<PageOrder> { static constexpr std::array list{"sequential", "shuffled"}; };
template <> struct Words<GradLayout> { static constexpr std::array list{"like_output", "transposed", "expanded"}; };
template <> struct Words<Then> { static constexpr std::array list{"none", "merge_heads"}; };
template <> struct Words<Inputs> {
  static constexpr std::array list{"normal",      "skewed",        "negative_logits", "poison_padding", "visibility", "kv_head",
                                   "scale_probe", "softcap_probe", "ramp",            "large_logits",   "heavy_edges"};
};
template <> struct Words<Cache> { static constexpr std::array list{"cold", "warm"}; };
template <> struct Words<DeviceType> { static constexpr std::array list{"cpu", "cuda"}; };
template <> struct Words<Instrument> { static constexpr std::array list{"reported", "cupti", "events", "graph", "clock"}; };
template <> struct Words<ActivityKind> { static constexpr std::array list{"kernel", "memcpy", "memset", "api"}; };
template <> struct Words<ActivityClass> {
  static constexpr std::array list{"attention", "gemm", "softmax", "mask", "elementwise", "reduce", "copy", "cast", "fill", "rng", "other"};
};
template <> struct Words<GemmKind> { static constexpr std::array list{"fp32_simt", "tf32", "fp16", "bf16", "fp8"}; };
template <> struct Words<CallEffect> { static constexpr std::array list{"launch", "synchronise", "allocate", "free"}; };
template <> struct Words<KernelPath> {
  static constexpr std::array list{"flash2", "flash3", "flash4", "cudnn", "efficient", "flex", "triton", "math", "naive", "none", "unknown"};
};
template <> struct Words<Phase> { static constexpr std::array list{"open", "bare", "device_time", "accounting", "numerics"}; };
template <> struct Words<Status> {
  static constexpr std::array list{"ok", "wrong", "failed", "crashed", "timed_out", "unsupported", "cannot_measure", "skipped"};
};
template <> struct Words<Outcome> {
  static constexpr std::array list{"pass", "improved", "no_baseline", "waived", "skipped", "unsupported", "undecided",
                                   "environment_shift", "cannot_measure", "regressed", "wrong", "failed", "crashed", "timed_out"};
};
template <> struct Words<Gate> { static constexpr std::array list{"numerics", "kernels", "copies", "kernel_path", "latency", "memory"}; };
template <> struct Words<Side> { static constexpr std::array list{"a", "b"}; };
template <> struct Words<LatencyMetric> { static constexpr std::array list{"device", "span", "host"}; };
template <> struct Words<PeakOf> { static constexpr std::array list{"call", "prepare"}; };
template <> struct Words<SizeAxis> { static constexpr std::array list{"batch", "heads", "seq", "seq_q", "seq_kv", "head_dim"}; };

}  // namespace attn
