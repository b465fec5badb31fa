#include <charconv>
#include <functional>
#include <map>

#include "base/error.hpp"
#include "core/case.hpp"

// An id is "NAME:part/part/...": dtype, b, h, q.k, d in this order, then optional parts in the order of `kOptional`. Both directions walk the same table.

namespace attn {
namespace {

std::string number_text(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

template <class Number>
std::string list_text(const std::vector<Number>& values) {
  std::string text;
  for (const Number value : values) {
    if (!text.empty()) text += ',';
    if constexpr (std::floating_point<Number>) text += number_text(value);
    else text += std::to_string(value);
  }
  return text;
}

[[noreturn]] void refuse(std::string_view part) { throw Error(fmt::format("\"{}\" is no part of a case id", part)); }

template <class Number>
Number parse_number(std::string_view text, std::string_view part) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) refuse(part);
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

template <class Number>
std::vector<Number> parse_list(std::string_view text, std::string_view part) {
  std::vector<Number> values;
  if (text.empty()) return values;
  for (const auto each : split(text, ',')) values.push_back(parse_number<Number>(each, part));
  return values;
}

template <class Enum>
Enum parse_word(std::string_view text, std::string_view part) {
  const auto value = from_word<Enum>(text);
  if (!value) refuse(part);
  return *value;
}

// "32.8" or "32" when both are equal.
std::string pair_text(std::int64_t a, std::int64_t b) { return a == b ? std::to_string(a) : fmt::format("{}.{}", a, b); }

void parse_pair(std::string_view text, std::int64_t& a, std::int64_t& b, std::string_view part) {
  const auto parts = split(text, '.');
  if (parts.size() > 2) refuse(part);
  a = parse_number<std::int64_t>(parts[0], part);
  b = parts.size() == 2 ? parse_number<std::int64_t>(parts[1], part) : a;
}

std::string mask_text(const MaskTensor& mask) {
  std::string shape;
  for (std::size_t i = 0; i < 4; ++i) shape += mask.full[i] ? "bhqk"[i] : '1';
  return fmt::format("{}.{}.{}.{}", word(mask.pattern), shape, word(mask.dtype), word(mask.fill));
}

MaskTensor parse_mask(std::string_view text, std::string_view part) {
  const auto parts = split(text, '.');
  if (parts.size() != 4 || parts[1].size() != 4) refuse(part);
  MaskTensor mask;
  mask.pattern = parse_word<MaskPattern>(parts[0], part);
  for (std::size_t i = 0; i < 4; ++i) {
    if (parts[1][i] != '1' && parts[1][i] != "bhqk"[i]) refuse(part);
    mask.full[i] = parts[1][i] != '1';
  }
  mask.dtype = parse_word<MaskDType>(parts[2], part);
  mask.fill = parse_word<MaskFill>(parts[3], part);
  return mask;
}

std::string strides_text(const Strides& strides) {
  return fmt::format("{}.{}.{}.{}", word(strides.q), word(strides.k), word(strides.v), word(strides.o));
}

Strides parse_strides(std::string_view text, std::string_view part) {
  const auto parts = split(text, '.');
  if (parts.size() != 4) refuse(part);
  const auto kind = [&](std::size_t i) { return parse_word<StrideKind>(parts[i], part); };
  return {kind(0), kind(1), kind(2), kind(3)};
}

// One optional part: its text when it is not the default, and how to read it back. A part is "key" or "key=value".
struct Optional {
  std::string_view key;
  std::function<std::optional<std::string>(const Case&)> print;  // the value; empty for a bare key
  std::function<void(Case&, std::string_view value, std::string_view part)> parse;
};

template <class Enum>
Optional word_part(std::string_view key, Enum Case::*field) {
  return {key, [=](const Case& c) { return c.*field == Case{}.*field ? std::optional<std::string>{} : std::string(word(c.*field)); },
          [=](Case& c, std::string_view value, std::string_view part) { c.*field = parse_word<Enum>(value, part); }};
}

const std::vector<Optional>& optional_parts() {
  static const std::vector<Optional> parts{
      {"causal", [](const Case& c) { return c.mask == MaskKind::causal ? std::optional<std::string>("") : std::nullopt; },
       [](Case& c, std::string_view, std::string_view) { c.mask = MaskKind::causal; }},
      {"mask", [](const Case& c) { return c.mask == MaskKind::tensor ? std::optional(mask_text(c.mask_tensor)) : std::nullopt; },
       [](Case& c, std::string_view value, std::string_view part) {
         c.mask = MaskKind::tensor;
         c.mask_tensor = parse_mask(value, part);
       }},
      {"layout", [](const Case& c) { return c.layout == Layout::bhsd ? std::optional<std::string>{} : std::string(word(c.layout)); },
       [](Case& c, std::string_view value, std::string_view part) { c.layout = parse_word<Layout>(value, part); }},
      {"align", [](const Case& c) { return c.alignment ? std::optional(std::string(word(*c.alignment))) : std::nullopt; },
       [](Case& c, std::string_view value, std::string_view part) { c.alignment = parse_word<Alignment>(value, part); }},
      {"window", [](const Case& c) { return c.window_left < 0 && c.window_right < 0 ? std::optional<std::string>{} : fmt::format("{}.{}", c.window_left, c.window_right); },
       [](Case& c, std::string_view value, std::string_view part) { parse_pair(value, c.window_left, c.window_right, part); }},
      {"softcap", [](const Case& c) { return c.softcap == 0 ? std::optional<std::string>{} : number_text(c.softcap); },
       [](Case& c, std::string_view value, std::string_view part) { c.softcap = parse_number<double>(value, part); }},
      {"scale", [](const Case& c) { return c.scale ? std::optional(number_text(*c.scale)) : std::nullopt; },
       [](Case& c, std::string_view value, std::string_view part) { c.scale = parse_number<double>(value, part); }},
      {"alibi", [](const Case& c) { return c.alibi ? std::optional(list_text(*c.alibi)) : std::nullopt; },
       [](Case& c, std::string_view value, std::string_view part) { c.alibi = parse_list<double>(value, part); }},
      {"lengths_q", [](const Case& c) { return c.lengths_q.empty() ? std::optional<std::string>{} : list_text(c.lengths_q); },
       [](Case& c, std::string_view value, std::string_view part) { c.lengths_q = parse_list<std::int64_t>(value, part); }},
      {"lengths_kv", [](const Case& c) { return c.lengths_kv.empty() ? std::optional<std::string>{} : list_text(c.lengths_kv); },
       [](Case& c, std::string_view value, std::string_view part) { c.lengths_kv = parse_list<std::int64_t>(value, part); }},
      {"page", [](const Case& c) { return c.page_size == 0 ? std::optional<std::string>{} : std::to_string(c.page_size); },
       [](Case& c, std::string_view value, std::string_view part) { c.page_size = parse_number<std::int64_t>(value, part); }},
      word_part("page_order", &Case::page_order),
      {"strides", [](const Case& c) { return c.strides == Strides{} ? std::optional<std::string>{} : strides_text(c.strides); },
       [](Case& c, std::string_view value, std::string_view part) { c.strides = parse_strides(value, part); }},
      word_part("dead", &Case::dead_rows),
      word_part("pass", &Case::pass),
      word_part("grad", &Case::grad_layout),
      {"deterministic", [](const Case& c) { return c.deterministic ? std::optional<std::string>("") : std::nullopt; },
       [](Case& c, std::string_view, std::string_view) { c.deterministic = true; }},
      {"dropout", [](const Case& c) { return c.dropout == 0 ? std::optional<std::string>{} : number_text(c.dropout); },
       [](Case& c, std::string_view value, std::string_view part) { c.dropout = parse_number<double>(value, part); }},
      word_part("then", &Case::then),
      word_part("inputs", &Case::inputs),
      word_part("cache", &Case::cache),
  };
  return parts;
}

}  // namespace

std::string case_id(const Case& c) {
  std::string id = fmt::format("{}:{}/b{}/h{}/q{}.k{}/d{}", c.name, word(c.dtype), c.batch, pair_text(c.heads, c.heads_kv), c.seq_q, c.seq_kv,
                               pair_text(c.head_dim, c.head_dim_v));
  if (c.dtype_kv != c.dtype) id += fmt::format("/kv={}", word(c.dtype_kv));
  for (const Optional& part : optional_parts()) {
    const auto value = part.print(c);
    if (!value) continue;
    id += '/';
    // A layout's words are unlike every key: it stands bare.
    if (part.key == "layout") id += *value;
    else id += value->empty() ? std::string(part.key) : fmt::format("{}={}", part.key, *value);
  }
  return id;
}

Case parse_case_id(const std::string& id) {
  Case c;
  const auto colon = id.find(':');
  if (colon == std::string::npos) throw Error(fmt::format("\"{}\" is no case id: it has no ':' after the name", id));
  c.name = id.substr(0, colon);
  const auto parts = split(std::string_view(id).substr(colon + 1), '/');
  if (parts.size() < 5) throw Error(fmt::format("\"{}\" is no case id: dtype, b, h, q.k and d are missing", id));
  const auto prefixed = [&](std::size_t i, char letter) {
    if (parts[i].empty() || parts[i][0] != letter) refuse(parts[i]);
    return parts[i].substr(1);
  };
  c.dtype = c.dtype_kv = parse_word<DType>(parts[0], parts[0]);
  c.batch = parse_number<std::int64_t>(prefixed(1, 'b'), parts[1]);
  parse_pair(prefixed(2, 'h'), c.heads, c.heads_kv, parts[2]);
  const auto lengths = split(prefixed(3, 'q'), '.');
  if (lengths.size() != 2 || lengths[1].empty() || lengths[1][0] != 'k') refuse(parts[3]);
  c.seq_q = parse_number<std::int64_t>(lengths[0], parts[3]);
  c.seq_kv = parse_number<std::int64_t>(lengths[1].substr(1), parts[3]);
  parse_pair(prefixed(4, 'd'), c.head_dim, c.head_dim_v, parts[4]);
  for (std::size_t i = 5; i < parts.size(); ++i) {
    const std::string_view part = parts[i], key = part.substr(0, part.find('='));
    const std::string_view value = key.size() == part.size() ? std::string_view{} : part.substr(key.size() + 1);
    if (key == "kv") {
      c.dtype_kv = parse_word<DType>(value, part);
    } else if (from_word<Layout>(part)) {
      c.layout = *from_word<Layout>(part);
    } else {
      bool known = false;
      for (const Optional& each : optional_parts())
        if (each.key == key && key != "layout") {
          each.parse(c, value, part);
          known = true;
        }
      if (!known) refuse(part);
    }
  }
  // One spelling only: what would print otherwise (a default that is spelled out, another order) is refused.
  if (case_id(c) != id) throw Error(fmt::format("\"{}\" is not canonical: the id of that case is \"{}\"", id, case_id(c)));
  return c;
}

}  // namespace attn
