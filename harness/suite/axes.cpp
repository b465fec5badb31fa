#include "suite/axes.hpp"

#include <algorithm>

#include "yaml/read.hpp"

namespace attn {
namespace {

constexpr std::int64_t kLargestSweep = 1 << 24;

bool contains(const WordList& words, std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); }

void append(std::vector<Node>& all, std::vector<Node> more, const Node& at) {
  if (all.size() + more.size() > kMostCases) refuse(at, fmt::format("more than {} alternatives", kMostCases));
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

// Each item of a list in turn.
std::vector<Node> items_in_turn(const Node& list, std::string_view path, const FieldNature& nature) {
  if (list.items.empty()) refuse(list, "an empty list has no value to try");
  std::vector<Node> all;
  for (const Node& item : list.items) {
    if (item.kind == NodeKind::list && !contains(nature.lists, path)) refuse(item, "found a list in a list; one list is one axis");
    append(all, alternatives(item, path, nature), list);
  }
  return all;
}

std::vector<Node> around(const Node& sweep, std::string_view path, const FieldNature& nature) {
  if (!contains(nature.sizes, path)) refuse(sweep, fmt::format("sweep is for sizes; allowed are: {}", join(nature.sizes)));
  constexpr std::string_view kAround = "around ";
  if (sweep.kind != NodeKind::scalar || !sweep.text.starts_with(kAround)) refuse(sweep, fmt::format("found {}; wanted is: around N", found_text(sweep)));
  Node number = sweep;
  number.text.erase(0, kAround.size());
  const std::int64_t middle = read_integer(number, 2, kLargestSweep);
  std::vector<Node> all(3, number);
  for (std::int64_t i = 0; i < 3; ++i) all[static_cast<std::size_t>(i)].text = std::to_string(middle - 1 + i);
  return all;
}

}  // namespace

std::vector<Node> alternatives(const Node& field, std::string_view path, const FieldNature& nature) {
  if (field.kind == NodeKind::list) return contains(nature.lists, path) ? std::vector<Node>{field} : items_in_turn(field, path, nature);
  if (field.kind != NodeKind::map) return {field};
  for (const std::string_view word : {"axis", "sweep"})
    if (field.find(word) && field.entries.size() > 1) refuse(field, fmt::format("{} stands alone in its map", word));
  if (const Node* axis = field.find("axis")) {
    if (axis->kind != NodeKind::list) refuse(*axis, fmt::format("found {}; wanted is a list of alternatives", found_text(*axis)));
    return items_in_turn(*axis, path, nature);
  }
  if (const Node* sweep = field.find("sweep")) return around(*sweep, path, nature);

  std::vector<std::vector<Node>> axes;
  for (const NodeEntry& entry : field.entries) axes.push_back(alternatives(entry.value, std::string(path) + "." + entry.key, nature));
  if (combinations(axes) > kMostCases) refuse(field, fmt::format("more than {} alternatives", kMostCases));
  std::vector<Node> all;
  each_combination(axes, [&](const std::vector<const Node*>& choice) {
    Node one = field;
    for (std::size_t i = 0; i < choice.size(); ++i) one.entries[i].value = *choice[i];
    all.push_back(std::move(one));
  });
  return all;
}

std::size_t combinations(const std::vector<std::vector<Node>>& axes) {
  std::size_t count = 1;
  for (const auto& axis : axes) count = std::min(count * axis.size(), kMostCases + 1);  // an axis is no longer than kMostCases: no overflow
  return count;
}

void each_combination(const std::vector<std::vector<Node>>& axes, const std::function<void(const std::vector<const Node*>&)>& visit) {
  std::vector<std::size_t> digits(axes.size(), 0);
  std::vector<const Node*> choice(axes.size());
  for (;;) {
    for (std::size_t i = 0; i < axes.size(); ++i) choice[i] = &axes[i][digits[i]];
    visit(choice);
    std::size_t i = axes.size();
    while (i > 0 && ++digits[i - 1] == axes[i - 1].size()) digits[--i] = 0;
    if (i == 0) return;
  }
}

}  // namespace attn
