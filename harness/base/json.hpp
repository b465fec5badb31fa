#pragma once
// Structs to JSON and back by the one list of their fields.
//
//   struct Block {
//     double device_ns = 0;
//     std::optional<double> span_ns;
//     static void fields(auto& self, auto&& visit) { visit("device_ns", self.device_ns); visit("span_ns", self.span_ns); }
//   };
//
// `self` is the struct, const or not; the same list serves JSON, SQL and the golden diff. Understood field types: bool, integers, double, std::string,
// enumerations with Words, structs with fields, and std::optional, std::vector, std::map<std::string, T> of these. Absent or null = the default value.
// A number that is not finite is written as null.

#include <cmath>
#include <concepts>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "base/words.hpp"

namespace attn {

using Json = nlohmann::ordered_json;

namespace detail {
struct AnyVisitor {
  void operator()(const char*, auto&) const {}
};
}  // namespace detail

template <class T>
concept HasFields = requires(T& value) { T::fields(value, detail::AnyVisitor{}); };

template <class T>
Json to_json(const T& value);
template <class T>
void from_json(const Json& json, T& value, const std::string& where);

namespace detail {
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};
}  // namespace detail

template <class T>
Json to_json(const T& value) {
  if constexpr (HasFields<T>) {
    Json json = Json::object();
    T::fields(value, [&](const char* name, const auto& field) { json[name] = to_json(field); });
    return json;
  } else if constexpr (HasWords<T>) {
    return std::string(word(value));
  } else if constexpr (detail::IsOptional<T>::value) {
    return value ? to_json(*value) : Json(nullptr);
  } else if constexpr (detail::IsVector<T>::value) {
    Json json = Json::array();
    for (const auto& each : value) json.push_back(to_json(each));
    return json;
  } else if constexpr (detail::IsMap<T>::value) {
    Json json = Json::object();
    for (const auto& [key, each] : value) json[key] = to_json(each);
    return json;
  } else if constexpr (std::floating_point<T>) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  } else {
    return Json(value);
  }
}

// Throws Error (what was found, `where` in the document) when a value has another type or an unknown word. Unknown keys are ignored: a newer writer may add some.
template <class T>
void from_json(const Json& json, T& value, const std::string& where) {
  const auto expect = [&](bool right, const char* what) {
    if (!right) throw Error(fmt::format("{}: found {}, expected {}", where, json.type_name(), what));
  };
  if constexpr (HasFields<T>) {
    expect(json.is_object(), "an object");
    T::fields(value, [&](const char* name, auto& field) {
      if (const auto it = json.find(name); it != json.end() && !it->is_null()) from_json(*it, field, where + "." + name);
    });
  } else if constexpr (HasWords<T>) {
    expect(json.is_string(), "a word");
    const auto found = from_word<T>(json.template get_ref<const std::string&>());
    if (!found) throw Error(fmt::format("{}: found \"{}\", expected one of: {}", where, json.template get_ref<const std::string&>(), all_words<T>()));
    value = *found;
  } else if constexpr (detail::IsOptional<T>::value) {
    from_json(json, value.emplace(), where);
  } else if constexpr (detail::IsVector<T>::value) {
    expect(json.is_array(), "a list");
    value.clear();
    for (const Json& each : json) {
      const std::string place = where + "[" + std::to_string(value.size()) + "]";
      from_json(each, value.emplace_back(), place);
    }
  } else if constexpr (detail::IsMap<T>::value) {
    expect(json.is_object(), "an object");
    value.clear();
    for (const auto& [key, each] : json.items()) from_json(each, value[key], where + "." + key);
  } else if constexpr (std::same_as<T, bool>) {
    expect(json.is_boolean(), "true or false");
    value = json.template get<bool>();
  } else if constexpr (std::integral<T>) {
    expect(json.is_number_integer(), "a whole number");
    value = json.template get<T>();
  } else if constexpr (std::floating_point<T>) {
    expect(json.is_number(), "a number");
    value = json.template get<T>();
  } else {
    expect(json.is_string(), "text");
    value = json.template get<std::string>();
  }
}

// One line of text without a newline; bytes that are not UTF-8 become U+FFFD.
inline std::string dump_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Throws Error with `where` when the text is not one JSON document.
inline Json parse_json(std::string_view text, const std::string& where) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw Error(fmt::format("{}: not JSON: {}", where, error.what()));
  }
}

}  // namespace attn
