#include "store/schema.hpp"

namespace attn {
namespace {

// Times are kept per block; `times` holds their median and extremes, written in the same transaction, because SQLite has no median and the views must answer
// quickly in any client. The raw calls lie in a table of their own: they are most of the bytes and few queries want them.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE runs (
  run_id TEXT PRIMARY KEY NOT NULL,
  started_at TEXT NOT NULL,       -- ISO 8601, UTC
  finished_at TEXT,               -- NULL: not finished, or killed
  exit_code INTEGER,
  commit_id TEXT,
  command TEXT NOT NULL,          -- JSON list
  warnings TEXT                   -- JSON list
);
CREATE INDEX runs_by_time ON runs (started_at);

CREATE TABLE environments (
  id INTEGER PRIMARY KEY,
  content TEXT NOT NULL UNIQUE,   -- JSON
  device TEXT NOT NULL,
  device_name TEXT,
  arch TEXT,
  platform TEXT
);

CREATE TABLE measurements (
  id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  trial INTEGER NOT NULL,         -- place in the plan
  environment_id INTEGER REFERENCES environments,
  suite TEXT NOT NULL,
  case_id TEXT NOT NULL,
  backend TEXT NOT NULL,
  device TEXT NOT NULL,
  arch TEXT,
  platform TEXT,
  status TEXT NOT NULL,
  reason TEXT,
  output TEXT,
  backend_version TEXT,
  cache TEXT NOT NULL,
  control INTEGER NOT NULL,
  kernel_path TEXT,
  kernels_low INTEGER, kernels_high INTEGER,
  copies_low INTEGER, copies_high INTEGER,
  copy_bytes_low INTEGER, copy_bytes_high INTEGER,
  memsets_low INTEGER, memsets_high INTEGER,
  max_abs_error REAL, mean_abs_error REAL, rel_error REAL,
  max_budget REAL, mean_budget REAL,
  rows_checked INTEGER NOT NULL,
  diagnosis TEXT,
  workspace_bytes INTEGER, peak_bytes INTEGER, growth_bytes INTEGER,
  source TEXT,                    -- of the memory numbers
  tags TEXT,                      -- JSON list
  backend_spec TEXT,              -- JSON
  place_file TEXT, place_line INTEGER, place_column INTEGER,  -- of the case in its suite file
  verdict TEXT,                   -- NULL: not judged, or not yet
  verdict_reason TEXT,
  not_judged TEXT,                -- JSON list
  baseline_commit TEXT,
  baseline_device_ns REAL,
  reproduce TEXT
);
CREATE INDEX measurements_by_key ON measurements (suite, case_id, backend, device, platform);
CREATE INDEX measurements_by_run ON measurements (run_id);
CREATE INDEX measurements_by_environment ON measurements (environment_id);

CREATE TABLE blocks (
  measurement_id INTEGER NOT NULL REFERENCES measurements ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  instrument TEXT NOT NULL,       -- of device_ns
  calls INTEGER NOT NULL,
  plan_ns REAL, first_ns REAL, second_ns REAL, host_ns REAL, span_ns REAL, device_ns REAL,
  drift REAL,
  PRIMARY KEY (measurement_id, ordinal)
) WITHOUT ROWID;

CREATE TABLE times (              -- over the blocks of a measurement
  measurement_id INTEGER NOT NULL REFERENCES measurements ON DELETE CASCADE,
  metric TEXT NOT NULL,
  instrument TEXT,
  value REAL NOT NULL,            -- median
  low REAL NOT NULL, high REAL NOT NULL,
  PRIMARY KEY (measurement_id, metric)
) WITHOUT ROWID;

CREATE TABLE kernels (            -- the multiset of one call
  id INTEGER PRIMARY KEY,
  measurement_id INTEGER NOT NULL REFERENCES measurements ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,       -- place of the first occurrence within the call
  kind TEXT NOT NULL,
  class TEXT NOT NULL,
  name TEXT,
  bytes INTEGER,
  count_low INTEGER NOT NULL, count_high INTEGER NOT NULL,
  device_ns REAL
);
CREATE INDEX kernels_by_measurement ON kernels (measurement_id);

CREATE TABLE raw_calls (
  measurement_id INTEGER PRIMARY KEY NOT NULL REFERENCES measurements ON DELETE CASCADE,
  content TEXT NOT NULL           -- JSON {"names": [...], "calls": [[[kind, name, bytes, start_ns, end_ns], ...], ...]}
);

CREATE TABLE findings (
  measurement_id INTEGER NOT NULL REFERENCES measurements ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  gate TEXT,
  metric TEXT,
  outcome TEXT NOT NULL,
  message TEXT,
  ratio REAL, low REAL, high REAL, threshold REAL,
  cause TEXT,
  line INTEGER,
  PRIMARY KEY (measurement_id, ordinal)
) WITHOUT ROWID;
)sql";

// What a GPU adds: the host's calls inside a call, and how the card was doing.
constexpr const char* kVersion2 = R"sql(
ALTER TABLE measurements ADD COLUMN launches_low INTEGER;
ALTER TABLE measurements ADD COLUMN launches_high INTEGER;
ALTER TABLE measurements ADD COLUMN synchronisations_low INTEGER;
ALTER TABLE measurements ADD COLUMN synchronisations_high INTEGER;
ALTER TABLE measurements ADD COLUMN allocations_low INTEGER;
ALTER TABLE measurements ADD COLUMN allocations_high INTEGER;
ALTER TABLE measurements ADD COLUMN frees_low INTEGER;
ALTER TABLE measurements ADD COLUMN frees_high INTEGER;
ALTER TABLE measurements ADD COLUMN capturable INTEGER;
ALTER TABLE blocks ADD COLUMN sm_clock_mhz REAL;
ALTER TABLE blocks ADD COLUMN throttle TEXT;
ALTER TABLE blocks ADD COLUMN other_processes INTEGER NOT NULL DEFAULT 0;
)sql";

// What a gemm computes with.
constexpr const char* kVersion3 = R"sql(
ALTER TABLE kernels ADD COLUMN gemm_kind TEXT;
)sql";

// Runs that compare two sides.
constexpr const char* kVersion4 = R"sql(
ALTER TABLE runs ADD COLUMN comparison TEXT;         -- JSON; NULL: compared with baselines
ALTER TABLE measurements ADD COLUMN side TEXT;       -- a or b; NULL: of a run that compares no sides
)sql";

// What opening a backend takes.
constexpr const char* kVersion5 = R"sql(
ALTER TABLE measurements ADD COLUMN prepare_peak_bytes INTEGER;
ALTER TABLE measurements ADD COLUMN prepare_source TEXT;
)sql";

}  // namespace

const std::array<const char*, 5> kMigrations{kVersion1, kVersion2, kVersion3, kVersion4, kVersion5};

// What a side of a comparison gave with its own settings is no point of a series, and no candidate for a baseline: v_latest and v_series leave it out,
// v_kernels and v_regressions say which side it was. A count that is a range shows its high end.
const std::array<View, 4> kViews{{
    {"v_latest", R"sql(
WITH newest AS (
  SELECT m.id, r.started_at,
         row_number() OVER (PARTITION BY suite, case_id, backend, device, platform ORDER BY r.started_at DESC, m.id DESC) AS age
  FROM measurements m JOIN runs r USING (run_id)
  WHERE side IS NULL
)
SELECT suite, case_id, backend, device, platform, run_id, started_at, status, reason, kernel_path,
       kernels_high AS kernels, copies_high AS copies, copy_bytes_high AS copy_bytes, memsets_high AS memsets,
       (SELECT value FROM times WHERE measurement_id = m.id AND metric = 'device_ns') AS device_ns,
       (SELECT value FROM times WHERE measurement_id = m.id AND metric = 'span_ns') AS span_ns,
       (SELECT value FROM times WHERE measurement_id = m.id AND metric = 'host_ns') AS host_ns,
       (SELECT value FROM times WHERE measurement_id = m.id AND metric = 'plan_ns') AS plan_ns,
       (SELECT value FROM times WHERE measurement_id = m.id AND metric = 'first_ns') AS first_ns,
       (SELECT value FROM times WHERE measurement_id = m.id AND metric = 'second_ns') AS second_ns,
       workspace_bytes, peak_bytes, max_abs_error, rel_error,
       (SELECT instrument FROM blocks WHERE measurement_id = m.id ORDER BY ordinal LIMIT 1) AS instrument,
       cache, verdict, verdict_reason,
       launches_high AS launches, synchronisations_high AS synchronisations, allocations_high AS allocations, frees_high AS frees, capturable,
       (SELECT avg(sm_clock_mhz) FROM blocks WHERE measurement_id = m.id) AS sm_clock_mhz,
       (SELECT max(throttle) FROM blocks WHERE measurement_id = m.id) AS throttle,
       prepare_peak_bytes
FROM newest JOIN measurements m USING (id)
WHERE age = 1
)sql"},
    // One row per metric that is known. low and high are over the blocks, or over the calls for counts.
    {"v_series", R"sql(
WITH
counted AS (SELECT id, CASE device WHEN 'cpu' THEN 'reported' ELSE 'cupti' END AS counter FROM measurements),
numbers (id, metric, unit, instrument, value, low, high) AS (
  SELECT measurement_id, metric, 'ns', instrument, +value, +low, +high FROM times  -- the + keeps counts whole numbers
  UNION ALL SELECT id, 'kernels', 'count', counter, kernels_high, kernels_low, kernels_high FROM measurements JOIN counted USING (id)
  UNION ALL SELECT id, 'copies', 'count', counter, copies_high, copies_low, copies_high FROM measurements JOIN counted USING (id)
  UNION ALL SELECT id, 'copy_bytes', 'bytes', counter, copy_bytes_high, copy_bytes_low, copy_bytes_high FROM measurements JOIN counted USING (id)
  UNION ALL SELECT id, 'memsets', 'count', counter, memsets_high, memsets_low, memsets_high FROM measurements JOIN counted USING (id)
  UNION ALL SELECT id, 'launches', 'count', counter, launches_high, launches_low, launches_high FROM measurements JOIN counted USING (id)
  UNION ALL SELECT id, 'synchronisations', 'count', counter, synchronisations_high, synchronisations_low, synchronisations_high FROM measurements JOIN counted USING (id)
  UNION ALL SELECT id, 'allocations', 'count', counter, allocations_high, allocations_low, allocations_high FROM measurements JOIN counted USING (id)
  UNION ALL SELECT id, 'frees', 'count', counter, frees_high, frees_low, frees_high FROM measurements JOIN counted USING (id)
  UNION ALL SELECT id, 'workspace_bytes', 'bytes', NULL, workspace_bytes, workspace_bytes, workspace_bytes FROM measurements
  UNION ALL SELECT id, 'peak_bytes', 'bytes', NULL, peak_bytes, peak_bytes, peak_bytes FROM measurements
  UNION ALL SELECT id, 'prepare_peak_bytes', 'bytes', NULL, prepare_peak_bytes, prepare_peak_bytes, prepare_peak_bytes FROM measurements
  UNION ALL SELECT id, 'max_abs_error', '1', NULL, max_abs_error, max_abs_error, max_abs_error FROM measurements
  UNION ALL SELECT id, 'rel_error', '1', NULL, rel_error, rel_error, rel_error FROM measurements
)
SELECT suite, case_id, backend, device, platform, metric, unit, instrument, run_id, started_at, commit_id, value, low, high
FROM numbers JOIN measurements USING (id) JOIN runs USING (run_id)
WHERE value IS NOT NULL AND side IS NULL
)sql"},
    {"v_kernels", R"sql(
SELECT m.run_id, m.suite, m.case_id, m.backend, m.device, k.ordinal, k.kind, k.class, k.name, k.bytes, k.count_high AS count, k.device_ns, k.gemm_kind, m.side
FROM kernels k JOIN measurements m ON m.id = k.measurement_id
)sql"},
    // Every finding of a verdict that is a failure, cannot be judged, or was waived. `verdict` is the row's, `outcome` the finding's own.
    {"v_regressions", R"sql(
SELECT m.suite, m.case_id, m.backend, m.device, m.platform, m.run_id, r.started_at, f.metric, f.ratio, f.low, f.high, f.threshold, f.cause, m.verdict,
       coalesce(f.message, m.verdict_reason, m.reason) AS message, f.outcome, f.gate, r.commit_id, m.baseline_commit, m.side
FROM measurements m JOIN runs r USING (run_id)
LEFT JOIN findings f ON f.measurement_id = m.id AND f.outcome NOT IN ('pass', 'improved', 'no_baseline', 'skipped', 'unsupported')
WHERE m.verdict NOT IN ('pass', 'improved', 'no_baseline', 'skipped', 'unsupported')
)sql"},
}};

}  // namespace attn
