#pragma once
// The tables and views of a history file, as steps that only go forward.

#include <array>
#include <cstdint>

namespace attn {

// PRAGMA application_id: "attn". Says that a file is ours; `file` and other tools show it.
inline constexpr std::int32_t kApplicationId = 0x6174746E;

// Step i brings a file from PRAGMA user_version i to i + 1. A published step is never edited: add another.
extern const std::array<const char*, 4> kMigrations;

}  // namespace attn
