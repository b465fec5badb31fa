#include "engine/repeats.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

namespace attn {

std::string differing_repeats(Device& device, Calls& calls, int repeats) {
  using Outputs = std::vector<std::pair<const char*, HostCopy>>;
  const auto outputs = [&] {
    calls.prepare();
    calls.make(nullptr);
    device.wait();
    calls.check_damage();
    Outputs found;
    const Tensors& tensors = calls.tensors();
    for (const auto& [name, view] : {std::pair<const char*, TensorView>{"o", calls.output()}, {"lse", tensors.lse()}, {"dq", tensors.dq()}, {"dk", tensors.dk()},
                                     {"dv", tensors.dv()}})
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

}  // namespace attn
