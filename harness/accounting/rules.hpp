#pragma once
// What a record's name says: ordered rules that give each record a class and each call a kernel path. Rules are data (rules.yaml), users may add some.

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "core/activity.hpp"
#include "core/operation_class.hpp"

namespace attn {

// A regular expression (ECMAScript), searched. Alternatives without special characters, which most are, are plain searches: many times faster.
class NamePattern {
 public:
  // Throws std::regex_error.
  explicit NamePattern(const std::string& expression);
  bool found_in(const std::string& name) const;

 private:
  std::vector<std::string> words_;
  std::vector<std::regex> expressions_;
};

// The first rule whose expression is found in the readable name gives the class.
struct ClassRule {
  OperationClass operation_class;
  NamePattern name;
};

// Holds for a call when every listed class occurs among its kernels and every pattern is found in the names of at least `count` of its records.
struct PathRule {
  struct Name {
    NamePattern name;
    std::int64_t count = 1;
    std::optional<ActivityClass> before;  // count only what runs before the first kernel of this class
  };
  KernelPath path = KernelPath::unknown;
  std::vector<ActivityClass> classes;
  std::vector<Name> names;
};

// The first rule whose expression is found in the name of a call of the CUDA runtime or driver says what it does; none fits: nothing of interest.
struct CallRule {
  std::vector<CallEffect> effects;
  NamePattern name;
};

struct Rules {
  std::vector<ClassRule> classes;
  std::vector<CallRule> calls;
  std::vector<PathRule> paths;
};

// The shipped rules, built in.
const Rules& default_rules();
// Rules from YAML text; `file` names it in errors. Throws Error with file:line:column.
Rules parse_rules(std::string_view text, const std::string& file);
// The user's rules from a file before the shipped ones: the first fit wins. Throws Error.
Rules load_rules(const std::string& path);

// `readable` is readable_name(raw): names are compared in full, not normalised. Memcpys are `copy`, memsets `fill`.
OperationClass classify(const Rules& rules, ActivityKind kind, const std::string& readable);

// Empty when no rule fits. `name` is the call's: "cudaLaunchKernel".
std::vector<CallEffect> call_effects(const Rules& rules, const std::string& name);

// The path of one call: the first rule that holds; `none` when nothing that could be attention ran (no attention, gemm or softmax, and no kernel whose
// work is unknown), else `unknown`. Names are readable_name(raw), in the order of the call.
struct NamedRecord {
  ActivityKind kind = ActivityKind::kernel;
  ActivityClass activity_class = ActivityClass::other;
  std::string_view readable;
};
KernelPath kernel_path(const Rules& rules, const std::vector<NamedRecord>& call);

}  // namespace attn
