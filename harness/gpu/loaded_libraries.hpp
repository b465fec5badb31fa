#pragma once
// The shared libraries of this process, whoever loaded them.

#include <string>
#include <vector>

namespace attn {

// Paths as the loader knows them; the executable itself left out.
std::vector<std::string> loaded_libraries();

// The first of them whose file name begins with `name` ("libcuda.so"); empty when there is none.
std::string loaded_library(const std::string& name);

// "libcuda.so.1" of "/usr/lib/libcuda.so.1".
std::string file_name(const std::string& path);

}  // namespace attn
