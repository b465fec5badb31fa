#pragma once
// SIGINT and SIGTERM as a flag that the run looks at.

#include <atomic>

namespace attn {

// Set by the first SIGINT or SIGTERM from now on; a second one ends the process at once.
const std::atomic<bool>& watch_interrupts();

}  // namespace attn
