#pragma once
// Two sides of one run: what each runs with, in which order they take turns, how their records differ, how the first one is judged.

#include <array>
#include <string>

#include "judge/judge.hpp"
#include "run/run.hpp"

namespace attn {

// The options with which one side's workers are found and started.
RunOptions side_options(const RunOptions& options, const SideSettings& side);

// What the variables that any side sets are on this side: its own, else this process's; those that are unset here are left out.
Variables side_variables(const std::vector<SideSettings>& sides, const SideSettings& side);

// Who is measured first in a block. They take turns (a b, b a, a b, ...): whatever rises or falls steadily meanwhile weighs as much on one as on the other.
std::array<Side, 2> turns(std::size_t block);

// "backend libold.so 12ab -> libnew.so 34cd, FLAG unset -> 1"; empty when both records say the same. Two names of one file in one folder are the same place.
// `loaded`: the backend came up on both sides; where it did not, what only one of them loaded is left out.
std::string side_difference(const Environment& a, const Environment& b, bool loaded = true);

// Throws Error when what is compared would not be measured on the same device.
void check_same_device(const Environment& a, const Environment& b);

// Side a is held against nothing: it is right or not, and is what `expect:` says or not. Its times are for b to be held against.
Verdict judge_alone(JudgeInput input);

}  // namespace attn
