#include "plugin.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <stdexcept>

namespace attn::test {
namespace {

const attn_backend_list* open_list(const std::string& file) {
  static std::map<std::string, const attn_backend_list*> opened;
  const auto found = opened.find(file);
  if (found != opened.end()) return found->second;
  const char* const elsewhere = std::getenv("ATTN_TEST_BACKENDS");  // of a tree that was carried to another machine
  const std::string path = std::string(elsewhere ? elsewhere : ATTN_BACKEND_DIRECTORY) + "/lib" + file + ".so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const attn_backend_list* list = nullptr;
  if (library) {
    const auto backends = reinterpret_cast<attn_backends_fn>(dlsym(library, ATTN_BACKENDS_SYMBOL));
    if (!backends) throw std::runtime_error(path + " has no " ATTN_BACKENDS_SYMBOL);
    list = backends();
  }
  return opened[file] = list;
}

}  // namespace

const attn_backend* find_backend(const std::string& file, const std::string& name) {
  const attn_backend_list* list = open_list(file);
  if (!list) return nullptr;
  for (std::uint32_t i = 0; i < list->count; ++i)
    if (name == list->backends[i]->name) return list->backends[i];
  throw std::runtime_error("lib" + file + ".so has no backend " + name);
}

Listener::Listener() : ops_{sizeof(attn_ops), 0, this, nullptr, nullptr} {
  operations_.reserve(64);
  ops_.begin = [](void* self, std::int32_t kind, const char* name, std::uint64_t bytes) {
    auto& listener = *static_cast<Listener*>(self);
    listener.balanced_ &= listener.depth_++ == 0;
    listener.operations_.push_back({kind, name, bytes});
  };
  ops_.end = [](void* self) {
    auto& listener = *static_cast<Listener*>(self);
    listener.balanced_ &= --listener.depth_ == 0;
  };
}

std::vector<std::string> Listener::names(std::int32_t kind) const {
  std::vector<std::string> result;
  for (const Operation& operation : operations_)
    if (operation.kind == kind) result.push_back(operation.name);
  return result;
}

}  // namespace attn::test
