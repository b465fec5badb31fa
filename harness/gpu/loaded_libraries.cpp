#include "gpu/loaded_libraries.hpp"

#include <link.h>

namespace attn {

std::vector<std::string> loaded_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        if (info->dlpi_name && *info->dlpi_name) static_cast<std::vector<std::string>*>(into)->emplace_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

std::string loaded_library(const std::string& name) {
  for (const std::string& path : loaded_libraries())
    if (file_name(path).starts_with(name)) return path;
  return "";
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace attn
