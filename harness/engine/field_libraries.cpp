#include "engine/field_libraries.hpp"

#include <link.h>

#include <filesystem>
#include <string_view>

namespace attn {
namespace {

bool is_of_the_field(std::string_view name) {
  for (const std::string_view prefix : {"cublas", "cudnn", "cudart", "cupti", "cuda", "nvrtc", "nvJitLink", "nvidia-ml", "cusparse", "nccl", "openblas", "mkl", "torch", "c10"})
    if (name.starts_with(prefix)) return true;
  return false;
}

int note(dl_phdr_info* info, std::size_t, void* found) {
  if (!info->dlpi_name || !*info->dlpi_name) return 0;
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(info->dlpi_name, error);
  const std::string file = (error ? std::filesystem::path(info->dlpi_name) : real).filename().string();
  const std::size_t end = file.find(".so");
  if (!file.starts_with("lib") || end == std::string::npos) return 0;
  const std::string name = file.substr(3, end - 3);
  if (!is_of_the_field(name)) return 0;
  const std::string version = file.size() > end + 4 ? file.substr(end + 4) : "";
  static_cast<std::map<std::string, LibraryVersion>*>(found)->insert_or_assign(name, LibraryVersion{version, error ? info->dlpi_name : real.string()});
  return 0;
}

}  // namespace

std::map<std::string, LibraryVersion> field_libraries() {
  std::map<std::string, LibraryVersion> found;
  dl_iterate_phdr(note, &found);
  return found;
}

}  // namespace attn
