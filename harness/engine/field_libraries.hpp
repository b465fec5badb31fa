#pragma once
// Which libraries of the field this process has loaded, whoever brought them.

#include <map>
#include <string>

#include "core/environment.hpp"

namespace attn {

// "cublasLt" -> {"13.1.0.3", "/usr/lib/.../libcublasLt.so.13.1.0.3"}: CUDA's, cuDNN's and BLAS libraries by name; the version is what the file's real name ends with.
std::map<std::string, LibraryVersion> field_libraries();

}  // namespace attn
