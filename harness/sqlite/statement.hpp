#pragma once
// A prepared statement: values in by position, rows out by type.

#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "sqlite/database.hpp"

namespace attn {

// A column as SQLite holds it; blobs are given as text.
using SqlValue = std::variant<std::nullptr_t, std::int64_t, double, std::string>;

// Must not outlive its database. Errors as in database.hpp; wrong SQL, a wrong position and a wrong type are internal faults.
class Statement {
 public:
  // Exactly one statement.
  Statement(Database& database, const std::string& sql);

  // Positions count from 1, as in SQL's ?1. Integers, bool (0, 1), double, text, nullptr and std::optional of these.
  // A double that is not finite becomes NULL.
  template <class T>
  Statement& bind(int position, const T& value);
  // Binds all from position 1.
  template <class... T>
  Statement& bind_all(const T&... values) {
    int position = 0;
    (bind(++position, values), ...);
    return *this;
  }

  // True: a row is there. False: done.
  bool step();
  // Steps to the end, then resets: for statements without rows.
  void run();
  // Ready to run again; what was bound stays.
  void reset();

  int columns() const { return sqlite3_column_count(handle_.get()); }
  std::string name(int column) const;
  // True when it cannot write to the database.
  bool read_only() const { return sqlite3_stmt_readonly(handle_.get()) != 0; }

  // Columns count from 0. std::int64_t, bool, double (also from an integer), std::string, SqlValue, or std::optional of these when NULL may be there.
  template <class T>
  T get(int column) const;

 private:
  void bind_null(int position);
  void bind_integer(int position, std::int64_t value);
  void bind_double(int position, double value);
  void bind_text(int position, std::string_view value);
  // Throws unless the current row has the column with one of the types.
  int require(int column, const char* wanted, int type, int other_type) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  SqlValue value(int column) const;
  bool is_null(int column) const;
  void check(int code);

  std::string path_;
  Handle<sqlite3_stmt*, sqlite3_finalize> handle_;
  bool has_row_ = false;
};

namespace detail {
template <class T>
struct SqlOptional : std::false_type {};
template <class T>
struct SqlOptional<std::optional<T>> : std::true_type {
  using Value = T;
};
}  // namespace detail

template <class T>
Statement& Statement::bind(int position, const T& value) {
  if constexpr (std::same_as<T, std::nullptr_t> || std::same_as<T, std::nullopt_t>) {
    bind_null(position);
  } else if constexpr (detail::SqlOptional<T>::value) {
    if (value) bind(position, *value);
    else bind_null(position);
  } else if constexpr (std::integral<T>) {
    static_assert(sizeof(T) < 8 || std::signed_integral<T>, "SQLite's integers are signed: cast what is known to fit");
    bind_integer(position, static_cast<std::int64_t>(value));
  } else if constexpr (std::floating_point<T>) {
    bind_double(position, static_cast<double>(value));
  } else {
    bind_text(position, std::string_view(value));
  }
  return *this;
}

template <class T>
T Statement::get(int column) const {
  if constexpr (detail::SqlOptional<T>::value) {
    if (is_null(column)) return std::nullopt;
    return get<typename detail::SqlOptional<T>::Value>(column);
  } else if constexpr (std::same_as<T, std::int64_t>) {
    return integer(column);
  } else if constexpr (std::same_as<T, bool>) {
    return integer(column) != 0;
  } else if constexpr (std::same_as<T, double>) {
    return real(column);
  } else if constexpr (std::same_as<T, std::string>) {
    return text(column);
  } else {
    static_assert(std::same_as<T, SqlValue>, "std::int64_t, bool, double, std::string, SqlValue or std::optional of these");
    return value(column);
  }
}

}  // namespace attn
