#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "engine/reference.hpp"
#include "engine/tensor_layout.hpp"

namespace attn {
namespace {

constexpr std::int64_t kUnbounded = -1;

class Collector {
 public:
  explicit Collector(const Case& value) : value_(value) {}
  template <class Change>
  void add(std::string text, Change&& change) {
    Reading reading{.value = value_, .text = std::move(text)};
    change(reading);
    readings.push_back(std::move(reading));
  }
  std::vector<Reading> readings;

 private:
  const Case& value_;
};

// A default scale computed from head_dim rounded up to what a kernel pads it to.
void add_padded_scales(const Case& c, Collector& collect) {
  std::set<std::int64_t> padded;
  for (const std::int64_t multiple : {8, 16, 32, 64, 128}) padded.insert((c.head_dim + multiple - 1) / multiple * multiple);
  padded.erase(c.head_dim);
  for (const std::int64_t head_dim : padded)
    collect.add(fmt::format("the scale of head_dim padded to {}", head_dim), [&](Reading& r) { r.value.scale = 1 / std::sqrt(static_cast<double>(head_dim)); });
}

void add_scales(const Case& c, Collector& collect) {
  const double scale = resolved_scale(c);
  if (scale != default_scale(c)) collect.add("scale ignored", [](Reading& r) { r.value.scale.reset(); });
  if (scale == default_scale(c)) add_padded_scales(c, collect);
  if (scale != 1) collect.add("no scaling (scale 1)", [](Reading& r) { r.value.scale = 1; });
  if (scale != 0) collect.add("scale 0 (all keys alike)", [](Reading& r) { r.value.scale = 0; });
  collect.add("the scale applied twice", [&](Reading& r) { r.value.scale = scale * scale; });
}

// Windows with bounds moved by `by` on the left, on the right, on both sides.
void add_windows(const Case& c, std::int64_t by, const char* text, Collector& collect) {
  const bool left = c.window_left >= 0 && c.window_left + by >= 0, right = c.window_right >= 0 && c.window_right + by >= 0;
  if (left) collect.add(text, [&](Reading& r) { r.value.window_left += by; });
  if (right) collect.add(text, [&](Reading& r) { r.value.window_right += by; });
  if (left && right)
    collect.add(text, [&](Reading& r) {
      r.value.window_left += by;
      r.value.window_right += by;
    });
}

// Calls place(b, s) for every key that there is.
template <class Place>
std::vector<std::int64_t> key_places(const Case& c, const Place& place) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(c.batch * c.seq_kv), -1);
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t s = 0; s < keys_of(c, b); ++s) places[static_cast<std::size_t>(b * c.seq_kv + s)] = place(b, s);
  return places;
}

void add_pages(const Case& c, Collector& collect) {
  const std::int64_t per_entry = page_counts(c).per_entry;
  const std::vector<std::int32_t> pages = page_table(c);
  const auto in_page = [&](std::int64_t page, std::int64_t s) { return page * c.page_size + s % c.page_size; };
  if (c.page_order == PageOrder::shuffled) {
    Case ordered = c;
    ordered.page_order = PageOrder::sequential;
    const std::vector<std::int32_t> in_order = page_table(ordered);
    collect.add("the page order ignored", [&](Reading& r) {
      r.key_places = key_places(c, [&](std::int64_t b, std::int64_t s) { return in_page(in_order[static_cast<std::size_t>(b * per_entry + s / c.page_size)], s); });
    });
  }
  // Of a shorter first sequence the table goes on with the page of nobody: that answer is NaN and needs no name.
  if (c.batch > 1 && keys_of(c, 0) == *std::max_element(c.lengths_kv.begin(), c.lengths_kv.end()))
    collect.add("the first sequence's pages for all", [&](Reading& r) {
      r.key_places = key_places(c, [&](std::int64_t, std::int64_t s) { return in_page(pages[static_cast<std::size_t>(s / c.page_size)], s); });
    });
}

void add_starts(const Case& c, Collector& collect) {
  const std::vector<std::int32_t> starts_q = starts_of(c.lengths_q), starts_kv = starts_of(c.lengths_kv);
  std::vector<std::int64_t> keys;  // by token
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t s = 0; s < keys_of(c, b); ++s) keys.push_back(b * c.seq_kv + s);
  const auto tokens = static_cast<std::int64_t>(keys.size());
  const auto key = [&](std::int64_t token) { return keys[static_cast<std::size_t>(token)]; };
  const auto start = [](const std::vector<std::int32_t>& starts, std::int64_t b) { return std::int64_t{starts[static_cast<std::size_t>(b)]}; };
  collect.add("the starts of the keys ignored", [&](Reading& r) { r.key_places = key_places(c, [&](std::int64_t, std::int64_t s) { return key(s); }); });
  bool inside = starts_q != starts_kv;
  for (std::int64_t b = 0; b < c.batch; ++b) inside = inside && start(starts_q, b) + keys_of(c, b) <= tokens;
  if (inside)
    collect.add("the starts of the queries taken for the keys'", [&](Reading& r) {
      r.key_places = key_places(c, [&](std::int64_t b, std::int64_t s) { return key(start(starts_q, b) + s); });
    });
  // Every sequence as long as the longest may be: the next one's keys are read, to the end of memory.
  collect.add("lengths ignored", [&](Reading& r) {
    for (std::int64_t b = 0; b < c.batch; ++b) r.value.lengths_kv[static_cast<std::size_t>(b)] = std::min(c.seq_kv, tokens - start(starts_kv, b));
    r.key_places = key_places(r.value, [&](std::int64_t b, std::int64_t s) { return key(start(starts_kv, b) + s); });
  });
}

// Between sliced rows lies NaN, and behind expanded heads nothing: what is read there needs no name.
void add_strides(const Case& c, Collector& collect) {
  bool differ = c.layout == Layout::packed_qkv;
  for (const auto& [dim, kind] : {std::pair(c.head_dim, c.strides.k), std::pair(c.head_dim_v, c.strides.v)}) {
    const std::array<std::int64_t, 4> shape{c.batch, c.heads_kv, c.seq_kv, dim};
    const TensorLayout laid = key_layout(c, dim, kind), dense = dense_layout(shape, Layout::bhsd, StrideKind::dense);
    if (laid.elements != dense.elements) return;
    differ = differ || laid.strides != dense.strides;
  }
  if (differ) collect.add("the strides of k and v ignored", [](Reading& r) { r.kv_strides_ignored = true; });
}

}  // namespace

std::vector<Reading> misreadings(const Case& c) {
  Collector collect(c);
  const bool window = c.window_left >= 0 || c.window_right >= 0, causal = c.mask == MaskKind::causal, tensor = c.mask == MaskKind::tensor;
  if (c.softcap != 0) {
    collect.add("softcap ignored", [](Reading& r) { r.value.softcap = 0; });
    // scale * cap * tanh(q.k / cap), written as one cap of scaled scores.
    if (const double scale = std::abs(resolved_scale(c)); scale != 0 && scale != 1)
      collect.add("softcap before the scale", [&](Reading& r) { r.value.softcap *= scale; });
  }
  add_scales(c, collect);
  if (causal || window || c.alibi) {
    const Alignment other = c.alignment == Alignment::bottom_right ? Alignment::top_left : Alignment::bottom_right;
    collect.add(fmt::format("the other alignment ({})", word(other)), [&](Reading& r) { r.value.alignment = other; });
  }
  if (c.alignment == Alignment::bottom_right && (causal || window || c.alibi) && !(c.lengths_q.empty() && c.lengths_kv.empty()) && c.seq_q != c.seq_kv)  // else it is top_left's
    collect.add("the diagonal taken from the padded lengths", [](Reading& r) { r.padded_diagonal = true; });
  if (window) {
    add_windows(c, 1, "the window one key too wide", collect);
    add_windows(c, -1, "the window one key too narrow", collect);
    collect.add("the window ignored", [](Reading& r) { r.value.window_left = r.value.window_right = kUnbounded; });
  }
  if (causal) {
    // What is left of both is the window.
    collect.add(c.window_right > 0 ? "the window's right bound in causality's place" : "causality ignored", [](Reading& r) { r.value.mask = MaskKind::none; });
    // Without causality, a right bound of 1 is a diagonal that lies one key further.
    if (c.window_right < 0)
      collect.add("the causal diagonal one key too far", [](Reading& r) {
        r.value.mask = MaskKind::none;
        r.value.window_right = 1;
      });
    if (window)
      collect.add("causality and the window ignored", [](Reading& r) {
        r.value.mask = MaskKind::none;
        r.value.window_left = r.value.window_right = kUnbounded;
      });
  }
  if (c.alibi) {
    collect.add("ALiBi ignored", [](Reading& r) { r.value.alibi.reset(); });
    if (!c.alibi->empty()) collect.add("ALiBi's default slopes", [](Reading& r) { r.value.alibi->clear(); });
    collect.add("ALiBi's sign inverted", [&](Reading& r) {
      r.value.alibi = resolved_slopes(c);
      for (double& slope : *r.value.alibi) slope = -slope;
    });
    collect.add("ALiBi by the key's place, or its distance without the absolute value", [](Reading& r) { r.alibi_by_key = true; });
  }
  if (tensor) {
    collect.add("the mask ignored", [](Reading& r) { r.value.mask = MaskKind::none; });
    if (c.mask_tensor.pattern != MaskPattern::all_true) collect.add("the mask's sense inverted", [](Reading& r) { r.mask_inverted = true; });
  }
  if (c.page_size > 0) add_pages(c, collect);  // behind the lengths lies NaN there
  else if (c.layout == Layout::thd) add_starts(c, collect);
  else if (!c.lengths_kv.empty()) collect.add("lengths ignored", [](Reading& r) { r.value.lengths_kv.clear(); });
  if (c.heads_kv > 1 && c.heads_kv < c.heads) {
    collect.add("KV heads mapped by modulo", [](Reading& r) { r.head_map = HeadMap::modulo; });
    collect.add("KV heads mapped by h / heads_kv", [](Reading& r) { r.head_map = HeadMap::divided_by_kv; });
  }
  if (may_have_dead_rows(c))
    for (const DeadRows other : {DeadRows::zero, DeadRows::nan, DeadRows::mean})
      if (other != c.dead_rows)
        collect.add(fmt::format("dead rows {} instead of {}", word(other), word(c.dead_rows)), [&](Reading& r) { r.value.dead_rows = other; });
  if (c.page_size == 0 && c.layout != Layout::thd) add_strides(c, collect);
  if (const auto bytes = [](DType dtype) { return element_bytes(static_cast<std::int32_t>(dtype)); }; c.dtype != c.dtype_kv && bytes(c.dtype) == bytes(c.dtype_kv))
    collect.add("the dtype of k and v ignored", [](Reading& r) { r.kv_dtype_ignored = true; });
  if (c.head_dim == c.head_dim_v) collect.add("k and v swapped", [](Reading& r) { r.kv_swapped = true; });
  return std::move(collect.readings);
}

}  // namespace attn
