// The reading half of store/history.hpp.
#include <map>

#include "store/history.hpp"
#include "store/raw_calls.hpp"
#include "store/table.hpp"

namespace attn {
namespace {

std::string text_of(const StoredRow& row, const char* column) {
  std::string text;
  from_cell(row.at(column), text, column);
  return text;
}

template <class T>
T value_of(const StoredRow& row, const char* column) {
  T value{};
  from_cell(row.at(column), value, column);
  return value;
}

template <class T>
void read_json(const StoredRow& row, const char* column, T& into) {
  if (const std::string text = text_of(row, column); !text.empty()) from_json(parse_json(text, column), into, column);
}

// An id of another kind, of a foreign trace for example, is kept as the case's name.
Case case_of(const std::string& id) {
  try {
    return parse_case_id(id);
  } catch (const Error&) {
    Case value;
    value.name = id;
    return value;
  }
}

Trial trial_of(const StoredRow& row) {
  Trial trial;
  trial.index = value_of<std::int64_t>(row, "trial");
  trial.side = value_of<std::optional<Side>>(row, "side");
  trial.suite = text_of(row, "suite");
  trial.id = text_of(row, "case_id");
  trial.value = case_of(trial.id);
  read_json(row, "tags", trial.tags);
  trial.place = {text_of(row, "place_file"), value_of<int>(row, "place_line"), value_of<int>(row, "place_column")};
  trial.backend.name = text_of(row, "backend");
  if (const std::string text = text_of(row, "backend_spec"); !text.empty()) {
    const Json spec = parse_json(text, "backend_spec");
    const auto read = [&](const char* name, auto& into) {
      if (spec.contains(name)) from_json(spec[name], into, fmt::format("backend_spec.{}", name));
    };
    read("plugin", trial.backend.plugin);
    read("plugin_name", trial.backend.plugin_name);
    read("python", trial.backend.python);
    read("interpreter", trial.backend.interpreter);
    read("options", trial.backend.options);
  }
  return trial;
}

// The rows of `table` for all measurements of a run, by measurement.
std::map<std::int64_t, std::vector<StoredRow>> children(Database& database, const std::string& table, const std::string& order, const std::string& run_id) {
  std::map<std::int64_t, std::vector<StoredRow>> result;
  const std::string sql = fmt::format(
      "SELECT c.* FROM {} c JOIN measurements m ON m.id = c.measurement_id WHERE m.run_id = ?1 ORDER BY c.measurement_id, {}", table, order);
  for (StoredRow& row : select(database, sql, {run_id})) result[value_of<std::int64_t>(row, "measurement_id")].push_back(std::move(row));
  return result;
}

Verdict verdict_of(const StoredRow& row, const std::vector<StoredRow>& findings) {
  Verdict verdict;
  if (std::holds_alternative<std::nullptr_t>(row.at("verdict"))) {
    verdict.outcome = Outcome::undecided;
    verdict.reason = "not judged: the run did not get that far";
    return verdict;
  }
  from_cell(row.at("verdict"), verdict.outcome, "verdict");
  verdict.reason = text_of(row, "verdict_reason");
  read_json(row, "not_judged", verdict.not_judged);
  for (const StoredRow& finding : findings) read_columns(finding, verdict.findings.emplace_back());
  return verdict;
}

std::optional<Comparison> comparison_of(const StoredRow& run) {
  if (std::holds_alternative<std::nullptr_t>(run.at("comparison"))) return std::nullopt;
  Comparison comparison;
  read_json(run, "comparison", comparison);
  return comparison;
}

}  // namespace

std::optional<std::string> History::latest_run_id(const std::string& suite) {
  const auto rows = select(database_,
                           "SELECT run_id FROM runs r WHERE comparison IS NULL AND EXISTS (SELECT 1 FROM measurements m WHERE m.run_id = r.run_id AND (?1 IS NULL OR m.suite = ?1)) "
                           "ORDER BY started_at DESC, rowid DESC LIMIT 1",
                           {to_cell(suite)});
  if (rows.empty()) return std::nullopt;
  return text_of(rows[0], "run_id");
}

RunResult History::load(const std::string& run_id) {
  ReadTransaction snapshot(database_);
  const auto runs = select(database_, "SELECT * FROM runs WHERE run_id = ?1", {run_id});
  if (runs.empty()) throw Error(fmt::format("{}: there is no run \"{}\"; `attn-regress history` lists them", file_.string(), run_id));
  RunResult run;
  run.run_id = run_id;
  run.started_at = text_of(runs[0], "started_at");
  run.finished_at = text_of(runs[0], "finished_at");
  run.commit_id = text_of(runs[0], "commit_id");
  read_json(runs[0], "command", run.command);
  run.comparison = comparison_of(runs[0]);
  read_json(runs[0], "warnings", run.warnings);
  // A run that was killed has no code of its own.
  const auto exit = value_of<std::optional<int>>(runs[0], "exit_code");
  run.exit = exit ? static_cast<ExitCode>(*exit) : ExitCode::interrupted;
  if (!exit) run.warnings.push_back("the run did not finish, or not yet");

  auto blocks = children(database_, "blocks", "c.ordinal", run_id);
  auto kernels = children(database_, "kernels", "c.id", run_id);
  auto calls = children(database_, "raw_calls", "c.measurement_id", run_id);
  auto findings = children(database_, "findings", "c.ordinal", run_id);
  std::map<std::int64_t, std::size_t> environments;  // id to index
  const auto environment_index = [&](std::int64_t id) {
    const auto [place, fresh] = environments.emplace(id, run.environments.size());
    if (fresh) {
      Environment& environment = run.environments.emplace_back();
      const auto rows = select(database_, "SELECT content FROM environments WHERE id = ?1", {id});
      if (id && rows.empty()) throw Error(fmt::format("{}: no environment {}; the file is damaged: {}", file_.string(), id, kMendOfDamage));
      if (id) read_json(rows.front(), "content", environment);
    }
    return place->second;
  };
  for (const StoredRow& stored : select(database_, "SELECT * FROM measurements WHERE run_id = ?1 ORDER BY trial, id", {run_id})) {
    const auto id = value_of<std::int64_t>(stored, "id");
    Row& row = run.rows.emplace_back();
    row.trial = trial_of(stored);
    Measurement& measurement = row.measurement;
    read_columns(stored, measurement);
    for (const StoredRow& kernel : kernels[id]) read_columns(kernel, measurement.kernels.emplace_back());
    for (const StoredRow& block : blocks[id]) read_columns(block, measurement.blocks.emplace_back());
    for (const StoredRow& call : calls[id]) measurement.calls = parse_raw_calls(text_of(call, "content"), file_.string() + ": raw_calls");
    row.verdict = verdict_of(stored, findings[id]);
    row.environment = environment_index(value_of<std::int64_t>(stored, "environment_id"));
    row.baseline_commit = text_of(stored, "baseline_commit");
    row.baseline_device_ns = value_of<std::optional<double>>(stored, "baseline_device_ns");
    row.reproduce = text_of(stored, "reproduce");
  }
  return run;
}

std::vector<RunSummary> History::runs(const RunFilter& filter) {
  ReadTransaction snapshot(database_);
  const auto rows = select(database_,
                           "SELECT * FROM runs r WHERE (?1 IS NULL OR EXISTS (SELECT 1 FROM measurements m WHERE m.run_id = r.run_id AND m.suite = ?1)) "
                           "AND (?2 IS NULL OR substr(commit_id, 1, length(?2)) = ?2) AND (?3 IS NULL OR started_at >= ?3) "
                           "ORDER BY started_at DESC, rowid DESC LIMIT ?4",
                           {to_cell(filter.suite), to_cell(filter.commit), to_cell(filter.since), filter.limit > 0 ? filter.limit : std::int64_t{-1}});
  std::vector<RunSummary> summaries;
  for (const StoredRow& row : rows) {
    RunSummary& summary = summaries.emplace_back();
    summary.run_id = text_of(row, "run_id");
    summary.started_at = text_of(row, "started_at");
    summary.finished_at = value_of<std::optional<std::string>>(row, "finished_at");
    summary.exit = value_of<std::optional<int>>(row, "exit_code");
    summary.commit_id = text_of(row, "commit_id");
    read_json(row, "command", summary.command);
    summary.comparison = comparison_of(row);
    const auto words = [&](const char* column, std::vector<std::string>& into) {
      const std::string sql = fmt::format("SELECT DISTINCT {0} FROM measurements WHERE run_id = ?1 AND {0} IS NOT NULL ORDER BY 1", column);
      for (const StoredRow& word : select(database_, sql, {summary.run_id})) into.push_back(text_of(word, column));
    };
    words("suite", summary.suites);
    words("platform", summary.platforms);
    for (const StoredRow& count :
         select(database_, "SELECT verdict, count(*) AS number FROM measurements WHERE run_id = ?1 AND NOT control AND side IS NOT 'a' GROUP BY verdict", {summary.run_id})) {
      const auto number = value_of<std::int64_t>(count, "number");
      summary.measurements += number;
      if (const auto outcome = value_of<std::optional<Outcome>>(count, "verdict")) summary.verdicts[*outcome] = number;
      else summary.unjudged = number;
    }
  }
  return summaries;
}

}  // namespace attn
