#include "core/records.hpp"

namespace attn {
namespace {

template <class T>
bool parse_as(const std::string& kind, const Json& json, std::optional<Record>& into) {
  if (kind != T::kName) return false;
  T record;
  from_json(json, record, kind);
  into = std::move(record);
  return true;
}

}  // namespace

Record parse_record(const std::string& line) {
  const Json json = parse_json(line, "record");
  const auto kind = json.is_object() ? json.find("record") : json.end();
  if (kind == json.end() || !kind->is_string()) throw Error("a line that is no record: " + line.substr(0, 200));
  const std::string name = kind->get<std::string>();
  std::optional<Record> record;
  if (parse_as<EnvironmentRecord>(name, json, record) || parse_as<StartedRecord>(name, json, record) || parse_as<BlockRecord>(name, json, record) ||
      parse_as<MeasurementRecord>(name, json, record))
    return std::move(*record);
  throw Error(fmt::format("a record of unknown kind \"{}\"; known are environment, started, block, measurement", name));
}

}  // namespace attn
