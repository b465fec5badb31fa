#pragma once
// Whether other work slows what is measured, as far as it can be seen from outside.

#include <string>
#include <string_view>
#include <vector>

#include "core/run_result.hpp"

namespace attn {

// "the machine is busy: ..."; empty: quiet enough, or not known. Of Linux's load over the last minute, which a run that has just ended is part of.
std::string busy_machine();
// The same of /proc/loadavg's text, "2.89 3.09 3.14 3/312 4711".
std::string busy_text(std::string_view loadavg, long processors);

// "other processes computed on the GPU while 2 of 8 rows were measured"; empty: none did.
std::string busy_gpu(const std::vector<const Row*>& rows);

}  // namespace attn
