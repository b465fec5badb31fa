#include "core/baseline.hpp"

namespace attn {

Baseline make_baseline(const Measurement& m, const Environment& environment, const std::string& commit_id, const std::string& recorded_at) {
  Baseline b;
  b.suite = m.suite;
  b.case_id = m.case_id;
  b.backend = m.backend;
  b.device = m.device;
  b.arch = m.arch;
  b.platform = m.platform;
  b.status = m.status;
  b.kernel_path = m.kernel_path;
  b.counts = m.counts;
  b.kernels = m.kernels;
  b.capturable = m.capturable;
  if (!m.blocks.empty()) b.instrument = m.blocks.front().instrument;
  b.cache = m.cache;
  b.device_ns = times(m.blocks, &Block::device_ns);
  b.span_ns = times(m.blocks, &Block::span_ns);
  b.host_ns = times(m.blocks, &Block::host_ns);
  b.sm_clock_mhz = times(m.blocks, &Block::sm_clock_mhz);
  b.memory = m.memory;
  b.numerics = m.numerics;
  b.libraries = environment.libraries;
  // Its fingerprint tells builds apart, and a committed file shall name nobody's checkout.
  if (const auto backend = b.libraries.find(kBackendLibrary); backend != b.libraries.end()) backend->second.path.clear();
  b.switches = environment.switches;
  b.commit_id = commit_id;
  b.recorded_at = recorded_at;
  return b;
}

}  // namespace attn
