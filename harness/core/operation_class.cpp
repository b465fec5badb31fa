#include "core/operation_class.hpp"

#include <algorithm>
#include <utility>

namespace attn {
namespace {

std::vector<OperationClass> all_classes() {
  std::vector<OperationClass> all;
  for (std::size_t i = 0; i < Words<ActivityClass>::list.size(); ++i) {
    all.push_back({static_cast<ActivityClass>(i)});
    if (all.back().activity_class != ActivityClass::gemm) continue;
    for (std::size_t kind = 0; kind < Words<GemmKind>::list.size(); ++kind) all.push_back({ActivityClass::gemm, static_cast<GemmKind>(kind)});
  }
  return all;
}

// Each with its text, which the words below point into.
const std::vector<std::pair<std::string, OperationClass>>& named_classes() {
  static const auto named = [] {
    std::vector<std::pair<std::string, OperationClass>> classes;
    for (const OperationClass& each : all_classes()) classes.emplace_back(to_string(each), each);
    return classes;
  }();
  return named;
}

}  // namespace

std::string to_string(const OperationClass& operation_class) {
  const std::string text(word(operation_class.activity_class));
  return operation_class.gemm_kind ? text + '.' + std::string(word(*operation_class.gemm_kind)) : text;
}

std::optional<OperationClass> operation_class(std::string_view text) {
  const auto found = std::ranges::find(named_classes(), text, &std::pair<std::string, OperationClass>::first);
  return found == named_classes().end() ? std::nullopt : std::optional(found->second);
}

const std::vector<std::string_view>& operation_class_words() {
  static const std::vector<std::string_view> words = [] {
    std::vector<std::string_view> texts;
    for (const auto& [text, operation_class] : named_classes()) texts.push_back(text);
    return texts;
  }();
  return words;
}

}  // namespace attn
