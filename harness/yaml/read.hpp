#pragma once
// From nodes to values: maps with known keys, and scalars parsed from their own text. Every function throws Error with the place, what was found and what is
// allowed.

#include <cstdint>
#include <string>
#include <vector>

#include "base/words.hpp"
#include "yaml/nearest.hpp"
#include "yaml/node.hpp"

namespace attn {

// A map whose keys are all known; anything else is refused when it is made, so a misspelt key is named before a missing one.
class MapReader {
 public:
  // `what` is for messages: "a case". `reserved` keys are refused as "not yet". The node must outlive this.
  MapReader(const Node& node, std::string what, const WordList& allowed, const WordList& reserved = {});

  const Node& required(std::string_view key) const;
  // Null when the key is absent.
  const Node* optional(std::string_view key) const { return node_.find(key); }
  const Node& node() const { return node_; }

 private:
  const Node& node_;
  std::string what_;
};

// Decimal digits with an optional minus, nothing else: 010, 0x10, 1_000, 1e3 and "4" are refused. `also`: what else
// may stand in its place, for messages.
std::int64_t read_integer(const Node& node, std::int64_t min, std::int64_t max, std::string_view also = {});
// A finite decimal number as in JSON.
double read_number(const Node& node);
// true or false; yes, no, on, off and "true" are refused.
bool read_boolean(const Node& node);
// Any scalar that is not empty.
const std::string& read_text(const Node& node);
// One of `allowed`, in quotes or not.
const std::string& read_one_of(const Node& node, const WordList& allowed);

// The items of a list that is not empty; a scalar or a map is a list of itself.
std::vector<const Node*> one_or_more(const Node& node);
// The items of a list, which may be empty.
const std::vector<Node>& read_list(const Node& node);

template <HasWords Enum>
Enum read_word(const Node& node) {
  return *from_word<Enum>(read_one_of(node, WordList(Words<Enum>::list.begin(), Words<Enum>::list.end())));
}

}  // namespace attn
