#pragma once
// Does the same call give the same bits again? What `deterministic` promises, and a dropout seed.

#include <string>

#include "engine/calls.hpp"

namespace attn {

enum class Repeated { outputs, outputs_and_gradients };

// Makes a call and repeats it `repeats` times on the same inputs. "dq differs in 9 of 10 repeats", for each tensor that does; empty when none does. Throws TrialEnd.
std::string differing_repeats(Device& device, Calls& calls, int repeats, Repeated which);

// What the case promises of repeated calls and the backend breaks: a deterministic case in ten repeats, a dropout seed in two (of its outputs: gradients may
// be summed in another order each time). Empty when nothing was promised
// or broken. Throws TrialEnd.
std::string broken_promise(Device& device, Calls& calls, const Case& value);

}  // namespace attn
