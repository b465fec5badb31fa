#include "store/baseline_json.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <tuple>

#include "base/json.hpp"

namespace attn {
namespace {

// The header says these once for all rows.
constexpr const char* kHeaderFields[] = {"suite", "device", "arch", "platform"};

// --- Printing: a row's JSON with what is empty left out, numbers rounded, and ranges in their short form. ---

// Fewer digits than the noise would change every line of a promotion; 4 keep 0.05 %, well under the finest gate.
Json rounded(double value) {
  const std::string text = fmt::format("{:.4g}", value);
  std::from_chars(text.data(), text.data() + text.size(), value);
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  return value;
}

bool is_range(const Json& json) {
  const auto is_count = [&](const char* end) { return json.contains(end) && json[end].is_number_integer(); };
  return json.is_object() && json.size() == 2 && is_count("low") && is_count("high");
}

// 5, or "5..6".
Json short_range(const Json& json) {
  const CountRange range{json["low"], json["high"]};
  return range.low == range.high ? Json(range.low) : Json(to_string(range));
}

Json compact(const Json& json) {
  if (json.is_number_float()) return rounded(json.get<double>());
  if (is_range(json)) return short_range(json);
  if (!json.is_structured()) return json;
  Json result = json.is_array() ? Json::array() : Json::object();
  for (const auto& [key, each] : json.items()) {
    Json value = key == "switches" ? each : compact(each);  // a switch that is set to nothing is set
    const bool empty = value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty()) || (value.is_structured() && value.empty());
    if (empty) continue;
    if (json.is_array()) result.push_back(std::move(value));
    else result[key] = std::move(value);
  }
  return result;
}

// --- Parsing. ---

void expand_range(Json& json, const std::string& where) {
  CountRange range;
  if (json.is_number_integer()) {
    range.low = range.high = json.get<std::int64_t>();
  } else {
    const std::string text = json.is_string() ? json.get<std::string>() : "";
    const std::size_t dots = text.find("..");
    const auto number = [&](std::size_t from, std::size_t to, std::int64_t& into) {
      const auto [end, error] = std::from_chars(text.data() + from, text.data() + to, into);
      return error == std::errc() && end == text.data() + to;
    };
    if (dots == std::string::npos || !number(0, dots, range.low) || !number(dots + 2, text.size(), range.high) || range.low > range.high)
      throw Error(fmt::format("{}: found {}, expected a count such as 5 or \"5..6\"", where, dump_line(json)));
  }
  json = to_json(range);
}

Baseline parse_row(Json json, const BaselineFile& file, const std::string& where) {
  if (!json.is_object()) throw Error(fmt::format("{}: found {}, expected a row in braces", where, json.type_name()));
  if (const auto counts = json.find("counts"); counts != json.end() && counts->is_object())
    for (auto& [key, each] : counts->items()) expand_range(each, where + ": counts." + key);
  if (const auto kernels = json.find("kernels"); kernels != json.end() && kernels->is_array())
    for (Json& kernel : *kernels)
      if (kernel.is_object() && kernel.contains("count")) expand_range(kernel["count"], where + ": kernels.count");
  Baseline row;
  from_json(json, row, where + ": row");
  if (row.case_id.empty() || row.backend.empty()) throw Error(where + ": a row without case_id or backend");
  row.suite = file.suite;
  row.device = file.device;
  row.arch = file.arch;
  row.platform = file.platform;
  return row;
}

// Reads text and keeps count of where it is, which nlohmann's callback does not tell.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, int* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *line_ += *at_ == '\n';
    ++at_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  int* line_;
};

Place place_of(const std::string& text, std::size_t byte, const std::string& name) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
  const auto line_start = std::find(std::make_reverse_iterator(end), text.rend(), '\n').base();
  return {name, 1 + static_cast<int>(std::count(text.begin(), end, '\n')), 1 + static_cast<int>(end - line_start)};
}

// The document and the line on which each object of its second level begins: the rows.
Json parse_with_lines(const std::string& text, const std::string& name, std::vector<int>& lines) {
  int line = 1;
  const auto note = [&](int depth, Json::parse_event_t event, const Json&) {
    if (depth == 2 && event == Json::parse_event_t::object_start) lines.push_back(line);
    return true;
  };
  try {
    return Json::parse(CountingIterator(text.data(), &line), CountingIterator(text.data() + text.size(), &line), note);
  } catch (const Json::out_of_range& error) {  // a number that no double holds
    throw Error(Place{name, line, 1}, error.what());
  } catch (const Json::parse_error& error) {
    const std::string what = error.what();
    const std::size_t cause = what.find("syntax error");
    throw Error(place_of(text, error.byte ? error.byte - 1 : 0, name), "not JSON: " + (cause == std::string::npos ? what : what.substr(cause)));
  }
}

}  // namespace

std::string print_baseline(const Baseline& row) {
  Json json = to_json(row);
  for (const char* field : kHeaderFields) json.erase(field);
  if (row.status == Status::ok) json.erase("status");
  return dump_line(compact(json));
}

std::string print_baselines(const BaselineFile& file) {
  std::vector<const Baseline*> rows;
  for (const Baseline& row : file.rows) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(),
            [](const Baseline* a, const Baseline* b) { return std::tie(a->case_id, a->backend) < std::tie(b->case_id, b->backend); });
  const Json header{{"schema", kBaselineSchema}, {"suite", file.suite},       {"device", word(file.device)},
                    {"arch", file.arch},         {"platform", file.platform}, {"environment", file.environment}};
  std::string text = dump_line(header);
  text.back() = ',';
  text += "\n\"rows\":[\n";
  for (std::size_t i = 0; i < rows.size(); ++i) text += print_baseline(*rows[i]) + (i + 1 < rows.size() ? ",\n" : "\n");
  return text + "]}\n";
}

BaselineFile parse_baselines(const std::string& text, const std::string& name) {
  std::vector<int> lines;
  const Json json = parse_with_lines(text, name, lines);
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_number_integer())
    throw Error(Place{name, 1, 1}, "no file of baselines: it does not begin with {\"schema\":...");
  if (const Json& schema = json["schema"]; schema != kBaselineSchema)
    throw Error(Place{name, 1, 1}, fmt::format("baselines of schema {}; this program knows schema {}", dump_line(schema), kBaselineSchema));
  BaselineFile file;
  const auto header = [&](const char* field, auto& into) {
    if (!json.contains(field)) throw Error(Place{name, 1, 1}, fmt::format("the header lacks \"{}\"", field));
    from_json(json[field], into, fmt::format("{}:1: {}", name, field));
  };
  header("suite", file.suite);
  header("device", file.device);
  header("arch", file.arch);
  header("platform", file.platform);
  header("environment", file.environment);
  if (!json.contains("rows") || !json["rows"].is_array()) throw Error(Place{name, 1, 1}, "the file lacks the list \"rows\"");

  std::map<std::pair<std::string, std::string>, int> seen;
  for (std::size_t i = 0; i < json["rows"].size(); ++i) {
    const int line = i < lines.size() ? lines[i] : 0;
    Baseline row = parse_row(json["rows"][i], file, fmt::format("{}:{}", name, line));
    const auto [before, fresh] = seen.emplace(std::pair(row.case_id, row.backend), line);
    if (!fresh) throw Error(Place{name, line, 1}, fmt::format("{} {} has a row already, in line {}", row.case_id, row.backend, before->second));
    file.rows.push_back(std::move(row));
  }
  return file;
}

}  // namespace attn
