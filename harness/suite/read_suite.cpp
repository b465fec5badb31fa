#include "suite/read_suite.hpp"

#include <filesystem>

#include "suite/backends.hpp"
#include "suite/case_fields.hpp"
#include "suite/cases.hpp"
#include "suite/rules.hpp"
#include "yaml/read.hpp"

namespace attn {
namespace {

constexpr std::string_view kVersion = "1";

Suite to_suite(const Node& root, const std::string& path) {
  const MapReader map(root, "a suite", {"version", "suite", "defaults", "cases", "backends", "gates", "expect", "waive"});
  // First of all: a file of another version may be right in every other respect.
  if (const Node& version = map.required("version"); version.kind != NodeKind::scalar || version.quoted || version.text != kVersion)
    refuse(version, fmt::format("found {}; this program reads version {}", found_text(version), kVersion));
  Suite suite;
  suite.path = path;
  suite.name = read_name(map.required("suite"), false);
  const Node &cases = map.required("cases"), &backends = map.required("backends");
  suite.cases = read_cases(cases, map.optional("defaults"));
  suite.backends = read_backends(backends, std::filesystem::path(path).parent_path().string());
  if (const Node* gates = map.optional("gates")) suite.gates = read_gates(*gates, suite);
  if (const Node* expect = map.optional("expect")) suite.expectations = read_expectations(*expect, suite);
  if (const Node* waive = map.optional("waive")) suite.waivers = read_waivers(*waive, suite);
  return suite;
}

}  // namespace

Suite read_suite(const std::string& path) { return to_suite(read_yaml(path), path); }
Suite parse_suite(std::string_view text, const std::string& path) { return to_suite(parse_yaml(text, path), path); }

}  // namespace attn
