#include "yaml/read.hpp"

#include <algorithm>
#include <charconv>

namespace attn {
namespace {

bool contains(const WordList& words, std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); }

// The text of a plain scalar, which is what a number or a boolean must be.
std::string_view plain_scalar(const Node& node, const std::string& wanted) {
  if (node.kind != NodeKind::scalar) refuse(node, fmt::format("found {}; wanted is {}", found_text(node), wanted));
  if (node.quoted) refuse(node, fmt::format("found the text {}; wanted is {}, without quotes", found_text(node), wanted));
  return node.text;
}

std::size_t digits(std::string_view text) { return std::min(text.find_first_not_of("0123456789"), text.size()); }

// JSON's grammar of a number: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
bool is_json_number(std::string_view text) {
  const auto take = [&](std::string_view any) {
    const bool found = !text.empty() && any.find(text[0]) != std::string_view::npos;
    if (found) text.remove_prefix(1);
    return found;
  };
  const auto take_digits = [&] {
    const std::size_t count = digits(text);
    text.remove_prefix(count);
    return count;
  };
  take("-");
  if (!take("0") && take_digits() == 0) return false;
  if (take(".") && take_digits() == 0) return false;
  if (take("eE")) {
    take("+-");
    if (take_digits() == 0) return false;
  }
  return text.empty();
}

bool has_leading_zero(std::string_view text) {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && digits(text) == text.size();
}

[[noreturn]] void refuse_leading_zero(const Node& node) {
  refuse(node, fmt::format("found {}: a leading zero means octal to some readers of YAML and nothing to others; write the number without it", node.text));
}

}  // namespace

MapReader::MapReader(const Node& node, std::string what, const WordList& allowed, const WordList& reserved) : node_(node), what_(std::move(what)) {
  if (node.kind != NodeKind::map) refuse(node, fmt::format("found {}; {} is a map with the keys: {}", found_text(node), what_, join(allowed)));
  for (const NodeEntry& entry : node.entries) {
    if (contains(allowed, entry.key)) continue;
    if (contains(reserved, entry.key)) throw Error(entry.place, fmt::format("{} is reserved and does nothing yet; remove it from {}", entry.key, what_));
    const auto colon = entry.key.find(':');
    if (entry.value.kind == NodeKind::nothing && colon != std::string::npos && contains(allowed, entry.key.substr(0, colon)))
      throw Error(entry.place, fmt::format("found {}; YAML wants a space after the colon", quote(entry.key)));
    throw Error(entry.place, fmt::format("unknown key {} in {}; {}", quote(entry.key), what_, allowed_text(entry.key, allowed)));
  }
}

const Node& MapReader::required(std::string_view key) const {
  if (const Node* value = node_.find(key)) return *value;
  throw Error(node_.place, fmt::format("{} needs the key {}", what_, key));
}

std::int64_t read_integer(const Node& node, std::int64_t min, std::int64_t max, std::string_view also) {
  const std::string wanted = fmt::format("a whole number from {} to {}{}{}", min, max, also.empty() ? "" : " or ", also);
  const std::string_view text = plain_scalar(node, wanted);
  if (has_leading_zero(text)) refuse_leading_zero(node);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size() || error == std::errc::result_out_of_range || value < min || value > max)
    refuse(node, fmt::format("found {}; wanted is {}", found_text(node), wanted));
  return value;
}

double read_number(const Node& node) {
  const std::string_view text = plain_scalar(node, "a number");
  if (has_leading_zero(text)) refuse_leading_zero(node);
  double value = 0;
  const auto error = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  if (!is_json_number(text)) refuse(node, fmt::format("found {}; wanted is a decimal number such as 0.5, -2 or 1e-3", found_text(node)));
  if (error != std::errc{}) refuse(node, fmt::format("found {}, which a double cannot hold", found_text(node)));
  return value;
}

bool read_boolean(const Node& node) {
  const std::string_view text = plain_scalar(node, "true or false");
  if (text == "true") return true;
  if (text != "false") refuse(node, fmt::format("found {}; allowed are: true, false", found_text(node)));
  return false;
}

const std::string& read_text(const Node& node) {
  if (node.kind != NodeKind::scalar) refuse(node, fmt::format("found {}; wanted is text", found_text(node)));
  if (node.text.empty()) refuse(node, "found empty text");
  return node.text;
}

const std::string& read_one_of(const Node& node, const WordList& allowed) {
  if (node.kind != NodeKind::scalar) refuse(node, fmt::format("found {}; wanted is one word; allowed are: {}", found_text(node), join(allowed)));
  if (!contains(allowed, node.text)) refuse(node, fmt::format("found {}; {}", found_text(node), allowed_text(node.text, allowed)));
  return node.text;
}

std::vector<const Node*> one_or_more(const Node& node) {
  if (node.kind == NodeKind::nothing) refuse(node, "found nothing; wanted is a value or a list");
  if (node.kind != NodeKind::list) return {&node};
  if (node.items.empty()) refuse(node, "found an empty list; it would select nothing");
  std::vector<const Node*> items;
  for (const Node& item : node.items) items.push_back(&item);
  return items;
}

const std::vector<Node>& read_list(const Node& node) {
  if (node.kind != NodeKind::list) refuse(node, fmt::format("found {}; wanted is a list", found_text(node)));
  return node.items;
}

}  // namespace attn
