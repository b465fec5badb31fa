#pragma once
// Every subcommand of the program: one file each, named here in the order in which the help shows them.

#include <array>

#include "cli/subcommand.hpp"

namespace attn {

AddSubcommand add_run, add_ab, add_list, add_baseline, add_history, add_sql, add_doctor, add_worker;

inline constexpr std::array<AddSubcommand*, 8> kSubcommands{add_run, add_ab, add_list, add_baseline, add_history, add_sql, add_doctor, add_worker};

}  // namespace attn
