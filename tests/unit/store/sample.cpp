#include "sample.hpp"

#include <stdlib.h>

#include <fstream>
#include <sstream>

#include "base/error.hpp"

namespace attn::test {

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "attn-store-XXXXXX").string();
  if (!mkdtemp(name.data())) throw Error("no temporary folder");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Environment sample_environment(const std::string& platform) {
  Environment e;
  e.device_name = "Sample CPU";
  e.arch = "cpu.x86_64";
  e.platform = platform;
  e.threads = 2;
  e.memory_bytes = 1 << 30;
  e.cache_bytes = 1 << 20;
  e.operating_system = "Linux";
  e.engine = "0.1.0";
  e.libraries["blas"] = {"0.3.21", "/usr/lib/libblas.so"};
  e.switches["OMP_NUM_THREADS"] = "2";
  return e;
}

Row sample_row(std::int64_t index, std::int64_t kernels) {
  Row row;
  row.trial.index = index;
  row.trial.suite = "llama";
  row.trial.value.name = "case-" + std::to_string(index);
  row.trial.value.heads = row.trial.value.heads_kv = 4;
  row.trial.id = case_id(row.trial.value);
  row.trial.tags = {"small"};
  row.trial.backend.name = "naive";
  row.trial.backend.plugin = "./libmine.so";
  row.trial.backend.options["tile"] = "64";
  row.trial.place = {"suites/llama.yaml", 7, 5};

  Measurement& m = row.measurement;
  m.suite = "llama";
  m.case_id = row.trial.id;
  m.backend = "naive";
  m.arch = "cpu.x86_64";
  m.platform = "cpu.sample.2t";
  m.status = Status::wrong;
  m.reason = "row 3 differs; | ` \x1b[31m 'quoted' \xE2\x82\xAC";
  m.output = "what it printed";
  m.backend_version = "1.2";
  m.cache = Cache::warm;
  m.kernel_path = KernelPath::naive;
  m.counts.kernels = CountRange{kernels, kernels + 1};
  m.counts.copies = CountRange{0, 0};
  m.counts.memsets = CountRange{2, 2};  // copy_bytes stays unknown
  m.kernels = {{0, ActivityKind::kernel, ActivityClass::gemm, "cpu_gemm<'\"\\>", std::nullopt, {kernels, kernels + 1}, 1500.5, GemmKind::fp16},
               {1, ActivityKind::memcpy, ActivityClass::copy, "DtoD", 4096, {1, 1}, std::nullopt}};
  m.calls = {{{ActivityKind::kernel, "gemm<1>", std::nullopt, 10, 20}, {ActivityKind::memcpy, "DtoD", 4096, 20, 25}},
             {{ActivityKind::kernel, "gemm<1>", std::nullopt, 30, 41}}};
  m.blocks = {{Instrument::reported, 10, 1e6, 5000, 4000, 300, 2100, 2000, 1.01},
              {Instrument::reported, 12, 2e6, 5100, 4100, 310, std::nullopt, 2200, std::nullopt}};
  m.numerics = {0.5, 0.25, 0.125, 1.0, 0.75, 16, "equals the reference with softcap ignored"};
  m.memory = {4096, 8192, 0, "harness", 16384, "resident"};

  row.verdict.outcome = Outcome::regressed;
  row.verdict.reason = "+1 copy";
  row.verdict.findings = {{Gate::copies, "copies", Outcome::regressed, "+1 memcpy of 4096 B", std::nullopt, std::nullopt, std::nullopt, 0.0, "blas 1 -> 2", 12},
                          {Gate::latency, "device_ns", Outcome::undecided, "too noisy", 1.02, 0.98, 1.06, 1.01, "", 0},
                          {Gate::numerics, "numerics", Outcome::pass, "", std::nullopt, std::nullopt, std::nullopt, std::nullopt, "", 0}};
  row.verdict.not_judged = {"memory: unknown"};
  row.baseline_commit = "abc";
  row.baseline_device_ns = 1999.5;
  row.reproduce = "attn-regress run suites/llama.yaml --filter 'case-0'";
  return row;
}

RunResult sample_run(const std::string& run_id, const std::string& started_at, std::int64_t rows) {
  RunResult run;
  run.run_id = run_id;
  run.started_at = started_at;
  run.finished_at = started_at.substr(0, 11) + "23:59:59Z";
  run.commit_id = "c0ffee";
  run.command = {"attn-regress", "run", "suites/llama.yaml"};
  run.environments = {sample_environment()};
  for (std::int64_t i = 0; i < rows; ++i) run.rows.push_back(sample_row(i));
  run.warnings = {"the clock is not locked"};
  run.exit = ExitCode::gate_failed;
  return run;
}

Baseline sample_baseline(std::int64_t index) {
  const Row row = sample_row(index);
  Baseline b = make_baseline(row.measurement, sample_environment(), "c0ffee", "2026-01-01T00:00:00Z");
  b.switches["EMPTY_BUT_SET"] = "";
  b.accepted = "faster tiles";
  return b;
}

std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace attn::test
