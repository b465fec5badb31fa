#include "core/size_family.hpp"

#include <numeric>

namespace attn {
namespace {

// The size that leads, and the one that follows it, if any.
struct Sizes {
  std::int64_t Case::*lead;
  std::int64_t Case::*follows = nullptr;
};

Sizes sizes_of(SizeAxis axis) {
  switch (axis) {
    case SizeAxis::batch: return {&Case::batch};
    case SizeAxis::heads: return {&Case::heads, &Case::heads_kv};
    case SizeAxis::seq: return {&Case::seq_q, &Case::seq_kv};
    case SizeAxis::seq_q: return {&Case::seq_q};
    case SizeAxis::seq_kv: return {&Case::seq_kv};
    case SizeAxis::head_dim: return {&Case::head_dim, &Case::head_dim_v};
  }
  return {&Case::batch};
}

}  // namespace

std::int64_t size_of(const Case& value, SizeAxis axis) { return value.*sizes_of(axis).lead; }

std::string size_family(const Case& value, SizeAxis axis) {
  const auto [lead, follows] = sizes_of(axis);
  Case family = value;
  family.*lead = 1;
  if (follows) {
    // What is left is their proportion in lowest terms.
    const std::int64_t common = std::gcd(value.*lead, value.*follows);
    family.*lead = value.*lead / common;
    family.*follows = value.*follows / common;
  }
  return case_id(family);
}

const SuiteCase* smaller_case(const Case& value, SizeAxis axis, const std::vector<SuiteCase>& cases) {
  const std::string family = size_family(value, axis);
  const SuiteCase* found = nullptr;
  for (const SuiteCase& each : cases) {
    const std::int64_t size = size_of(each.value, axis);
    if (size <= size_of(value, axis) / kSizesApart && (!found || size > size_of(found->value, axis)) && size_family(each.value, axis) == family) found = &each;
  }
  return found;
}

const std::vector<std::vector<std::int64_t Case::*>>& sweep_directions() {
  static const std::vector<std::vector<std::int64_t Case::*>> all{
      {&Case::seq_q, &Case::seq_kv}, {&Case::seq_q},    {&Case::seq_kv},
      {&Case::heads, &Case::heads_kv}, {&Case::heads},  {&Case::heads_kv},
      {&Case::head_dim, &Case::head_dim_v}, {&Case::head_dim}, {&Case::head_dim_v},
      {&Case::batch},                {&Case::page_size}};
  return all;
}

std::string moved_case_id(Case value, const std::vector<std::int64_t Case::*>& sizes, std::int64_t by) {
  for (const auto size : sizes) value.*size += by;
  return case_id(value);
}

}  // namespace attn
