#include "accounting/names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cxxabi.h>
#include <fmt/format.h>

#include "base/handle.hpp"

namespace attn {
namespace {

constexpr std::size_t kRawLength = 4096, kReadableLength = 4096;

void free_text(char* text) { std::free(text); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_word(char c) { return is_digit(c) || is_upper(c) || is_lower(c) || c == '_'; }

// References to earlier parts of a mangled name. Each can double the text: a few hundred bytes may describe more of it than there is memory.
std::size_t back_references(std::string_view mangled) {
  std::size_t count = 0;
  for (std::size_t i = 0; i + 1 < mangled.size(); ++i)
    count += (mangled[i] == 'S' || mangled[i] == 'T') && (mangled[i + 1] == '_' || is_digit(mangled[i + 1]) || is_upper(mangled[i + 1]));
  return count;
}

// The identifiers of a mangled name that the demangler refuses or must not see: "outer::name<first second ...".
std::string salvaged(std::string_view mangled) {
  std::string name, arguments;
  bool inside = false;
  for (std::size_t i = 2; i < mangled.size();) {
    if (mangled[i] == 'I' && !name.empty()) inside = true;
    if (mangled[i] == 'L' && i + 2 < mangled.size() && is_lower(mangled[i + 1]) && is_digit(mangled[i + 2])) {  // a literal such as Li128E
      i = std::min(mangled.find('E', i), mangled.size());
      continue;
    }
    if (mangled[i] == 'S' || mangled[i] == 'T') {  // a reference such as S1a_, T0_
      std::size_t end = i + 1;
      while (end < mangled.size() && (is_digit(mangled[end]) || is_upper(mangled[end]))) ++end;
      if (end < mangled.size() && mangled[end] == '_') {
        i = end + 1;
        continue;
      }
    }
    if (!is_digit(mangled[i])) {
      ++i;
      continue;
    }
    std::size_t length = 0;
    for (; i < mangled.size() && is_digit(mangled[i]); ++i)
      length = std::min(length * 10 + static_cast<std::size_t>(mangled[i] - '0'), kRawLength);
    const std::string_view word = mangled.substr(i, length);
    i += word.size();
    if (word.empty() || is_digit(word.front())) continue;
    std::string& to = inside ? arguments : name;
    to += (to.empty() ? "" : inside ? " " : "::");
    to += word.starts_with("_GLOBAL__N") ? "(anonymous namespace)" : word;
  }
  if (name.empty()) return std::string(mangled);
  return arguments.empty() ? name : name + "<" + arguments;
}

std::string mangled_to_text(const std::string& raw) {
  if (!raw.starts_with("_Z")) return raw;
  constexpr std::size_t kMostReferences = 12;
  if (back_references(raw) > kMostReferences) return salvaged(raw);
  int status = 0;
  const Handle<char*, free_text> text(abi::__cxa_demangle(raw.c_str(), nullptr, nullptr, &status));
  return text ? std::string(text.get()) : salvaged(raw);
}

// Where the closing bracket of the one at `open` stands, or the end.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if (c == '>' && i > 0 && text[i - 1] == '-') continue;
    if (c == '>' || c == ')' || c == '}' || c == ']')
      if (--depth <= 0) return i;
  }
  return text.size();
}

struct Parts {
  std::string name;       // qualified, without template arguments
  std::string arguments;  // of the templates, as written
};

// Takes a function's name apart; what follows the name, parameters first, is dropped.
Parts parts_of(std::string_view text) {
  Parts parts;
  std::size_t start = 0;  // in parts.name, after the return type
  constexpr std::string_view kCall = "operator()", kAnonymous = "(anonymous namespace)::";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
    } else if (text.substr(i).starts_with(kCall)) {
      parts.name += kCall;
      i += kCall.size() - 1;
    } else if (text[i] == '<') {
      const std::size_t end = closing(text, i);
      parts.arguments += text.substr(i + 1, end - i - 1);
      parts.arguments += ' ';
      i = end;
    } else if (text[i] == '{') {
      i = closing(text, i);
    } else if (text[i] == '(') {
      break;
    } else {
      if (text[i] == ' ' && (!parts.arguments.empty() || text.starts_with("void "))) start = parts.name.size() + 1;
      parts.name += text[i];
    }
  }
  // A return type that is a template has left its arguments in front of the space; a plain one other than void exists only in front of a template.
  if (start == 0 && !parts.arguments.empty())
    if (const std::size_t space = parts.name.rfind(' '); space != std::string::npos) start = space + 1;
  if (start < parts.name.size()) parts.name.erase(0, start);
  return parts;
}

void erase_all(std::string& text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) text.erase(at, word.size());
}

// Kernels that do whatever their template argument says.
bool is_generic(std::string_view name) {
  const std::string_view last = name.substr(std::min(name.size(), name.rfind(':') + 1));
  for (const std::string_view whole : {"Kernel", "Kernel2", "kernel", "device_kernel", "CUDAFunctor"})
    if (last == whole) return true;
  for (const std::string_view part : {"elementwise", "reduce_kernel", "multi_tensor", "for_each", "foreach", "gpu_kernel"})
    if (last.find(part) != std::string_view::npos) return true;
  return false;
}

bool is_noise(std::string_view word) {
  constexpr auto kWords = std::to_array<std::string_view>({
      "at", "native", "c10", "std", "cutlass", "cub", "thrust", "flash", "cuda", "detail", "internal", "memory", "binary_internal", "anonymous", "namespace",
      "array", "char", "int", "unsigned", "signed", "short", "long", "float", "double", "bool", "void", "const", "true", "false", "BFloat16", "Half", "__half",
      "__nv_bfloat16", "AUnaryFunctor", "BUnaryFunctor", "BinaryFunctor", "UnaryFunctor", "gpu_kernel_impl", "gpu_kernel_impl_nocast",
      "opmath_gpu_kernel_with_scalars", "lambda", "operator", "TensorIterator", "TensorIteratorBase", "ReduceOp"});
  if (std::ranges::find(kWords, word) != kWords.end()) return true;
  if (word.starts_with("enable_")) return true;
  for (const std::string_view end : {"_t", "_traits", "Traits", "Params", "Metadata", "Calculator", "Policy", "WithCast", "WithoutCast"})
    if (word.ends_with(end)) return true;
  return false;
}

// The first identifier among template arguments that says something.
std::string telling_word(std::string_view arguments) {
  for (std::size_t i = 0; i < arguments.size();) {
    if (!is_word(arguments[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < arguments.size() && is_word(arguments[end])) ++end;
    const std::string_view word = arguments.substr(i, end - i);
    if (!is_digit(word.front()) && !is_noise(word)) return std::string(word);
    i = end;
  }
  return {};
}

std::string cut_to(std::string name, std::size_t length) {
  if (name.size() <= length) return name;
  std::uint32_t digest = 2166136261u;  // FNV-1a
  for (const char c : name) digest = (digest ^ static_cast<unsigned char>(c)) * 16777619u;
  std::size_t keep = length - 12;
  while (keep > 0 && (static_cast<unsigned char>(name[keep]) & 0xC0) == 0x80) --keep;  // not inside a character
  return fmt::format("{}...#{:08x}", name.substr(0, keep), digest);
}

// Length of the UTF-8 sequence at `at`, 0 when there is none.
std::size_t sequence_length(std::string_view text, std::size_t at, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0 || at + length > text.size()) return 0;
  code = length == 1 ? first : first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(at + i) & 0x3Fu);
  }
  constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
  return length;
}

bool acts_on_terminals(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x2069) || code == 0xFEFF;
}

}  // namespace

std::string neutral_text(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size();) {
    std::uint32_t code = 0;
    const std::size_t length = sequence_length(raw, i, code);
    if (length == 0 || acts_on_terminals(code)) text += '?';
    else text += raw.substr(i, length);
    i += std::max<std::size_t>(length, 1);
  }
  return text;
}

std::string readable_name(std::string_view raw) {
  std::string text = neutral_text(mangled_to_text(std::string(raw.substr(0, kRawLength))));
  if (text.size() > kReadableLength) text.resize(kReadableLength);
  return text;
}

std::string normalised_name(std::string_view raw) {
  const std::string text = readable_name(raw);
  Parts parts = parts_of(text);
  for (const std::string_view noise : {"at::native::", "at::", "::operator()", " const"}) {
    if (noise == "at::" && !parts.name.starts_with(noise)) continue;
    erase_all(parts.name, noise);
  }
  while (!parts.name.empty() && (parts.name.back() == ':' || parts.name.back() == ' ')) parts.name.pop_back();
  if (parts.name.empty()) return cut_to(text.empty() ? "(no name)" : text, kNameLength);
  if (is_generic(parts.name)) {
    std::string word = telling_word(parts.arguments);
    if (text.find("LoadWithCast") != std::string::npos) word += word.empty() ? "cast" : ", cast";
    if (!word.empty()) parts.name += "<" + word + ">";
  }
  return cut_to(std::move(parts.name), kNameLength);
}

}  // namespace attn
