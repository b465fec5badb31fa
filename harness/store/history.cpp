#include "store/history.hpp"

#include <algorithm>

#include "store/history_file.hpp"
#include "store/median.hpp"
#include "store/raw_calls.hpp"
#include "store/table.hpp"

namespace attn {
namespace {

// NULL for an empty list.
template <class T>
Cell list_cell(const T& values) {
  return values.empty() ? Cell{} : Cell{dump_line(to_json(values))};
}

Cell comparison_cell(const RunResult& run) { return run.comparison ? Cell{dump_line(to_json(*run.comparison))} : Cell{}; }

std::int64_t environment_id(Database& database, const Environment& environment) {
  const std::string content = dump_line(to_json(environment));
  const auto found = select(database, "SELECT id FROM environments WHERE content = ?1", {content});
  if (!found.empty()) return std::get<std::int64_t>(found[0].at("id"));
  return insert(database, "environments",
                {{"content", content},
                 {"device", to_cell(environment.device)},
                 {"device_name", to_cell(environment.device_name)},
                 {"arch", to_cell(environment.arch)},
                 {"platform", to_cell(environment.platform)}});
}

void add_trial_columns(const Trial& trial, Columns& columns) {
  const BackendSpec& backend = trial.backend;
  const Json spec{{"plugin", backend.plugin},           {"plugin_name", backend.plugin_name},  {"python", backend.python},
                  {"interpreter", backend.interpreter}, {"options", to_json(backend.options)}};
  columns.insert(columns.end(), {{"trial", trial.index},
                                 {"side", to_cell(trial.side)},
                                 {"tags", list_cell(trial.tags)},
                                 {"backend_spec", dump_line(spec)},
                                 {"place_file", to_cell(trial.place.file)},
                                 {"place_line", std::int64_t{trial.place.line}},
                                 {"place_column", std::int64_t{trial.place.column}}});
}

// The instrument of a block is that of its device_ns; a GPU's span is taken by events, and the host's clock gives the times that the host spends.
Cell instrument_of(const std::string& metric, const std::vector<Block>& blocks, bool on_cpu) {
  if (metric == "device_ns") return to_cell(blocks.front().instrument);
  return to_cell(metric == "span_ns" && !on_cpu ? Instrument::events : Instrument::clock);
}

void insert_times(Database& database, std::int64_t id, const std::vector<Block>& blocks, bool on_cpu) {
  const std::pair<const char*, std::optional<double> Block::*> metrics[] = {{"plan_ns", &Block::plan_ns},     {"first_ns", &Block::first_ns},
                                                                            {"second_ns", &Block::second_ns}, {"host_ns", &Block::host_ns},
                                                                            {"span_ns", &Block::span_ns},     {"device_ns", &Block::device_ns}};
  for (const auto& [name, metric] : metrics) {
    const std::vector<double> values = times(blocks, metric);
    if (values.empty()) continue;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    insert(database, "times",
           {{"measurement_id", id},
            {"metric", name},
            {"instrument", instrument_of(name, blocks, on_cpu)},
            {"value", *median(values)},
            {"low", *low},
            {"high", *high}});
  }
}

// The rows of other tables that belong to a measurement.
void insert_children(Database& database, std::int64_t id, const Measurement& measurement) {
  for (const KernelRow& kernel : measurement.kernels) {
    Columns columns{{"measurement_id", id}};
    add_columns(kernel, columns);
    insert(database, "kernels", columns);
  }
  if (!measurement.calls.empty()) insert(database, "raw_calls", {{"measurement_id", id}, {"content", print_raw_calls(measurement.calls)}});
  std::int64_t ordinal = 0;
  for (const Block& block : measurement.blocks) {
    Columns columns{{"measurement_id", id}, {"ordinal", ordinal++}};
    add_columns(block, columns);
    insert(database, "blocks", columns);
  }
  insert_times(database, id, measurement.blocks, measurement.device == DeviceType::cpu);
}

// Throws when there was no row to change: a caller's fault, or another process removed the run.
void update_measurement(Database& database, std::int64_t id, const Columns& columns) {
  if (!update(database, "measurements", id, columns)) throw Error(fmt::format("{}: there is no measurement {}", database.path(), id), Fault::internal);
}

}  // namespace

History::History(const std::filesystem::path& file) : file_(file), database_(open_history(file, HistoryAccess::create)) {}

History::History(const std::filesystem::path& file, Database database) : file_(file), database_(std::move(database)) {}

History History::open_existing(const std::filesystem::path& file) { return History(file, open_history(file, HistoryAccess::write)); }

void History::run_started(const RunResult& run) {
  Transaction transaction(database_);
  insert(database_, "runs",
         {{"run_id", run.run_id}, {"started_at", run.started_at}, {"commit_id", to_cell(run.commit_id)}, {"command", dump_line(to_json(run.command))},
          {"comparison", comparison_cell(run)}});
  transaction.commit();
}

MeasurementId History::add(const std::string& run_id, const Trial& trial, const Measurement& measurement, const Environment& environment) {
  Transaction transaction(database_);
  Columns columns{{"run_id", run_id}, {"environment_id", environment_id(database_, environment)}};
  add_columns(measurement, columns);
  add_trial_columns(trial, columns);
  const std::int64_t id = insert(database_, "measurements", columns);
  insert_children(database_, id, measurement);
  transaction.commit();
  return MeasurementId{id};
}

void History::replace(MeasurementId measurement_id, const Measurement& measurement) {
  const auto id = static_cast<std::int64_t>(measurement_id);
  Transaction transaction(database_);
  Columns columns;
  add_columns(measurement, columns);
  update_measurement(database_, id, columns);
  for (const char* table : {"kernels", "raw_calls", "blocks", "times"})
    Statement(database_, fmt::format("DELETE FROM {} WHERE measurement_id = ?1", table)).bind(1, id).run();
  insert_children(database_, id, measurement);
  transaction.commit();
}

void History::set_verdict(MeasurementId measurement, const Row& row) {
  const auto id = static_cast<std::int64_t>(measurement);
  Transaction transaction(database_);
  update_measurement(database_, id,
                     {{"verdict", to_cell(row.verdict.outcome)},
                      {"verdict_reason", to_cell(row.verdict.reason)},
                      {"not_judged", list_cell(row.verdict.not_judged)},
                      {"baseline_commit", to_cell(row.baseline_commit)},
                      {"baseline_device_ns", to_cell(row.baseline_device_ns)},
                      {"reproduce", to_cell(row.reproduce)}});
  Statement(database_, "DELETE FROM findings WHERE measurement_id = ?1").bind(1, id).run();
  std::int64_t ordinal = 0;
  for (const Finding& finding : row.verdict.findings) {
    Columns columns{{"measurement_id", id}, {"ordinal", ordinal++}};
    add_columns(finding, columns);
    insert(database_, "findings", columns);
  }
  transaction.commit();
}

void History::run_finished(const RunResult& run) {
  Transaction transaction(database_);
  Statement statement(database_, "UPDATE runs SET finished_at = ?2, exit_code = ?3, warnings = ?4, comparison = ?5 WHERE run_id = ?1");
  statement.bind_all(run.run_id, run.finished_at, static_cast<int>(run.exit));
  std::visit([&](const auto& value) { statement.bind(4, value); }, list_cell(run.warnings));
  std::visit([&](const auto& value) { statement.bind(5, value); }, comparison_cell(run));
  statement.run();
  if (database_.changes() == 0) throw Error(fmt::format("{}: there is no run {}", database_.path(), run.run_id), Fault::internal);
  transaction.commit();
}

}  // namespace attn
