#include "accounting/difference.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "core/units.hpp"

namespace attn {
namespace {

using Key = std::tuple<ActivityKind, std::string, std::optional<std::int64_t>>;

Key key_of(const KernelRow& row) { return {row.kind, row.name, row.bytes}; }

using Index = std::map<Key, const KernelRow*>;

Index index_of(const std::vector<KernelRow>& rows) {
  Index index;
  for (const KernelRow& row : rows) index.try_emplace(key_of(row), &row);
  return index;
}

std::vector<const KernelRow*> in_order(const std::vector<KernelRow>& rows) {
  std::vector<const KernelRow*> sorted;
  for (const KernelRow& row : rows) sorted.push_back(&row);
  std::ranges::stable_sort(sorted, {}, &KernelRow::ordinal);
  return sorted;
}

// The nearest row before `row` that the other side has too; null at the start.
const KernelRow* anchor(const KernelRow& row, const std::vector<KernelRow>& rows, const Index& other) {
  const KernelRow* nearest = nullptr;
  for (const KernelRow* each : in_order(rows)) {
    if (each->ordinal >= row.ordinal) break;
    if (other.contains(key_of(*each))) nearest = each;
  }
  return nearest;
}

// " HtoD" and the like when the name says so.
std::string direction(const std::string& name) {
  for (const char* each : {"DtoD", "HtoD", "DtoH", "HtoH", "PtoP", "AtoD", "DtoA"})
    if (name.find(each) != std::string::npos) return std::string(" ") + each;
  return {};
}

std::string what(const KernelRow& row) {
  if (row.kind == ActivityKind::kernel) return "kernel " + row.name;
  // The driver's names ("Memcpy DtoD (Device -> Device)") say no more than kind and direction; a backend's own say which operation it was.
  const bool own_name = !row.name.empty() && !row.name.starts_with("Mem") && !row.name.starts_with("[");
  const std::string kind = std::string(word(row.kind)) + (own_name ? " " + row.name : row.kind == ActivityKind::memcpy ? direction(row.name) : "");
  return row.bytes ? fmt::format("{} of {} B", kind, *row.bytes) : kind + " of unknown size";
}

struct Delta {
  const KernelRow* row = nullptr;
  std::int64_t before = 0, now = 0;
  bool replaced = false;
  std::int64_t size() const { return std::llabs(now - before); }
};

Change change(Change::What what, const KernelRow& row, std::string text) { return {what, row.kind, row.activity_class, std::move(text)}; }

std::string added_text(const Delta& delta, const std::vector<KernelRow>& now, const Index& before) {
  std::string text = fmt::format("+{} {}", delta.size(), what(*delta.row));
  if (delta.before > 0) return text + fmt::format(" ({} instead of {})", delta.now, delta.before);
  const KernelRow* after = anchor(*delta.row, now, before);
  return text + (after ? " after " + after->name : " at the start");
}

}  // namespace

std::vector<Change> difference(const std::vector<KernelRow>& before, const std::vector<KernelRow>& now) {
  const Index old_index = index_of(before), new_index = index_of(now);
  std::vector<Delta> added, removed;
  for (const KernelRow* row : in_order(now)) {
    const auto at = old_index.find(key_of(*row));
    const std::int64_t count = at == old_index.end() ? 0 : at->second->count.high;
    if (row->count.high > count) added.push_back({row, count, row->count.high});
  }
  for (const KernelRow* row : in_order(before)) {
    const auto at = new_index.find(key_of(*row));
    const std::int64_t count = at == new_index.end() ? 0 : at->second->count.high;
    if (row->count.high > count) removed.push_back({row, row->count.high, count});
  }

  // The same kind of work at the same place, as often as before, under another name or with another size: a replacement.
  std::vector<Change> replaced;
  for (Delta& gone : removed) {
    for (Delta& come : added) {
      const bool same_work = come.row->kind == gone.row->kind && come.row->activity_class == gone.row->activity_class && come.size() == gone.size();
      if (come.replaced || !same_work) continue;
      const KernelRow *there = anchor(*gone.row, before, new_index), *here = anchor(*come.row, now, old_index);
      if ((there == nullptr) != (here == nullptr) || (there && key_of(*there) != key_of(*here))) continue;
      come.replaced = gone.replaced = true;
      const bool resized = come.row->kind != ActivityKind::kernel && come.row->bytes && gone.row->bytes;
      replaced.push_back(change(Change::What::replaced, *come.row,
                                resized ? fmt::format("{} {} B -> {} B", word(come.row->kind), *gone.row->bytes, *come.row->bytes)
                                        : gone.row->name + " -> " + come.row->name));
      break;
    }
  }

  std::vector<Change> changes;
  for (const Delta& each : added)
    if (!each.replaced) changes.push_back(change(Change::What::added, *each.row, added_text(each, now, old_index)));
  for (const Delta& each : removed)
    if (!each.replaced) changes.push_back(change(Change::What::removed, *each.row, fmt::format("-{} {}", each.size(), what(*each.row))));
  std::ranges::move(replaced, std::back_inserter(changes));
  return changes;
}

std::vector<std::string> slower_operations(const std::vector<KernelRow>& before, const std::vector<KernelRow>& now, double least_ratio) {
  const Index old_index = index_of(before);
  std::vector<std::pair<double, std::string>> slower;
  for (const KernelRow& row : now) {
    const auto at = old_index.find(key_of(row));
    if (at == old_index.end() || !row.device_ns || !at->second->device_ns || row.count != at->second->count) continue;
    const double was = *at->second->device_ns, is = *row.device_ns;
    if (!(was > 0) || is / was < least_ratio) continue;
    const std::string name = row.kind == ActivityKind::kernel ? row.name : what(row);
    const std::string factor = is / was < 1.1 ? fmt::format("{:.1f}%", (is / was - 1) * 100) : fmt::format("{:.1f}x", is / was);
    slower.emplace_back(is - was, fmt::format("{} {} slower ({} -> {})", name, factor, duration_text(was), duration_text(is)));
  }
  std::ranges::stable_sort(slower, std::greater{}, &std::pair<double, std::string>::first);
  std::vector<std::string> texts;
  for (auto& [loss, text] : slower) texts.push_back(std::move(text));
  return texts;
}

}  // namespace attn
