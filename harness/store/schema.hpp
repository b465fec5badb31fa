#pragma once
// The tables and views of a history file, as steps that only go forward.

#include <array>
#include <cstdint>

namespace attn {

// PRAGMA application_id: "attn". Says that a file is ours; `file` and other tools show it.
inline constexpr std::int32_t kApplicationId = 0x6174746E;

// Step i brings the tables of a file from PRAGMA user_version i to i + 1. A published step is never edited: add another, an empty one where only a view changes.
extern const std::array<const char*, 5> kMigrations;

// The stable interface for people and scripts; made anew after the last step, whatever stood there before.
struct View {
  const char* name;
  const char* select;
};
extern const std::array<View, 4> kViews;

}  // namespace attn
