#pragma once
// A class of operations, or one kind of it: "gemm", "gemm.fp32_simt".

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.hpp"

namespace attn {

struct OperationClass {
  ActivityClass activity_class = ActivityClass::other;
  std::optional<GemmKind> gemm_kind{};  // of a gemm alone; empty: any kind, or not known
  auto operator<=>(const OperationClass&) const = default;
};

std::string to_string(const OperationClass& operation_class);
std::optional<OperationClass> operation_class(std::string_view text);
// Every text that operation_class understands.
const std::vector<std::string_view>& operation_class_words();

}  // namespace attn
