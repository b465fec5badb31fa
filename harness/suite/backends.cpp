#include "suite/backends.hpp"

#include <filesystem>

#include "suite/case_fields.hpp"
#include "yaml/read.hpp"

namespace attn {
namespace {

std::string in_folder(const Node& node, const std::string& folder, const std::string& path) {
  if (path.starts_with('~')) refuse(node, fmt::format("found {}: nothing makes a folder of ~ here; write the whole path", found_text(node)));
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

// "file.so" or "file.so:name in the file", as in --plugin.
void read_plugin(const Node& node, const std::string& folder, BackendSpec& spec) {
  const std::string& text = read_text(node);
  const auto colon = text.rfind(':');
  const bool has_name = colon != std::string::npos && colon > 0 && colon + 1 < text.size() && text.find('/', colon) == std::string::npos;
  spec.plugin = in_folder(node, folder, text.substr(0, has_name ? colon : std::string::npos));
  if (has_name) spec.plugin_name = text.substr(colon + 1);
}

// "file.py:Class"
void read_python(const Node& node, const std::string& folder, BackendSpec& spec) {
  const std::string& text = read_text(node);
  const auto colon = text.rfind(":");
  const std::string_view all = text, file = all.substr(0, colon), name = colon == std::string::npos ? std::string_view{} : all.substr(colon + 1);
  const auto letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80; };
  bool identifier = !name.empty() && letter(name[0]);
  for (const char c : name) identifier = identifier && (letter(c) || (c >= '0' && c <= '9'));
  if (!identifier || !file.ends_with(".py") || file.size() == 3)
    refuse(node, fmt::format("found {}; wanted is a file and a class, such as my_backend.py:MyAttention", found_text(node)));
  spec.python = in_folder(node, folder, std::string(file)) + ":" + std::string(name);
}

BackendSpec read_backend(const Node& node, const std::string& folder) {
  BackendSpec spec;
  spec.place = node.place;
  if (node.kind == NodeKind::scalar) {
    spec.name = read_name(node, false);
    return spec;
  }
  const MapReader map(node, "a backend (a built-in name or a map)", {"name", "plugin", "python", "interpreter", "options", "build"});
  spec.name = read_name(map.required("name"), false);
  const Node *plugin = map.optional("plugin"), *python = map.optional("python"), *interpreter = map.optional("interpreter"), *build = map.optional("build");
  if (plugin && python) refuse(*python, "plugin is set too; a backend is either");
  if (plugin) read_plugin(*plugin, folder, spec);
  if (python) read_python(*python, folder, spec);
  if (interpreter) {
    if (!python) refuse(*interpreter, "is of Python backends; it needs python: file.py:Class");
    // A bare command is looked up on PATH; what stands beside the suite must not become one.
    const std::string place = in_folder(*interpreter, folder, read_text(*interpreter));
    spec.interpreter = interpreter->text.find('/') == std::string::npos ? interpreter->text : std::filesystem::absolute(place).string();
  }
  if (build) {
    if (!plugin && !python) refuse(*build, "is of backends that you build; it needs plugin or python");
    spec.build = read_text(*build);
  }
  if (const Node* options = map.optional("options")) {
    if (options->kind != NodeKind::map) refuse(*options, fmt::format("found {}; wanted is a map of words to values", found_text(*options)));
    for (const NodeEntry& option : options->entries) spec.options[option.key] = read_text(option.value);
  }
  return spec;
}

}  // namespace

std::vector<BackendSpec> read_backends(const Node& node, const std::string& folder) {
  if (read_list(node).empty()) refuse(node, "found an empty list; a suite needs a backend");
  std::vector<BackendSpec> backends;
  for (const Node& item : node.items) {
    BackendSpec spec = read_backend(item, folder);
    for (const BackendSpec& other : backends)
      if (other.name == spec.name) throw Error(spec.place, fmt::format("the backend {} stands here and at {}", spec.name, to_string(other.place)));
    backends.push_back(std::move(spec));
  }
  return backends;
}

}  // namespace attn
