#include "store/raw_calls.hpp"

#include <map>

#include "base/json.hpp"
#include "sqlite/database.hpp"

namespace attn {

std::string print_raw_calls(const std::vector<CallActivities>& calls) {
  std::map<std::string, std::size_t> places;
  Json names = Json::array(), lists = Json::array();
  for (const CallActivities& call : calls) {
    Json& list = lists.emplace_back(Json::array());
    for (const Activity& activity : call) {
      const auto [place, fresh] = places.emplace(activity.name, places.size());
      if (fresh) names.push_back(activity.name);
      list.push_back(Json::array({static_cast<int>(activity.kind), place->second, to_json(activity.bytes), activity.start_ns, activity.end_ns}));
    }
  }
  return dump_line(Json{{"names", std::move(names)}, {"calls", std::move(lists)}});
}

std::vector<CallActivities> parse_raw_calls(const std::string& text, const std::string& where) {
  const Json json = parse_json(text, where);
  std::vector<CallActivities> calls;
  try {
    const auto names = json.at("names").get<std::vector<std::string>>();
    for (const Json& list : json.at("calls")) {
      CallActivities& call = calls.emplace_back();
      for (const Json& each : list) {
        const auto kind = each.at(0).get<std::size_t>();
        if (kind >= Words<ActivityKind>::list.size()) throw Error(fmt::format("{}: an activity of kind {}; the file is damaged: {}", where, kind, kMendOfDamage));
        Activity& activity = call.emplace_back();
        activity.kind = static_cast<ActivityKind>(kind);
        activity.name = names.at(each.at(1).get<std::size_t>());
        if (!each.at(2).is_null()) activity.bytes = each.at(2).get<std::int64_t>();
        activity.start_ns = each.at(3).get<std::int64_t>();
        activity.end_ns = each.at(4).get<std::int64_t>();
      }
    }
  } catch (const Json::exception& error) {
    throw Error(fmt::format("{}: {}; the file is damaged: {}", where, error.what(), kMendOfDamage));
  } catch (const std::out_of_range& error) {
    throw Error(fmt::format("{}: {}; the file is damaged: {}", where, error.what(), kMendOfDamage));
  }
  return calls;
}

}  // namespace attn
