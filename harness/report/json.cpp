#include "report/json.hpp"

#include <array>

#include "report/row_values.hpp"

template <> struct attn::Words<attn::ExitCode> {
  static constexpr std::array list{"pass", "gate_failed", "interrupted", "internal_error", "usage_error", "cannot_judge"};
};

namespace attn {
namespace {

constexpr const char* kSchema = "attn-regress/run";
constexpr int kVersion = 1;

Json case_json(const Case& value) {
  Json json{{"name", value.name},         {"batch", value.batch},         {"heads", value.heads},
            {"heads_kv", value.heads_kv}, {"seq_q", value.seq_q},         {"seq_kv", value.seq_kv},
            {"head_dim", value.head_dim}, {"head_dim_v", value.head_dim_v}, {"dtype", word(value.dtype)},
            {"dtype_kv", word(value.dtype_kv)}, {"layout", word(value.layout)}};
  json["strides"] = {{"q", word(value.strides.q)}, {"k", word(value.strides.k)}, {"v", word(value.strides.v)}, {"o", word(value.strides.o)}};
  json["mask"] = word(value.mask);
  if (value.mask == MaskKind::tensor) {
    const MaskTensor& mask = value.mask_tensor;
    json["mask_tensor"] = {{"pattern", word(mask.pattern)}, {"full", mask.full}, {"dtype", word(mask.dtype)}, {"fill", word(mask.fill)}};
  }
  json["alignment"] = value.alignment ? Json(word(*value.alignment)) : Json(nullptr);
  json["window_left"] = value.window_left;
  json["window_right"] = value.window_right;
  json["softcap"] = value.softcap;
  json["scale"] = resolved_scale(value);
  json["alibi"] = value.alibi ? Json(resolved_slopes(value)) : Json(nullptr);
  json["lengths_q"] = value.lengths_q;
  json["lengths_kv"] = value.lengths_kv;
  json["page_size"] = value.page_size;
  json["page_order"] = word(value.page_order);
  json["dead_rows"] = word(value.dead_rows);
  json["pass"] = word(value.pass);
  json["grad_layout"] = word(value.grad_layout);
  json["deterministic"] = value.deterministic;
  json["dropout"] = value.dropout;
  json["then"] = word(value.then);
  json["inputs"] = word(value.inputs);
  json["cache"] = word(value.cache);
  return json;
}

Json times_json(const Measurement& measurement) {
  std::int64_t calls = 0;
  for (const Block& block : measurement.blocks) calls += block.calls;
  Json json{{"instrument", measurement.blocks.empty() ? Json(nullptr) : Json(word(measurement.blocks.front().instrument))},
            {"blocks", measurement.blocks.size()}, {"calls", calls}};
  json["plan_ns"] = to_json(median_time(measurement, &Block::plan_ns));
  json["first_ns"] = to_json(median_time(measurement, &Block::first_ns));
  json["second_ns"] = to_json(median_time(measurement, &Block::second_ns));
  json["host_ns"] = to_json(median_time(measurement, &Block::host_ns));
  json["span_ns"] = to_json(median_time(measurement, &Block::span_ns));
  json["device_ns"] = to_json(median_time(measurement, &Block::device_ns));
  return json;
}

Json baseline_json(const Row& row) {
  if (row.baseline_commit.empty() && !row.baseline_device_ns) return nullptr;
  return {{"commit_id", row.baseline_commit}, {"device_ns", to_json(row.baseline_device_ns)}, {"ratio", to_json(device_ratio(row))}};
}

Json row_json(const Row& row) {
  const Measurement& m = row.measurement;
  Json json{{"suite", m.suite}, {"case_id", m.case_id}, {"backend", m.backend}, {"device", word(m.device)}, {"arch", m.arch}, {"platform", m.platform}};
  json["environment"] = row.environment;
  json["case"] = case_json(row.trial.value);
  json["tags"] = row.trial.tags;
  json["file"] = row.trial.place.file;
  json["line"] = row.trial.place.line;
  json["side"] = to_json(row.trial.side);
  json["control"] = m.control;
  json["status"] = word(m.status);
  json["reason"] = m.reason;
  json["output"] = m.output;
  json["backend_version"] = m.backend_version;
  json["cache"] = word(m.cache);
  json["kernel_path"] = to_json(m.kernel_path);
  json["counts"] = to_json(m.counts);
  json["kernels"] = to_json(m.kernels);
  json["capturable"] = to_json(m.capturable);
  json["times"] = times_json(m);
  json["blocks"] = to_json(m.blocks);
  json["numerics"] = to_json(m.numerics);
  json["memory"] = to_json(m.memory);
  json["baseline"] = baseline_json(row);
  json["verdict"] = to_json(row.verdict);
  json["reproduce"] = row.reproduce;
  return json;
}

template <class T>
void read(const Json& json, const char* name, T& value, const std::string& where) {
  if (const auto it = json.find(name); it != json.end() && !it->is_null()) from_json(*it, value, where + "." + name);
}

const Json& part(const Json& json, const char* name, Json::value_t type, const std::string& where) {
  const auto it = json.find(name);
  if (it == json.end()) throw Error(fmt::format("{}: \"{}\" is missing", where, name));
  if (it->type() != type) throw Error(fmt::format("{}.{}: found {}, expected {}", where, name, it->type_name(), Json(type).type_name()));
  return *it;
}

Row read_row(const Json& json, const std::string& where) {
  if (!json.is_object()) throw Error(fmt::format("{}: found {}, expected an object", where, json.type_name()));
  Row row;
  from_json(json, row.measurement, where);
  from_json(part(json, "verdict", Json::value_t::object, where), row.verdict, where + ".verdict");
  row.trial.suite = row.measurement.suite;
  row.trial.id = row.measurement.case_id;
  row.trial.backend.name = row.measurement.backend;
  try {
    row.trial.value = parse_case_id(row.trial.id);
  } catch (const Error& error) {
    throw Error(fmt::format("{}.case_id: {}", where, error.what()));
  }
  read(json, "side", row.trial.side, where);
  read(json, "tags", row.trial.tags, where);
  read(json, "file", row.trial.place.file, where);
  read(json, "line", row.trial.place.line, where);
  read(json, "environment", row.environment, where);
  read(json, "reproduce", row.reproduce, where);
  if (const auto it = json.find("baseline"); it != json.end() && it->is_object()) {
    read(*it, "commit_id", row.baseline_commit, where + ".baseline");
    read(*it, "device_ns", row.baseline_device_ns, where + ".baseline");
  }
  return row;
}

}  // namespace

Json run_json(const RunResult& run) {
  Json json{{"schema", kSchema}, {"version", kVersion}};
  json["run"] = {{"run_id", run.run_id}, {"started_at", run.started_at}, {"finished_at", run.finished_at}, {"commit_id", run.commit_id}};
  json["run"]["command"] = run.command;
  json["run"]["exit_code"] = static_cast<int>(run.exit);
  json["run"]["exit"] = word(run.exit);
  json["comparison"] = run.comparison ? to_json(*run.comparison) : Json(nullptr);
  json["counts"] = Json::object();
  for (const auto& [outcome, count] : outcome_counts(run)) json["counts"][std::string(word(outcome))] = count;
  json["warnings"] = run.warnings;
  json["environments"] = to_json(run.environments);
  json["rows"] = Json::array();
  for (const Row& row : run.rows) json["rows"].push_back(row_json(row));
  return json;
}

RunResult read_run_json(const Json& document, const std::string& where) {
  if (!document.is_object() || document.value("schema", Json()) != kSchema)
    throw Error(fmt::format("{}: not a run: \"schema\" is not \"{}\"", where, kSchema));
  if (document.value("version", Json()) != kVersion)
    throw Error(fmt::format("{}: version {} of the schema, this program reads version {}", where, document.value("version", Json()).dump(), kVersion));
  RunResult run;
  const Json& head = part(document, "run", Json::value_t::object, where);
  read(head, "run_id", run.run_id, where + ".run");
  read(head, "started_at", run.started_at, where + ".run");
  read(head, "finished_at", run.finished_at, where + ".run");
  read(head, "commit_id", run.commit_id, where + ".run");
  read(head, "command", run.command, where + ".run");
  read(head, "exit", run.exit, where + ".run");
  if (const auto it = document.find("comparison"); it != document.end() && !it->is_null()) from_json(*it, run.comparison.emplace(), where + ".comparison");
  read(document, "warnings", run.warnings, where);
  read(document, "environments", run.environments, where);
  for (const Json& row : part(document, "rows", Json::value_t::array, where)) {
    const std::string place = fmt::format("{}.rows[{}]", where, run.rows.size());
    run.rows.push_back(read_row(row, place));
    if (run.rows.back().environment >= run.environments.size())
      throw Error(fmt::format("{}.environment: {}, but there are {} environments", place, run.rows.back().environment, run.environments.size()));
  }
  return run;
}

}  // namespace attn
