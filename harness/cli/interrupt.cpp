#include "cli/interrupt.hpp"

#include <csignal>

namespace attn {
namespace {

// A signal handler can reach nothing but statics.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void note(int) { interrupted = true; }

}  // namespace

const std::atomic<bool>& watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return interrupted;
}

}  // namespace attn
