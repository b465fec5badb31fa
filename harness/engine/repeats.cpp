#include "engine/repeats.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace attn {

std::string differing_repeats(Device& device, Calls& calls, int repeats, Repeated which) {
  using Outputs = std::vector<std::pair<const char*, HostCopy>>;
  const auto outputs = [&] {
    calls.prepare();
    calls.make(nullptr);
    device.wait();
    calls.check_damage();
    Outputs found;
    const Tensors& tensors = calls.tensors();
    std::vector<std::pair<const char*, TensorView>> views{{"o", calls.output()}, {"lse", tensors.lse()}};
    if (which == Repeated::outputs_and_gradients) views.insert(views.end(), {{"dq", tensors.dq()}, {"dk", tensors.dk()}, {"dv", tensors.dv()}});
    for (const auto& [name, view] : views)
      if (view) found.emplace_back(name, read_dense(device, view));
    return found;
  };
  const Outputs first = outputs();
  std::vector<int> differing(first.size(), 0);
  for (int i = 0; i < repeats; ++i) {
    const Outputs again = outputs();
    for (std::size_t t = 0; t < first.size(); ++t) differing[t] += again[t].second.storage != first[t].second.storage;
  }
  std::string text;
  for (std::size_t t = 0; t < first.size(); ++t)
    if (differing[t] > 0) text += fmt::format("{}{} differs in {} of {} repeats", text.empty() ? "" : "; ", first[t].first, differing[t], repeats);
  return text;
}

std::string broken_promise(Device& device, Calls& calls, const Case& value) {
  constexpr int kRepeats = 10, kRepeatsOfASeed = 2;
  if (value.deterministic) return differing_repeats(device, calls, kRepeats, Repeated::outputs_and_gradients);
  if (value.dropout == 0) return "";
  const std::string differing = differing_repeats(device, calls, kRepeatsOfASeed, Repeated::outputs);
  return differing.empty() ? "" : "the same seed gives another output: " + differing;
}

}  // namespace attn
