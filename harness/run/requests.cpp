#include "run/requests.hpp"

namespace attn {
namespace {

constexpr std::int64_t kCallsForMemory = 14;  // with the first two calls 16 samples: fewer rise by chance

}  // namespace

Request support_request(const Trial& trial, const std::string& backend) {
  Request request;
  request.trial = trial.index;
  request.backend = backend;
  request.case_id = trial.id;
  request.options = trial.backend.options;
  request.supports_only = true;
  return request;
}

std::vector<Request> requests_for(const Trial& trial, const std::string& backend, const Measurement& measurement, const std::set<Gate>& gates, std::uint64_t seed,
                                  bool whole) {
  const bool latency = gates.contains(Gate::latency), memory = gates.contains(Gate::memory);
  const bool counts = gates.contains(Gate::kernels) || gates.contains(Gate::copies) || gates.contains(Gate::kernel_path);
  Request request = support_request(trial, backend);
  request.supports_only = false;
  request.seed = seed;
  request.control = measurement.control;
  request.timing = latency || memory;
  request.numerics = whole && gates.contains(Gate::numerics);
  if (measurement.device == DeviceType::cpu) {
    request.accounting = whole && (latency || counts);
    if (memory && whole) request.min_calls = kCallsForMemory;
    if (!latency && !memory) request.timing_ns = 0;
    return {request};
  }
  std::vector<Request> requests;
  Request recorded = request;
  if (latency) {
    request.accounting = request.numerics = false;
    requests.push_back(request);
  }
  recorded.bare = false;
  recorded.device_time = recorded.timing = latency;
  recorded.accounting = whole && (counts || memory);  // times alone can be had without CUPTI
  requests.push_back(recorded);
  return requests;
}

}  // namespace attn
