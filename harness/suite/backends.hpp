#pragma once
// `backends` of a suite file: built-in names, native plugins, Python classes.

#include <string>
#include <vector>

#include "core/suite.hpp"
#include "yaml/node.hpp"

namespace attn {

// Paths are relative to `folder`, the suite file's; one with ~ is refused. Whether a file exists is found out when it runs.
std::vector<BackendSpec> read_backends(const Node& node, const std::string& folder);

}  // namespace attn
