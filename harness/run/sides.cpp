#include "run/sides.hpp"

#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

// A link inside a folder (python3 -> python3.11) is followed, one to elsewhere is not: that is how a virtual environment is made.
std::string place_of(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::canonical(fs::path(path).parent_path(), error);
  if (error) return path;
  const fs::path file = fs::canonical(path, error);
  return (!error && file.parent_path() == folder ? file : folder / fs::path(path).filename()).string();
}

Environment with_places(Environment environment) {
  for (auto& [name, library] : environment.libraries)
    if (!library.path.empty()) library.path = place_of(library.path);
  return environment;
}

std::string device_text(const Environment& environment) {
  return environment.device_uuid.empty() ? environment.device_name : fmt::format("{} {}", environment.device_name, environment.device_uuid);
}

}  // namespace

RunOptions side_options(const RunOptions& options, const SideSettings& side) {
  RunOptions own = options;
  own.plugins.insert(own.plugins.end(), side.plugins.begin(), side.plugins.end());
  if (!side.python.empty()) own.python = side.python;
  own.installation.variables = side.variables;
  return own;
}

Variables side_variables(const std::vector<SideSettings>& sides, const SideSettings& side) {
  Variables variables = side.variables;
  for (const SideSettings& any : sides)
    for (const auto& [name, value] : any.variables)
      if (const char* own = std::getenv(name.c_str()); own) variables.emplace(name, own);
  return variables;
}

std::array<Side, 2> turns(std::size_t block) { return block % 2 == 0 ? std::array{Side::a, Side::b} : std::array{Side::b, Side::a}; }

std::string side_difference(const Environment& a, const Environment& b, bool loaded) {
  return cause_of_change(make_baseline({}, with_places(a), "", ""), with_places(b), loaded);
}

void check_same_device(const Environment& a, const Environment& b) {
  if (a.device != b.device || a.device_uuid != b.device_uuid || a.platform != b.platform)
    throw Error(fmt::format("the sides do not measure the same device: {} ({}) on side a, {} ({}) on side b; what chooses a device belongs before the command, or into --device",
                            device_text(a), a.platform, device_text(b), b.platform));
}

Verdict judge_alone(JudgeInput input) {
  input.counts_baseline = input.times_baseline = nullptr;
  input.gates.enabled.erase(Gate::latency);
  Verdict verdict = judge(input);
  if (verdict.outcome == Outcome::no_baseline) verdict.outcome = Outcome::pass;
  verdict.not_judged.clear();  // side b says the same
  return verdict;
}

}  // namespace attn
