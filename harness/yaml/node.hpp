#pragma once
// A YAML file as a tree in which everything knows its place. Strict: one document, no anchors, aliases, tags, merge keys or duplicate keys; scalars stay text.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace attn {

enum class NodeKind { nothing, scalar, list, map };

struct NodeEntry;

struct Node {
  NodeKind kind = NodeKind::nothing;
  Place place;
  std::string name;                // the key that leads here, for messages; items of a list have their list's
  std::string text;                // of a scalar
  bool quoted = false;             // then it is text, whatever it looks like
  std::vector<Node> items;         // of a list
  std::vector<NodeEntry> entries;  // of a map, in the order of the file

  // The value of a map's key, or null.
  const Node* find(std::string_view key) const;
};

struct NodeEntry {
  std::string key;
  Place place;  // of the key
  Node value;
};

// What a file may be at most; beyond is an error, so that no file crashes or hangs the reader.
struct YamlLimits {
  std::size_t bytes = 1u << 20;
  std::size_t depth = 64;
  std::size_t nodes = 100'000;
};

// Throws Error with the place of what is wrong: not UTF-8, control characters, tabs as indentation, no document or several, broken YAML, what is refused
// above, or beyond a limit.
Node parse_yaml(std::string_view text, const std::string& file, const YamlLimits& limits = {});
// The same for a file. `path` is the file name in places.
Node read_yaml(const std::string& path, const YamlLimits& limits = {});

// "nothing", "a list", "a map" or the scalar in quotes: for messages.
std::string found_text(const Node& node);

// Throws Error at the node: "heads: MESSAGE".
[[noreturn]] void refuse(const Node& node, const std::string& message);

}  // namespace attn
