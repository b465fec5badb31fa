#include "suite/case_fields.hpp"

#include <array>

#include "yaml/read.hpp"

namespace attn {
namespace {

constexpr std::int64_t kLargestSize = 1 << 24;
constexpr std::size_t kLongestName = 200;

// Every size may be swept.
std::int64_t read_size(const Node& node, std::int64_t least = 1) { return read_integer(node, least, kLargestSize, "{sweep: around 1024}"); }

// True for the word `none`, which undoes what the defaults say.
bool is_none(const Node& node) { return node.kind == NodeKind::scalar && node.text == "none"; }

template <auto Field>
void size_field(const Node& node, CaseDraft& draft) {
  draft.value.*Field = read_size(node);
}

template <auto Field>
void word_field(const Node& node, CaseDraft& draft) {
  auto& field = draft.value.*Field;
  field = read_word<std::remove_reference_t<decltype(field)>>(node);
}

void read_window(const Node& node, CaseDraft& draft) {
  if (is_none(node)) return;
  const MapReader map(node, "a window (none, or what may be seen besides the own token)", {"left", "right"});
  if (map.node().entries.empty()) refuse(node, "found an empty map; wanted is left, right or both");
  if (const Node* left = map.optional("left")) draft.value.window_left = read_integer(*left, -1, kLargestSize);
  if (const Node* right = map.optional("right")) draft.value.window_right = read_integer(*right, -1, kLargestSize);
}

MaskTensor read_mask_tensor(const Node& node) {
  const MapReader map(node, "a mask (none, causal or a tensor)", {"tensor", "shape", "dtype", "fill"});
  MaskTensor mask;
  mask.pattern = read_word<MaskPattern>(map.required("tensor"));
  if (const Node* shape = map.optional("shape")) {
    constexpr std::array<std::string_view, 4> kSizes{"B", "H", "Sq", "Skv"};
    if (read_list(*shape).size() != 4)
      refuse(*shape, fmt::format("found {} sizes; wanted are four, such as [B, 1, Sq, Skv], where 1 is broadcast", shape->items.size()));
    for (std::size_t i = 0; i < 4; ++i) mask.full[i] = read_one_of(shape->items[i], {"1", kSizes[i]}) != "1";
  }
  if (const Node* dtype = map.optional("dtype")) mask.dtype = read_word<MaskDType>(*dtype);
  if (const Node* fill = map.optional("fill")) {
    if (mask.dtype == MaskDType::boolean) refuse(*fill, "is of additive masks; it needs dtype: dtype");
    mask.fill = read_word<MaskFill>(*fill);
  }
  const auto needs_size = [&](std::size_t i, const char* size) {
    if (!mask.full[i]) refuse(node, fmt::format("a {} mask differs by row, so its shape needs {}", word(mask.pattern), size));
  };
  if (mask.pattern == MaskPattern::causal || mask.pattern == MaskPattern::rows_dead) needs_size(2, "Sq");
  if (mask.pattern == MaskPattern::causal) needs_size(3, "Skv");
  return mask;
}

void read_mask(const Node& node, CaseDraft& draft) {
  if (node.kind == NodeKind::scalar) {
    const auto kind = from_word<MaskKind>(node.text);
    if (!kind || *kind == MaskKind::tensor)
      refuse(node, fmt::format("found {}; {}", found_text(node), allowed_text(node.text, {"none", "causal", "{tensor: causal, shape: [B, 1, Sq, Skv]}"})));
    draft.value.mask = *kind;
    return;
  }
  draft.value.mask_tensor = read_mask_tensor(node);
  draft.value.mask = MaskKind::tensor;
}

void read_scale(const Node& node, CaseDraft& draft) {
  if (node.kind == NodeKind::scalar && node.text == "default") return;
  draft.value.scale = read_number(node);
}

void read_softcap(const Node& node, CaseDraft& draft) {
  draft.value.softcap = read_number(node);
  if (draft.value.softcap < 0) refuse(node, fmt::format("found {}; wanted is a number of 0 (none) or more", found_text(node)));
}

void read_dropout(const Node& node, CaseDraft& draft) {
  draft.value.dropout = read_number(node);
  if (draft.value.dropout < 0 || draft.value.dropout >= 1) refuse(node, fmt::format("found {}; wanted is a probability in [0, 1)", found_text(node)));
}

void read_alibi(const Node& node, CaseDraft& draft) {
  if (is_none(node)) return;
  const Node& slopes = MapReader(node, "alibi (none or slopes)", {"slopes"}).required("slopes");
  auto& values = draft.value.alibi.emplace();
  if (slopes.kind == NodeKind::scalar && slopes.text == "default") return;
  const bool is_list = slopes.kind == NodeKind::list;
  if (!is_list || slopes.items.empty())
    refuse(slopes, fmt::format("found {}; wanted is one slope per head, or default", is_list ? "an empty list" : found_text(slopes)));
  for (const Node& slope : slopes.items) values.push_back(read_number(slope));
}

void read_lengths(const Node& node, CaseDraft& draft) {
  if (is_none(node)) return;
  const MapReader map(node, "lengths (none, or one per batch entry)", {"q", "kv"});
  if (map.node().entries.empty()) refuse(node, "found an empty map; wanted is q, kv or both");
  const auto read = [&](const char* key, std::vector<std::int64_t>& lengths) {
    const Node* list = map.optional(key);
    if (!list) return;
    if (read_list(*list).empty()) refuse(*list, "found an empty list; wanted is one length per batch entry");
    for (const Node& length : list->items) lengths.push_back(read_integer(length, 0, kLargestSize));
  };
  read("q", draft.value.lengths_q);
  read("kv", draft.value.lengths_kv);
}

void read_strides(const Node& node, CaseDraft& draft) {
  const MapReader map(node, "strides", {"q", "k", "v", "o"});
  Strides& strides = draft.value.strides;
  for (const auto& [key, kind] : {std::pair{"q", &strides.q}, {"k", &strides.k}, {"v", &strides.v}, {"o", &strides.o}})
    if (const Node* value = map.optional(key)) *kind = read_word<StrideKind>(*value);
}

void read_tags(const Node& node, CaseDraft& draft) {
  for (const Node* tag : one_or_more(node)) draft.tags.push_back(read_name(*tag, false));
}

}  // namespace

const std::vector<CaseField>& case_fields() {
  static const std::vector<CaseField> fields{
      {"batch", size_field<&Case::batch>, true},
      {"heads", size_field<&Case::heads>, true},
      {"heads_kv", [](const Node& node, CaseDraft& draft) { draft.heads_kv = read_size(node); }},
      {"seq", [](const Node& node, CaseDraft& draft) { draft.value.seq_q = draft.value.seq_kv = read_size(node); }},
      {"seq_q", size_field<&Case::seq_q>, true},
      {"seq_kv", size_field<&Case::seq_kv>, true},
      {"head_dim", size_field<&Case::head_dim>, true},
      {"head_dim_v", [](const Node& node, CaseDraft& draft) { draft.head_dim_v = read_size(node); }},
      {"dtype", word_field<&Case::dtype>, true},
      {"dtype_kv", [](const Node& node, CaseDraft& draft) { draft.dtype_kv = read_word<DType>(node); }},
      {"layout", word_field<&Case::layout>},
      {"strides", read_strides},
      {"mask", read_mask},
      {"alignment", [](const Node& node, CaseDraft& draft) { draft.value.alignment = read_word<Alignment>(node); }},
      {"window", read_window},
      {"softcap", read_softcap},
      {"scale", read_scale},
      {"alibi", read_alibi},
      {"lengths", read_lengths},
      {"page_size", [](const Node& node, CaseDraft& draft) { draft.value.page_size = read_size(node, 0); }},
      {"page_order", word_field<&Case::page_order>},
      {"dead_rows", word_field<&Case::dead_rows>},
      {"pass", word_field<&Case::pass>},
      {"grad_layout", word_field<&Case::grad_layout>},
      {"deterministic", [](const Node& node, CaseDraft& draft) { draft.value.deterministic = read_boolean(node); }},
      {"dropout", read_dropout},
      {"then", word_field<&Case::then>},
      {"inputs", word_field<&Case::inputs>},
      {"cache", word_field<&Case::cache>},
      {"tags", read_tags},
  };
  return fields;
}

WordList case_field_names() {
  WordList names;
  for (const CaseField& field : case_fields()) names.push_back(field.name);
  return names;
}

const WordList& reserved_case_fields() {
  static const WordList names{"sinks", "q_scale", "k_scale", "v_scale", "o_dtype", "latent", "chunk"};
  return names;
}

const FieldNature& case_field_nature() {
  static const FieldNature nature{{"lengths.q", "lengths.kv", "alibi.slopes", "mask.shape", "tags"},
                                  {"batch", "heads", "heads_kv", "seq", "seq_q", "seq_kv", "head_dim", "head_dim_v", "page_size"}};
  return nature;
}

Case finish_case(const CaseDraft& draft) {
  Case value = draft.value;
  value.heads_kv = draft.heads_kv.value_or(value.heads);
  value.head_dim_v = draft.head_dim_v.value_or(value.head_dim);
  value.dtype_kv = draft.dtype_kv.value_or(value.dtype);
  return value;
}

const std::string& read_name(const Node& node, bool segments) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
  const std::string& name = read_text(node);
  if (name.size() > kLongestName) refuse(node, fmt::format("found a name of {} characters; at most {} are allowed", name.size(), kLongestName));
  bool right = true;
  std::string_view rest = name;
  for (;;) {
    const auto slash = segments ? rest.find('/') : std::string_view::npos;
    const std::string_view segment = rest.substr(0, slash);
    right = right && !segment.empty() && segment != "." && segment != ".." && segment.find_first_not_of(kAllowed) == std::string_view::npos;
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (!right)
    refuse(node, fmt::format("found {}; a name is made of letters, digits and . _ + -{}", found_text(node), segments ? ", in segments joined by /" : ""));
  return name;
}

}  // namespace attn
