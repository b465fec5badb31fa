#include "gpu/launch_tree.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace attn {
namespace {

bool begins_any(const std::string& name, std::initializer_list<const char*> prefixes) {
  return std::ranges::any_of(prefixes, [&](const char* prefix) { return name.starts_with(prefix); });
}

}  // namespace

Launches launches(const ApiRecord& call) {
  if (begins_any(call.name, {"cudaLaunchHostFunc", "cuLaunchHostFunc"})) return Launches::nothing;  // work of the host
  if (begins_any(call.name, {"cudaLaunch", "cuLaunch"})) return Launches::kernel;
  if (call.name == "cudaGraphLaunch" || call.name == "cuGraphLaunch") return Launches::graph;
  if (begins_any(call.name, {"cudaMemcpy", "cuMemcpy", "cudaMemset", "cuMemset"})) return Launches::memory;
  return Launches::nothing;
}

LaunchTree::LaunchTree(const std::vector<ApiRecord>& calls) {
  std::vector<std::size_t> order(calls.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Outer before inner: of two that start together the longer, of two that are equally long the runtime's.
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    if (calls[a].start_ns != calls[b].start_ns) return calls[a].start_ns < calls[b].start_ns;
    if (calls[a].end_ns != calls[b].end_ns) return calls[a].end_ns > calls[b].end_ns;
    return calls[a].name.starts_with("cuda") && !calls[b].name.starts_with("cuda");
  });
  struct Thread {
    std::size_t root = 0;
    std::int64_t end_ns = -1;   // of the open outermost call
    std::vector<std::size_t> captures;  // the roots that began those that are open
  };
  std::map<std::int64_t, Thread> threads;
  for (const std::size_t index : order) {
    const ApiRecord& call = calls[index];
    Thread& thread = threads[call.thread];
    if (const bool inside = call.end_ns <= thread.end_ns; !inside) {
      thread.root = roots_.size();
      thread.end_ns = call.end_ns;
      Root& root = roots_.emplace_back();
      root.call = index;
      root.capturing = !thread.captures.empty();
      // Only of outermost calls: the driver's begin within the runtime's is the same one.
      if (call.result == 0 && begins_any(call.name, {"cudaStreamBeginCapture", "cuStreamBeginCapture"})) thread.captures.push_back(thread.root);
      else if (!thread.captures.empty() && begins_any(call.name, {"cudaStreamEndCapture", "cuStreamEndCapture"})) thread.captures.pop_back();
    }
    Root& root = roots_[thread.root];
    root.correlations.insert(call.correlation);
    by_correlation_.emplace(call.correlation, thread.root);
    const Launches kind = call.result == 0 ? launches(call) : Launches::nothing;
    if (kind != Launches::nothing && (root.launches == Launches::nothing || kind < root.launches)) root.launches = kind;
    if (!root.bytes) root.bytes = call.bytes;
  }
  for (const auto& [number, thread] : threads)
    for (const std::size_t root : thread.captures) roots_[root].left_open = true;
}

const LaunchTree::Root* LaunchTree::find(std::int64_t correlation) const {
  const auto found = by_correlation_.find(correlation);
  return found == by_correlation_.end() ? nullptr : &roots_[found->second];
}

}  // namespace attn
