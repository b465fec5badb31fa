#pragma once
// The native worker: opens the engine and one plugin, then hands over to attn_worker.

#include <string>

#include "run/installation.hpp"

namespace attn {

// Body of `attn-regress worker [--plugin FILE]`: requests on descriptor 3, records on descriptor 4. Returns the process's exit code.
// A plugin that cannot be loaded answers every request as unsupported, with the loader's text.
int worker_main(const Installation& installation, const std::string& plugin);

}  // namespace attn
