#include "suite/plan.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "base/pattern.hpp"
#include "yaml/nearest.hpp"

namespace attn {
namespace {

constexpr std::int64_t kMostShards = 10'000;

// Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators": the same numbers on every machine, which std::shuffle does not promise.
std::uint64_t splitmix(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// FNV-1a, then one round of mixing: FNV's low bits alone part short ids unevenly.
std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325ull;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return splitmix(h);
}

class Filter {
 public:
  explicit Filter(const std::vector<std::string>& expressions) {
    for (const std::string& expression : expressions) {
      const bool negates = expression.starts_with('-');
      if (expression.size() == static_cast<std::size_t>(negates)) throw Error("--filter: found no expression; an empty one would be found everywhere");
      try {
        (negates ? none_ : any_).emplace_back(expression.substr(negates));
      } catch (const Error& error) {
        throw Error(fmt::format("--filter: {} {}", quote(expression), error.what()));
      }
    }
  }

  bool takes(const SuiteCase& each, const std::string& id) const {
    const auto found = [&](const Pattern& pattern) {
      return pattern.found_in(id) || pattern.found_in(each.value.name) ||
             std::any_of(each.tags.begin(), each.tags.end(), [&](const std::string& tag) { return pattern.found_in(tag); });
    };
    return (any_.empty() || std::any_of(any_.begin(), any_.end(), found)) && std::none_of(none_.begin(), none_.end(), found);
  }

 private:
  std::vector<Pattern> any_, none_;
};

void check_backends(const std::vector<Suite>& suites, const std::vector<std::string>& wanted) {
  WordList known;
  for (const Suite& suite : suites)
    for (const BackendSpec& backend : suite.backends)
      if (std::find(known.begin(), known.end(), backend.name) == known.end()) known.push_back(backend.name);
  for (const std::string& name : wanted)
    if (std::find(known.begin(), known.end(), name) == known.end()) throw Error(fmt::format("--backend: found {}; {}", quote(name), allowed_text(name, known)));
}

void check_names(const std::vector<Suite>& suites) {
  for (std::size_t i = 0; i < suites.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (suites[i].name == suites[j].name) throw Error(fmt::format("two suites are called {}: {} and {}", suites[i].name, suites[j].path, suites[i].path));
}

}  // namespace

Shard parse_shard(std::string_view text) {
  const auto slash = text.find('/');
  Shard shard;
  const auto parse = [&](std::string_view part, std::int64_t& value) {
    const auto result = std::from_chars(part.data(), part.data() + part.size(), value);
    return result.ec == std::errc{} && result.ptr == part.data() + part.size();
  };
  if (slash == std::string_view::npos || !parse(text.substr(0, slash), shard.index) || !parse(text.substr(slash + 1), shard.count) || shard.index < 1 ||
      shard.count > kMostShards || shard.index > shard.count)
    throw Error(fmt::format("--shard: found {}; wanted is K/N with K from 1 to N and N up to {}, such as 2/4", quote(text), kMostShards));
  return shard;
}

std::vector<std::vector<Trial>> plan(const std::vector<Suite>& suites, const Selection& selection) {
  check_names(suites);
  check_backends(suites, selection.backends);
  const Filter filter(selection.filters);
  std::vector<std::vector<Trial>> plans;
  std::int64_t index = 0;
  for (const Suite& suite : suites) {
    std::vector<Trial>& trials = plans.emplace_back();
    for (const SuiteCase& each : suite.cases) {
      const std::string id = case_id(each.value);
      if (!filter.takes(each, id)) continue;
      if (hash(id) % static_cast<std::uint64_t>(selection.shard.count) != static_cast<std::uint64_t>(selection.shard.index - 1)) continue;
      for (const BackendSpec& backend : suite.backends) {
        const auto& wanted = selection.backends;
        if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), backend.name) == wanted.end()) continue;
        trials.push_back({0, suite.name, each.value, id, each.tags, backend, each.place});
      }
    }
    if (selection.order_seed) {
      std::uint64_t state = *selection.order_seed ^ hash(suite.name);
      for (std::size_t i = trials.size(); i > 1; --i) std::swap(trials[i - 1], trials[splitmix(state) % i]);
    }
    for (Trial& trial : trials) trial.index = index++;
  }
  return plans;
}

}  // namespace attn
