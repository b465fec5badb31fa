#include "store/baseline_difference.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <tuple>

#include "store/median.hpp"

namespace attn {
namespace {

template <class T>
std::string text_of(const std::optional<T>& value) {
  if (!value) return "unknown";
  if constexpr (std::is_same_v<T, CountRange>) return to_string(*value);
  else if constexpr (std::is_same_v<T, KernelPath>) return std::string(word(*value));
  else return std::to_string(*value);
}

// " (2.00x)", or nothing when two digits show no change.
std::string ratio_text(double before, double after) {
  if (!(before > 0)) return before == after ? "" : " (from 0)";
  const std::string text = fmt::format("{:.2f}", after / before);
  return text == "1.00" ? "" : fmt::format(" ({}x)", text);
}

class Parts {
 public:
  template <class T>
  void value(const char* name, const std::optional<T>& before, const std::optional<T>& after) {
    if (before != after) parts_.push_back(fmt::format("{} {} -> {}", name, text_of(before), text_of(after)));
  }
  // Numbers that wobble: a change that two digits of the ratio do not show is none.
  template <class Print>
  void noisy(const char* name, std::optional<double> before, std::optional<double> after, Print print) {
    if (!before && !after) return;
    if (!before || !after) {
      parts_.push_back(fmt::format("{} {} -> {}", name, before ? print(*before) : "unknown", after ? print(*after) : "unknown"));
    } else if (const std::string ratio = ratio_text(*before, *after); !ratio.empty()) {
      parts_.push_back(fmt::format("{} {} -> {}{}", name, print(*before), print(*after), ratio));
    }
  }
  void add(const std::string& text) { parts_.push_back(text); }
  bool empty() const { return parts_.empty(); }
  std::string joined() const { return fmt::format("{}", fmt::join(parts_, ", ")); }

 private:
  std::vector<std::string> parts_;
};

// The multiset of a call without its order and times.
using Multiset = std::map<std::tuple<ActivityKind, std::string, std::optional<std::int64_t>>, CountRange>;

Multiset multiset(const Baseline& row) {
  Multiset result;
  for (const KernelRow& kernel : row.kernels) {
    CountRange& count = result[{kernel.kind, kernel.name, kernel.bytes}];
    count = {count.low + kernel.count.low, count.high + kernel.count.high};
  }
  return result;
}

void kernel_lines(const Baseline& before, const Baseline& after, std::vector<std::string>& lines) {
  const Multiset from = multiset(before), to = multiset(after);
  const auto line = [&](const auto& key, const char* sign, const std::string& count) {
    const auto& [kind, name, bytes] = key;
    lines.push_back(fmt::format("    {} {} {}{} x{}", sign, word(kind), name, bytes ? fmt::format(" {} B", *bytes) : "", count));
  };
  for (const auto& [key, count] : from) {
    const auto found = to.find(key);
    if (found == to.end()) line(key, "-", to_string(count));
    else if (found->second != count) line(key, "~", to_string(count) + " -> x" + to_string(found->second));
  }
  for (const auto& [key, count] : to)
    if (!from.contains(key)) line(key, "+", to_string(count));
}

// Entries that only one side has, or that differ; `text` says what an entry, or none (null), is.
template <class Value, class Text>
void cause_lines(const std::map<std::string, Value>& before, const std::map<std::string, Value>& after, Text text, std::vector<std::string>& lines) {
  std::map<std::string, Value> all = before;
  all.insert(after.begin(), after.end());
  const auto in = [&](const std::map<std::string, Value>& side, const std::string& name) {
    const auto found = side.find(name);
    return text(found == side.end() ? nullptr : &found->second);
  };
  for (const auto& [name, unused] : all)
    if (const std::string from = in(before, name), to = in(after, name); from != to) lines.push_back(fmt::format("    {} {} -> {}", name, from, to));
}

void time_parts(const Baseline& before, const Baseline& after, Parts& parts) {
  // Numbers of two instruments are never compared.
  if (before.instrument != after.instrument && !before.device_ns.empty() && !after.device_ns.empty()) {
    parts.add(fmt::format("instrument {} -> {}, device_ns now {}", word(before.instrument), word(after.instrument), readable_ns(*median(after.device_ns))));
  } else {
    parts.noisy("device_ns", median(before.device_ns), median(after.device_ns), readable_ns);
  }
  parts.noisy("span_ns", median(before.span_ns), median(after.span_ns), readable_ns);
  parts.noisy("host_ns", median(before.host_ns), median(after.host_ns), readable_ns);
}

}  // namespace

std::string readable_ns(double ns) {
  const char* unit = "ns";
  for (const char* larger : {"us", "ms", "s"}) {
    if (std::abs(ns) < 999.5) break;
    ns /= 1000;
    unit = larger;
  }
  const double size = std::abs(ns);
  return fmt::format("{:.{}f} {}", ns, size < 9.995 ? 2 : size < 99.95 ? 1 : 0, unit);
}

std::vector<std::string> difference(const Baseline& before, const Baseline& after) {
  Parts parts;
  if (before.status != after.status) parts.add(fmt::format("status {} -> {}", word(before.status), word(after.status)));
  parts.value("kernel_path", before.kernel_path, after.kernel_path);
  parts.value("kernels", before.counts.kernels, after.counts.kernels);
  parts.value("copies", before.counts.copies, after.counts.copies);
  parts.value("copy_bytes", before.counts.copy_bytes, after.counts.copy_bytes);
  parts.value("memsets", before.counts.memsets, after.counts.memsets);
  time_parts(before, after, parts);
  parts.value("workspace_bytes", before.memory.workspace_bytes, after.memory.workspace_bytes);
  parts.value("peak_bytes", before.memory.peak_bytes, after.memory.peak_bytes);
  parts.value("prepare_peak_bytes", before.memory.prepare_peak_bytes, after.memory.prepare_peak_bytes);
  parts.value("growth_bytes", before.memory.growth_bytes, after.memory.growth_bytes);
  const auto error = [](double value) { return fmt::format("{:.3g}", value); };
  parts.noisy("max_abs_error", before.numerics.max_abs_error, after.numerics.max_abs_error, error);
  parts.noisy("rel_error", before.numerics.rel_error, after.numerics.rel_error, error);

  std::vector<std::string> details;
  kernel_lines(before, after, details);
  cause_lines(before.libraries, after.libraries, [](const LibraryVersion* library) { return library ? library->version : "not loaded"; }, details);
  cause_lines(before.switches, after.switches, [](const std::string* value) { return value ? *value : "unset"; }, details);
  if (parts.empty() && details.empty()) return {};
  const std::string what = !parts.empty() ? parts.joined() : "same counts and times, but other kernels, libraries or switches";
  details.insert(details.begin(), fmt::format("{} {}: {}", after.case_id, after.backend, what));
  return details;
}

}  // namespace attn
