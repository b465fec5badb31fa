#pragma once
// Structs to table columns and back by the one list of their fields (base/json.hpp), so that a stored field is added in its struct and in a migration alone.

#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "core/measurement.hpp"
#include "sqlite/database.hpp"
#include "store/query.hpp"

namespace attn {

// Columns by name. What is unknown, and empty text, is NULL.
using Columns = std::vector<std::pair<std::string, Cell>>;
using StoredRow = std::map<std::string, Cell>;

namespace detail {

// Calls each(name, leaf) for every column of `value`: nested structs are flattened, a range becomes NAME_low and NAME_high, lists and maps are left to tables
// of their own.
template <class T, class Each>
void each_column(const std::string& name, T& value, Each& each) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::same_as<Plain, CountRange>) {
    each(name + "_low", value.low);
    each(name + "_high", value.high);
  } else if constexpr (std::same_as<Plain, std::optional<CountRange>>) {
    std::optional<std::int64_t> low, high;
    if (value) low = value->low, high = value->high;
    each(name + "_low", low);
    each(name + "_high", high);
    if constexpr (!std::is_const_v<T>)
      if (low && high) value = CountRange{*low, *high};
  } else if constexpr (HasFields<Plain>) {
    Plain::fields(value, [&](const char* field_name, auto& field) { each_column(field_name, field, each); });
  } else if constexpr (!IsVector<Plain>::value && !IsMap<Plain>::value) {
    each(name, value);
  }
}

}  // namespace detail

template <class T>
Cell to_cell(const T& value) {
  if constexpr (detail::IsOptional<T>::value) return value ? to_cell(*value) : Cell{};
  else if constexpr (HasWords<T>) return std::string(word(value));
  else if constexpr (std::integral<T>) return static_cast<std::int64_t>(value);
  else if constexpr (std::floating_point<T>) return std::isfinite(value) ? Cell{static_cast<double>(value)} : Cell{};
  else return value.empty() ? Cell{} : Cell{std::string(value)};
}

// Leaves `value` alone when the cell is NULL. Throws Error when the cell holds something else than the column `name` should.
template <class T>
void from_cell(const Cell& cell, T& value, const std::string& name) {
  const auto expect = [&](bool right) {
    if (!right) throw Error(fmt::format("the database is damaged, column {} holds what it cannot: {}", name, kMendOfDamage));
  };
  if (std::holds_alternative<std::nullptr_t>(cell)) return;
  if constexpr (detail::IsOptional<T>::value) {
    from_cell(cell, value.emplace(), name);
  } else if constexpr (HasWords<T>) {
    const auto* text = std::get_if<std::string>(&cell);
    const auto found = text ? from_word<T>(*text) : std::nullopt;
    expect(found.has_value());
    value = *found;
  } else if constexpr (std::integral<T>) {
    expect(std::holds_alternative<std::int64_t>(cell));
    value = static_cast<T>(std::get<std::int64_t>(cell));
  } else if constexpr (std::floating_point<T>) {
    expect(!std::holds_alternative<std::string>(cell));
    value = std::holds_alternative<double>(cell) ? std::get<double>(cell) : static_cast<T>(std::get<std::int64_t>(cell));
  } else {
    expect(std::holds_alternative<std::string>(cell));
    value = std::get<std::string>(cell);
  }
}

template <class T>
void add_columns(const T& value, Columns& columns) {
  const auto each = [&](const std::string& name, const auto& leaf) { columns.emplace_back(name, to_cell(leaf)); };
  detail::each_column("", value, each);
}

// Fills every field of `value` that has a column in `row`.
template <class T>
void read_columns(const StoredRow& row, T& value) {
  const auto each = [&](const std::string& name, auto& leaf) {
    if (const auto found = row.find(name); found != row.end()) from_cell(found->second, leaf, name);
  };
  detail::each_column("", value, each);
}

}  // namespace attn
