#pragma once
// A run as one JSON document, for scripts (`--json`).
//
//   schema    "attn-regress/run"
//   version   1. Keys are only ever added within a version; one that goes or changes its meaning makes it 2.
//   run       {run_id, started_at, finished_at (ISO 8601, UTC), commit_id, command: [words as typed], exit_code: 0..5, exit: "pass gate_failed interrupted
//             internal_error usage_error cannot_judge"}
//   counts    {outcome: rows}, control rows aside; outcomes that no row has are absent
//   warnings  [text]
//   environments  [{device, device_name, arch, platform, threads, memory_bytes, cache_bytes, operating_system, engine, libraries: {name: {version, path}},
//             switches: {variable: value}}]
//   rows      in the suite's order, control rows last; each
//     suite, case_id, backend, device, arch, platform, environment (index into environments)
//     case      the fields that the case id stands for, defaults included
//     tags      [text];  file, line: where the suite states the case
//     control   true: fixed work that shows how the machine is, no attention
//     status    "ok wrong failed crashed timed_out unsupported cannot_measure skipped";  reason, output (what a backend printed when it ended badly)
//     backend_version, kernel_path ("flash2 ... unknown" or null), cache ("cold warm")
//     counts    {kernels, copies, copy_bytes, memsets, launches, synchronisations, allocations, frees}: each {low, high} per call, null = could not be counted
//     kernels   [{ordinal, kind, class, name, bytes, count: {low, high}, device_ns}]: what one call executed
//     capturable  true, false: into a CUDA graph; null = not known
//     times     {instrument, blocks, calls, plan_ns, first_ns, second_ns, host_ns, span_ns, device_ns}: medians over the blocks, per call, null = not measured
//     blocks    [{instrument, calls, plan_ns, ..., drift, sm_clock_mhz, throttle, other_processes}]: one per process
//     numerics  {max_abs_error, mean_abs_error, rel_error, max_budget, mean_budget, rows_checked, diagnosis}
//     memory    {workspace_bytes, peak_bytes, growth_bytes, source, prepare_peak_bytes, prepare_source}: per call, and what open held at most
//     baseline  {commit_id, device_ns, ratio (new/old)}, or null when there was none
//     verdict   {outcome, reason, findings: [{gate, metric, outcome, message, ratio, low, high, threshold, cause, line}], not_judged: [text]}
//     reproduce the command that runs just this row
//
// The raw records of every call are in the database, not here. Text of others (reason, output, kernel names) is as it was found: escape it before showing.

#include "base/json.hpp"
#include "core/run_result.hpp"

namespace attn {

Json run_json(const RunResult& run);
// The inverse, raw calls aside. Throws Error with `where` when the document is of another schema or version, or has a value of another type.
RunResult read_run_json(const Json& document, const std::string& where);

}  // namespace attn
