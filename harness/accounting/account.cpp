#include "accounting/account.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "accounting/names.hpp"

namespace attn {
namespace {

struct Name {
  std::string readable, normalised;
  std::map<ActivityKind, OperationClass> classes;
  std::optional<std::vector<CallEffect>> effects;
};

// Names are few and long: each is read once.
class Names {
 public:
  explicit Names(const Rules& rules) : rules_(rules) {}
  Name& of(const std::string& raw) {
    const auto [at, is_new] = names_.try_emplace(raw);
    if (is_new) at->second = {readable_name(raw), normalised_name(raw), {}, {}};
    return at->second;
  }
  OperationClass class_of(const Activity& activity) {
    Name& name = of(activity.name);
    const auto [at, is_new] = name.classes.try_emplace(activity.kind);
    if (is_new) at->second = classify(rules_, activity.kind, name.readable);
    return at->second;
  }
  const std::vector<CallEffect>& effects_of(const std::string& raw) {
    Name& name = of(raw);
    if (!name.effects) name.effects = call_effects(rules_, name.readable);
    return *name.effects;
  }

 private:
  const Rules& rules_;
  std::unordered_map<std::string, Name> names_;
};

// A record whose time cannot be true: after about 0.9 million records CUPTI has been seen to deliver start = end = 0.
std::string senseless_time(const Activity& activity) {
  constexpr std::int64_t kDay = 86'400'000'000'000;
  if (activity.start_ns == 0 && activity.end_ns == 0) return "carries no time";
  if (activity.start_ns < 0) return "starts before time began";
  if (activity.end_ns < activity.start_ns) return "ends before it starts";
  if (activity.end_ns - activity.start_ns > kDay) return "lasts longer than a day";
  return {};
}

// What one call sums up to.
struct CallSum {
  std::int64_t kernels = 0, copies = 0, memsets = 0;
  std::int64_t launches = 0, synchronisations = 0, allocations = 0, frees = 0;
  std::optional<std::int64_t> copy_bytes = 0;
};

void add(CallSum& sum, const std::vector<CallEffect>& effects) {
  for (const CallEffect effect : effects) {
    sum.launches += effect == CallEffect::launch;
    sum.synchronisations += effect == CallEffect::synchronise;
    sum.allocations += effect == CallEffect::allocate;
    sum.frees += effect == CallEffect::free;
  }
}

void add(CallSum& sum, const Activity& activity, ActivityClass activity_class) {
  sum.kernels += activity.kind == ActivityKind::kernel;
  sum.memsets += activity.kind == ActivityKind::memset;
  sum.copies += activity.kind == ActivityKind::memcpy || (activity.kind == ActivityKind::kernel && activity_class == ActivityClass::copy);
  if (activity.kind != ActivityKind::memcpy) return;
  if (!activity.bytes || *activity.bytes < 0) sum.copy_bytes.reset();  // one unknown size makes the sum unknown
  else if (sum.copy_bytes) *sum.copy_bytes += *activity.bytes;
}

std::optional<CountRange> range(const std::vector<CallSum>& sums, auto CallSum::*field) {
  std::optional<CountRange> range;
  for (const CallSum& sum : sums) {
    std::optional<std::int64_t> value = sum.*field;
    if (!value) return std::nullopt;
    if (!range) range = CountRange{*value, *value};
    range->low = std::min(range->low, *value);
    range->high = std::max(range->high, *value);
  }
  return range;
}

// A row while it grows: how often and how long in each call that has it.
struct Growing {
  std::int64_t ordinal = 0;
  std::size_t last_call = 0;
  std::vector<std::int64_t> counts;
  std::vector<double> times;
};

using Key = std::tuple<ActivityKind, std::string, OperationClass, std::optional<std::int64_t>>;

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<KernelRow> rows_of(const std::map<Key, Growing>& growing, std::size_t calls) {
  std::vector<KernelRow> rows;
  for (const auto& [key, row] : growing) {
    const auto [low, high] = std::ranges::minmax(row.counts);
    const auto& [kind, name, operation_class, bytes] = key;
    rows.push_back({row.ordinal, kind, operation_class.activity_class, name, bytes, {row.counts.size() < calls ? 0 : low, high}, median_of(row.times),
                    operation_class.gemm_kind});
  }
  std::ranges::stable_sort(rows, {}, &KernelRow::ordinal);
  return rows;
}

}  // namespace

Account account(const std::vector<CallActivities>& calls, const Rules& rules) {
  Account result;
  if (calls.empty()) return result;
  Names names(rules);
  std::map<Key, Growing> growing;
  std::vector<CallSum> sums;
  std::vector<const Name*> previous;
  bool api_recorded = false;  // what runs on a CPU, or was recorded without its calls, has none to count
  for (std::size_t c = 0; c < calls.size(); ++c) {
    CallSum& sum = sums.emplace_back();
    std::vector<const Name*> sequence;
    std::vector<NamedRecord> named;
    for (std::size_t i = 0; i < calls[c].size(); ++i) {
      const Activity& activity = calls[c][i];
      if (activity.kind == ActivityKind::api) {
        api_recorded = true;
        add(sum, names.effects_of(activity.name));
        continue;
      }
      const Name& name = names.of(activity.name);
      if (const std::string fault = senseless_time(activity); !fault.empty())
        return {{}, {}, {}, fmt::format("record {} of call {} ({}) {}: start {} ns, end {} ns; the records cannot be trusted", i + 1, c + 1,
                                        name.normalised, fault, activity.start_ns, activity.end_ns)};
      const OperationClass operation_class = names.class_of(activity);
      add(sum, activity, operation_class.activity_class);
      const auto [at, is_new] = growing.try_emplace(Key{activity.kind, name.normalised, operation_class, activity.bytes});
      Growing& row = at->second;
      const auto ordinal = static_cast<std::int64_t>(named.size());
      row.ordinal = is_new ? ordinal : std::min(row.ordinal, ordinal);
      if (is_new || row.last_call != c) {
        row.counts.push_back(0);
        row.times.push_back(0);
      }
      row.last_call = c;
      ++row.counts.back();
      row.times.back() += static_cast<double>(activity.end_ns - activity.start_ns);
      sequence.push_back(&name);
      named.push_back({activity.kind, operation_class.activity_class, name.readable});
    }
    if (c > 0 && sequence == previous) continue;
    const KernelPath path = kernel_path(rules, named);
    result.kernel_path = c == 0 || path == result.kernel_path ? path : KernelPath::unknown;
    previous = std::move(sequence);
  }
  result.counts = {range(sums, &CallSum::kernels), range(sums, &CallSum::copies), range(sums, &CallSum::copy_bytes), range(sums, &CallSum::memsets), {}, {}, {}, {}};
  if (api_recorded) {
    result.counts.launches = range(sums, &CallSum::launches);
    result.counts.synchronisations = range(sums, &CallSum::synchronisations);
    result.counts.allocations = range(sums, &CallSum::allocations);
    result.counts.frees = range(sums, &CallSum::frees);
  }
  result.kernels = rows_of(growing, calls.size());
  return result;
}

void apply(const Account& account, Measurement& measurement) {
  measurement.counts = account.counts;
  measurement.kernels = account.kernels;
  measurement.kernel_path = account.kernel_path;
  if (account.error.empty() || measurement.status != Status::ok) return;
  measurement.status = Status::cannot_measure;
  measurement.reason = account.error;
}

}  // namespace attn
