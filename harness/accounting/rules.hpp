#pragma once
// What a record's name says: ordered rules that give each record a class and each call a kernel path. Rules are data (rules.yaml), users may add some.

#include <regex>
#include <string>
#include <vector>

#include "core/activity.hpp"

namespace attn {

// The first rule whose expression is found in the demangled name gives the class.
struct ClassRule {
  ActivityClass activity_class = ActivityClass::other;
  std::regex name;
};

// Holds for a call when every listed class occurs among its kernels and every expression is found in the names of at least `count` of its records.
struct PathRule {
  struct Name {
    std::regex name;
    std::int64_t count = 1;
  };
  KernelPath path = KernelPath::unknown;
  std::vector<ActivityClass> classes;
  std::vector<Name> names;
};

struct Rules {
  std::vector<ClassRule> classes;
  std::vector<PathRule> paths;
};

// The shipped rules, built in.
const Rules& default_rules();
// Rules from YAML text; `file` names it in errors. Throws Error with file:line:column.
Rules parse_rules(const std::string& text, const std::string& file);
// The user's rules from a file before the shipped ones: the first fit wins. Throws Error.
Rules load_rules(const std::string& path);

// `readable` is readable_name(raw): names are compared in full, not normalised. Memcpys are `copy`, memsets `fill`.
ActivityClass classify(const Rules& rules, ActivityKind kind, const std::string& readable);

}  // namespace attn
