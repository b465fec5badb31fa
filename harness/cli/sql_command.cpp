// `attn-regress sql`: one read-only statement on the history.

#include <charconv>
#include <memory>
#include <set>

#include "base/json.hpp"
#include "cli/console.hpp"
#include "cli/database_path.hpp"
#include "cli/subcommands.hpp"
#include "report/grid.hpp"
#include "store/query.hpp"
#include "yaml/nearest.hpp"

namespace attn {
namespace {

struct SqlOptions {
  std::string statement, database;
  bool json = false, csv = false;
  ColorChoice color = ColorChoice::automatic;
};

// Null is the empty text; numbers are written with as many digits as tell them apart.
std::string text_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&cell)) {
    char buffer[32];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, *number).ptr};
  }
  return "";
}

Json json_of(const Cell& cell) {
  return std::visit([](const auto& value) { return Json(value); }, cell);
}

// A list of objects, one a row.
std::string as_json(const QueryResult& result) {
  std::set<std::string> names;
  for (const std::string& column : result.columns)
    if (!names.insert(column).second) throw Error(fmt::format("two columns are called {}: name them apart with AS for --json", quote(column)));
  Json rows = Json::array();
  for (const auto& cells : result.rows) {
    Json row = Json::object();
    for (std::size_t i = 0; i < cells.size(); ++i) row[result.columns[i]] = json_of(cells[i]);
    rows.push_back(std::move(row));
  }
  return rows.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// RFC 4180, with the line ends of this system.
std::string as_csv(const QueryResult& result) {
  const auto field = [](const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
  };
  std::string text;
  const auto line = [&](std::size_t size, auto&& cell) {
    for (std::size_t i = 0; i < size; ++i) text.append(i == 0 ? "" : ",").append(field(cell(i)));
    text += "\n";
  };
  line(result.columns.size(), [&](std::size_t i) { return result.columns[i]; });
  for (const auto& row : result.rows) line(row.size(), [&](std::size_t i) { return text_of(row[i]); });
  return text;
}

std::string as_table(const QueryResult& result, const Canvas& canvas) {
  std::vector<GridColumn> columns;
  for (std::size_t i = 0; i < result.columns.size(); ++i) {
    bool numbers = !result.rows.empty();
    for (const auto& row : result.rows) numbers = numbers && !std::holds_alternative<std::string>(row[i]);
    columns.push_back({result.columns[i], numbers, false, 0});
  }
  Grid grid(columns);
  for (const auto& row : result.rows) {
    std::vector<GridCell> cells;
    for (const Cell& cell : row) cells.push_back({text_of(cell), Tone::plain});
    grid.add(std::move(cells));
  }
  return grid.text(canvas.columns, canvas.color);
}

ExitCode ask(const SqlOptions& options) {
  const QueryResult result = query(database_path(options.database), options.statement);
  print(stdout, options.json ? as_json(result) : options.csv ? as_csv(result) : as_table(result, canvas_of(stdout, options.color)));
  return ExitCode::pass;
}

}  // namespace


Subcommand add_sql(CLI::App& program) {
  CLI::App* app = program.add_subcommand("sql", "Ask the database; read-only");
  auto options = std::make_shared<SqlOptions>();
  app->add_option("SQL", options->statement, "One SELECT; the views are v_latest, v_series, v_kernels, v_regressions")->required();
  add_database(*app, options->database);
  CLI::Option* json = app->add_flag("--json", options->json, "A list of objects instead of a table");
  app->add_flag("--csv", options->csv, "Comma-separated values instead of a table")->excludes(json);
  add_color(*app, options->color);
  return {app, [options] { return ask(*options); }};
}

}  // namespace attn
