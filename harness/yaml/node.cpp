#include "yaml/node.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <unordered_map>

#include "yaml/nearest.hpp"
#include "yaml/text_check.hpp"

namespace attn {
namespace {

// Builds the tree from yaml-cpp's events. Its own tree is of no use here: it resolves aliases, drops duplicate keys and loses places.
class Builder : public YAML::EventHandler {
 public:
  Builder(const std::string& file, const YamlLimits& limits) : file_(file), limits_(limits) {}

  bool complete() const { return complete_; }
  Node take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (complete_) throw Error(place(mark), "a second document (or text that belongs to nothing) starts here; a file holds one document");
  }
  void OnDocumentEnd() override { complete_ = true; }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node = begin(NodeKind::nothing, mark, anchor, "");
    // yaml-cpp marks a missing value with the place of whatever comes next.
    if (!open_.empty() && open_.back().has_key) node.place = open_.back().key_place;
    finish(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { throw Error(place(mark), "aliases (*name) are not allowed; write the value out"); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    // yaml-cpp gives plain scalars the tag "?" and quoted or block ones "!".
    Node node = begin(NodeKind::scalar, mark, anchor, tag == "!" ? "" : tag);
    node.text = value;
    node.quoted = tag == "!";
    finish(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(begin(NodeKind::list, mark, anchor, tag));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(begin(NodeKind::map, mark, anchor, tag));
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    bool has_key = false;  // of a map: a key waits for its value
    std::string key;
    Place key_place;
    std::unordered_map<std::string, Place> keys;
  };

  Place place(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1}; }

  // Refuses what no node may have, counts it, names it.
  Node begin(NodeKind kind, const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& tag) {
    Node node;
    node.kind = kind;
    node.place = place(mark);
    if (anchor != YAML::NullAnchor) throw Error(node.place, "anchors (&name) are not allowed; write the value out");
    if (!tag.empty() && tag != "?") throw Error(node.place, fmt::format("tags are not allowed (found {}); quote what shall be text", quote(tag)));
    if (++nodes_ > limits_.nodes) throw Error(node.place, fmt::format("more than {} values", limits_.nodes));
    if (!open_.empty()) node.name = open_.back().has_key ? open_.back().key : open_.back().node.name;
    return node;
  }

  void open(Node node) {
    if (open_.size() >= limits_.depth) throw Error(node.place, fmt::format("nested deeper than {} levels", limits_.depth));
    open_.push_back({std::move(node), false, {}, {}, {}});
  }

  void close() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    finish(std::move(node));
  }

  // Puts a complete node where it belongs.
  void finish(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == NodeKind::list) {
      parent.node.items.push_back(std::move(node));
    } else if (parent.has_key) {
      parent.has_key = false;
      parent.node.entries.push_back({parent.key, parent.key_place, std::move(node)});
    } else {
      take_key(parent, node);
    }
  }

  static void take_key(Open& map, Node& node) {
    if (node.kind != NodeKind::scalar) throw Error(node.place, fmt::format("found {} as a key; a key is a word", found_text(node)));
    if (node.text == "<<" && !node.quoted) throw Error(node.place, "merge keys (<<) are not allowed; write the values out");
    const auto [first, is_new] = map.keys.emplace(node.text, node.place);
    if (!is_new) throw Error(node.place, fmt::format("duplicate key {}; it stands first at line {}", quote(node.text), first->second.line));
    map.has_key = true;
    map.key = std::move(node.text);
    map.key_place = node.place;
  }

  std::string file_;
  YamlLimits limits_;
  std::vector<Open> open_;
  Node root_;
  std::size_t nodes_ = 0;
  bool complete_ = false;
};

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const NodeEntry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

Node parse_yaml(std::string_view text, const std::string& file, const YamlLimits& limits) {
  if (text.size() > limits.bytes) throw Error(Place{file}, fmt::format("is larger than {} bytes", limits.bytes));
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  check_text(text, file);
  Builder builder(file, limits);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    throw Error(error.mark.is_null() ? Place{file} : Place{file, error.mark.line + 1, error.mark.column + 1}, "not YAML: " + error.msg);
  }
  if (!builder.complete()) throw Error(Place{file}, "is empty");
  return builder.take();
}

Node read_yaml(const std::string& path, const YamlLimits& limits) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(limits.bytes + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad() || errno == EISDIR)
    throw Error(Place{path}, fmt::format("cannot be read: {}", errno ? std::strerror(errno) : "input error"));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_yaml(text, path, limits);
}

std::string found_text(const Node& node) {
  switch (node.kind) {
    case NodeKind::nothing: return "nothing";
    case NodeKind::scalar: return quote(node.text);
    case NodeKind::list: return "a list";
    default: return "a map";
  }
}

void refuse(const Node& node, const std::string& message) {
  // Free keys, such as those of options, are text like any other.
  const std::string quoted = quote(node.name);
  const bool plain = quoted.size() == node.name.size() + 2;
  throw Error(node.place, node.name.empty() ? message : fmt::format("{}: {}", plain ? node.name : quoted, message));
}

}  // namespace attn
