#pragma once
// A shared library opened at run time, with the loader's own text when it cannot be.

#include <dlfcn.h>

#include <string>

#include "base/error.hpp"
#include "base/handle.hpp"

namespace attn {

class SharedLibrary {
 public:
  // Throws Error with the loader's text. Symbols stay local to the library.
  explicit SharedLibrary(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) throw Error(dlerror());
  }
  // Null when the library has no such symbol.
  template <class Function>
  Function find(const char* name) const {
    return reinterpret_cast<Function>(dlsym(handle_.get(), name));
  }

 private:
  Handle<void*, dlclose> handle_;
};

}  // namespace attn
