#include "suite/cases.hpp"

#include <algorithm>
#include <unordered_map>

#include "suite/axes.hpp"
#include "suite/case_fields.hpp"
#include "yaml/read.hpp"

namespace attn {
namespace {

constexpr std::size_t kLongestId = 8192;   // an id travels in command lines, database keys and file names
constexpr double kMostElements = 1e12;     // of one tensor; no device holds as many

struct Axis {
  const CaseField* field;
  std::vector<Node> values;
};

// A map's own fields; `seq` beside seq_q or seq_kv says one thing twice.
void check_map(const Node& node, const char* what, bool named) {
  WordList allowed = case_field_names();
  if (named) allowed.insert(allowed.begin(), "name");
  MapReader(node, what, allowed, reserved_case_fields());
  for (const char* one : {"seq_q", "seq_kv"})
    if (node.find("seq") && node.find(one)) refuse(*node.find(one), "seq is set too, which sets seq_q and seq_kv; use either");
}

// What an entry says about a field of the defaults: `seq` speaks of seq_q and seq_kv, and both of them together of `seq`.
bool overrides(const Node& entry, std::string_view field) {
  if (entry.find(field)) return true;
  if (field == "seq_q" || field == "seq_kv") return entry.find("seq") != nullptr;
  return field == "seq" && entry.find("seq_q") && entry.find("seq_kv");
}

void add_axes(std::vector<Axis>& axes, const Node& map, const Node* overriding) {
  for (const NodeEntry& item : map.entries) {
    if (overriding && overrides(*overriding, item.key)) continue;
    const auto field = std::find_if(case_fields().begin(), case_fields().end(), [&](const CaseField& each) { return each.name == item.key; });
    if (field == case_fields().end()) continue;  // the name
    axes.push_back({&*field, alternatives(item.value, item.key, case_field_nature())});
  }
}

void check_required(const Node& entry, const std::vector<Axis>& axes) {
  const auto present = [&](std::string_view name) { return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.field->name == name; }); };
  for (const CaseField& field : case_fields()) {
    if (!field.required || present(field.name)) continue;
    const bool length = field.name.starts_with("seq");
    if (length && present("seq")) continue;
    throw Error(entry.place, fmt::format("a case needs the key {}{}, here or in the defaults", field.name, length ? " (or seq, which sets seq_q and seq_kv)" : ""));
  }
}

std::optional<std::string> too_large(const Case& c) {
  const auto elements = [](std::int64_t a, std::int64_t b, std::int64_t x, std::int64_t y) {
    return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(x) * static_cast<double>(y);
  };
  if (elements(c.batch, c.heads, std::max(c.seq_q, c.seq_kv), std::max(c.head_dim, c.head_dim_v)) > kMostElements)
    return fmt::format("a tensor of more than {:g} elements", kMostElements);
  const auto& full = c.mask_tensor.full;
  if (c.mask == MaskKind::tensor && elements(full[0] ? c.batch : 1, full[1] ? c.heads : 1, full[2] ? c.seq_q : 1, full[3] ? c.seq_kv : 1) > kMostElements)
    return fmt::format("a mask of more than {:g} elements", kMostElements);
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(const Node* defaults) : defaults_(defaults) {}

  void read(const Node& entry) {
    check_map(entry, "a case", true);
    const Node* name_node = entry.find("name");
    if (!name_node) throw Error(entry.place, "a case needs the key name");
    const std::string& name = read_name(*name_node, true);
    std::vector<Axis> axes;
    if (defaults_) add_axes(axes, *defaults_, &entry);
    add_axes(axes, entry, nullptr);
    check_required(entry, axes);

    std::vector<std::vector<Node>> values;
    for (Axis& axis : axes) values.push_back(std::move(axis.values));
    if (cases_.size() + combinations(values) > kMostCases)
      throw Error(entry.place, fmt::format("{}: {}; a suite has at most {} cases", name, product_text(axes, values), kMostCases));
    each_combination(values, [&](const std::vector<const Node*>& choice) {
      CaseDraft draft;
      draft.value.name = name;
      // In the order of the table, where seq comes before what overrides it.
      for (const CaseField& field : case_fields())
        for (std::size_t i = 0; i < axes.size(); ++i)
          if (axes[i].field == &field) field.read(*choice[i], draft);
      add(finish_case(draft), std::move(draft.tags), entry.place);
    });
  }

  std::vector<SuiteCase> take() { return std::move(cases_); }

 private:
  static std::string product_text(const std::vector<Axis>& axes, const std::vector<std::vector<Node>>& values) {
    std::string text;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (values[i].size() > 1) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", axes[i].field->name, values[i].size());
    return text.empty() ? "one case more" : "the product of " + text + " is too large";
  }

  void add(Case value, std::vector<std::string> tags, const Place& place) {
    for (const auto& check : {impossible, too_large})
      if (const auto why = check(value)) throw Error(place, fmt::format("{}: {}", value.name, *why));
    std::string id = case_id(value);
    if (id.size() > kLongestId)
      throw Error(place, fmt::format("{}: its id has {} characters; at most {} are allowed, so use fewer lengths or slopes", value.name, id.size(), kLongestId));
    const auto [first, is_new] = places_.emplace(id, place);
    if (!is_new) throw Error(place, fmt::format("the case {} stands here and at {}", id, to_string(first->second)));
    cases_.push_back({std::move(value), std::move(tags), place});
  }

  const Node* defaults_;
  std::vector<SuiteCase> cases_;
  std::unordered_map<std::string, Place> places_;  // by id
};

}  // namespace

std::vector<SuiteCase> read_cases(const Node& cases, const Node* defaults) {
  if (defaults) check_map(*defaults, "defaults", false);
  if (read_list(cases).empty()) refuse(cases, "found an empty list; a suite needs a case");
  Reader reader(defaults);
  for (const Node& entry : cases.items) reader.read(entry);
  return reader.take();
}

}  // namespace attn
