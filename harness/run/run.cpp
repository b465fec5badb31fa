#include "run/run.hpp"

#include <algorithm>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "accounting/account.hpp"
#include "base/error.hpp"
#include "run/device_lock.hpp"
#include "run/job.hpp"
#include "run/reproduce.hpp"
#include "run/requests.hpp"
#include "run/rows_beside.hpp"
#include "run/sides.hpp"
#include "run/worker_process.hpp"
#include "stats/summary.hpp"

namespace attn {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kDateLength = 10;  // of "2026-01-31T...": waivers hold until the day the run began
constexpr const char* kControls[] = {"control.bandwidth", "control.matrix"};

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string new_run_id(const std::string& started_at) {
  std::random_device random;
  std::string digits;
  for (const char c : started_at)
    if (c >= '0' && c <= '9') digits += c;
  return fmt::format("{}-{:08x}", digits, random());
}

class Run {
 public:
  Run(const std::vector<PlannedSuite>& suites, const RunOptions& options, const Rules& rules, const BaselineSource& baselines, RunObserver& observer,
      const std::atomic<bool>& interrupted)
      : options_(options), rules_(rules), baselines_(baselines), observer_(observer), interrupted_(interrupted), started_(Clock::now()) {
    if (options.sides.empty()) sides_.push_back(std::make_unique<SideRun>(options, Variables{}, interrupted));
    for (const SideSettings& side : options.sides)
      sides_.push_back(std::make_unique<SideRun>(side_options(options, side), side_variables(options.sides, side), interrupted));
    for (std::size_t i = 0; i < targets().size(); ++i) {
      const Target& target = targets()[i];
      if (target.fault.empty() && !interrupted) lock(target);
      for (const PlannedSuite& planned : suites) {
        for (const Trial& trial : planned.trials) add_rows(planned.suite, trial, i);
        if (options.gates.contains(Gate::latency) && !planned.trials.empty() && !compares()) add_controls(planned.suite, target);
      }
    }
    beside_.emplace(jobs_);
  }

  RunResult operator()(RunResult result) {
    std::vector<Trial> trials;
    for (const Job& job : jobs_) trials.push_back(job.trial);
    observer_.planned(trials);

    if (!interrupted_) measure_all();
    for (std::size_t block = 1; block < options_.most_blocks && !interrupted_ && !budget_spent(); ++block) measure_again(block);

    result.environments = environments_;
    if (result.comparison) note_differences(result);
    judge_all(result);
    result.finished_at = utc_now();
    observer_.finished(result);
    return result;
  }

 private:
  bool compares() const { return sides_.size() > 1; }
  const std::vector<Target>& targets() const { return sides_.front()->resolver.targets(); }  // the same of every side

  // Two runs on one GPU would measure each other.
  void lock(const Target& target) {
    if (target.environment.device_uuid.empty()) return;
    locks_.push_back(std::make_unique<DeviceLock>(target.environment.device_uuid, interrupted_));
  }

  // Of two sides a's comes first and b's next.
  void add_rows(const Suite& suite, const Trial& trial, std::size_t target) {
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      SideRun& side = *sides_[i];
      Trial own = trial;
      if (compares()) {
        const Target &here = side.resolver.targets()[target], &there = targets()[target];
        if (here.fault.empty() && there.fault.empty()) check_same_device(there.environment, here.environment);
        own.side = static_cast<Side>(i);
        if (const std::string& python = options_.sides[i].python; !python.empty() && !own.backend.python.empty()) own.backend.interpreter = python;
      }
      add_job(suite, std::move(own), side, side.resolver.targets()[target]);
    }
  }

  void add_job(const Suite& suite, Trial trial, SideRun& side, const Target& target) {
    Job job;
    job.suite = &suite;
    job.side = &side;
    job.target = &target;
    trial.index = static_cast<std::int64_t>(jobs_.size());
    job.backend = side.resolver.resolve(trial.backend, target.environment.device);
    job.environment = environment_of(job.backend, trial.backend.name, side, target);
    job.too_costly = too_costly(trial.value, target.environment.device, options_);
    const Environment& environment = environments_[job.environment];
    job.facts = row_facts(trial, environment);
    job.gates = gates_for(job.facts, suite.gates, options_.gates);
    job.expectations = expectations_for(job.facts, suite.expectations);
    Measurement& m = job.measurement;
    m.suite = suite.name;
    m.case_id = trial.id;
    m.backend = trial.backend.name;
    m.device = environment.device;
    m.arch = environment.arch;
    m.platform = environment.platform;
    m.cache = trial.value.cache;
    job.trial = std::move(trial);
    jobs_.push_back(std::move(job));
  }

  // Control rows show how the machine is; they are measured like all others and judge nothing.
  void add_controls(const Suite& suite, const Target& target) {
    for (const char* name : kControls) {
      Trial trial;
      trial.suite = suite.name;
      trial.value.name = "control";
      trial.id = case_id(trial.value);
      trial.backend.name = name;
      if (!sides_.front()->resolver.has_builtin(name, target.environment.device)) continue;  // a build without it goes on without a thermometer
      add_job(suite, std::move(trial), *sides_.front(), target);
      jobs_.back().measurement.control = true;
    }
  }

  // One environment per side, device and code: the device's, the plugin itself, what it brought along, and the variables that were set for it.
  std::size_t environment_of(const ResolvedBackend& backend, const std::string& key, SideRun& side, const Target& target) {
    const BackendCode& code = backend.code;
    const std::string label = code_label(backend, key);
    const auto [known, fresh] = environment_by_code_.try_emplace({&side, target.name, code, label}, environments_.size());
    if (!fresh) return known->second;
    Environment environment = target.environment;
    for (const auto& [name, value] : side.variables) environment.switches.insert_or_assign(name, value);
    if (!code.file.empty()) {
      const PluginFacts& facts = side.resolver.facts(code);
      for (const auto& [name, library] : facts.environment.libraries) environment.libraries.insert_or_assign(name, library);
      environment.libraries[kBackendLibrary] = {label + " " + facts.fingerprint, code.file};
      if (!code.interpreter.empty()) environment.libraries[kInterpreter] = {"", code.interpreter};
    }
    environments_.push_back(std::move(environment));
    return known->second;
  }

  bool budget_spent() const { return options_.budget && Clock::now() - started_ > *options_.budget; }

  Job& side_a(const Job& b) { return jobs_[static_cast<std::size_t>(&b - jobs_.data()) - 1]; }
  const Job& side_a(const Job& b) const { return jobs_[static_cast<std::size_t>(&b - jobs_.data()) - 1]; }

  void hold_against_a(Job& b) {
    const Job& a = side_a(b);
    const Status status = a.measurement.status;
    b.other_side.reset();
    if (a.measured && status != Status::cannot_measure && status != Status::skipped) b.other_side = make_baseline(a.measurement, environments_[a.environment], "", "");
  }

  // Runs the chosen jobs, all of one side, device by device and plugin by plugin, those of one plugin in one worker for as long as it lives.
  void measure(const std::vector<Job*>& chosen, bool whole) {
    std::map<std::pair<std::string, BackendCode>, std::vector<Job*>> by_worker;
    for (Job* job : chosen) by_worker[{job->target->name, job->backend.code}].push_back(job);
    for (auto& [key, jobs] : by_worker) measure_in_one(*jobs.front()->side, key.first, key.second, jobs, whole);
  }

  // Row by row, a and b by turns. `chosen` are of side b.
  void measure_pairs(const std::vector<Job*>& chosen, std::size_t block) {
    for (Job* b : chosen) {
      for (const Side side : turns(block)) measure({side == Side::b ? b : &side_a(*b)}, block == 0);
      hold_against_a(*b);
    }
  }

  void measure_in_one(SideRun& side, const std::string& device, const BackendCode& code, const std::vector<Job*>& jobs, bool whole) {
    std::unique_ptr<Worker> worker;
    std::optional<MeasurementRecord> fault = side.resolver.facts(code).fault;  // a plugin that did not come up when it was described is not tried again
    std::set<const Job*> ended;
    for (std::size_t round = 0, rounds = 1; round < rounds; ++round) {
      for (Job* job : jobs) {
        const std::vector<Request> requests = !job->too_costly.empty() ? std::vector{support_request(job->trial, job->backend.name_in_file)}
            : requests_for(job->trial, job->backend.name_in_file, job->measurement, job->gates.enabled, options_.seed, whole);
        rounds = std::max(rounds, requests.size());
        if (round >= requests.size() || ended.contains(job)) continue;
        if (interrupted_) return;
        if (budget_spent()) {
          if (whole) settle(*job, Status::skipped, "the time of --budget was spent before this row; a larger --budget runs it");
          ended.insert(job);
          continue;
        }
        if (!fault && (!worker || !worker->alive())) {
          worker = side.resolver.workers().take(code, device, {options_.timeout, options_.prepare_timeout});
          fault = worker->fault();
        }
        TrialAnswer answer;
        if (fault) {
          answer.record = *fault;
          answer.output = worker ? worker->loading_output() : side.resolver.facts(code).loading_output;
        } else {
          answer = worker->run(requests[round], [&](Phase phase) { observer_.trial_started(job->trial, phase); });
        }
        if (interrupted_ && answer.record.status != Status::ok) return;
        if (!job->too_costly.empty()) {
          const TrialSupport support = support_of(answer.record, job->too_costly);
          answer.record.status = support.status;
          answer.record.reason = support.reason;
        }
        if (worker)
          for (const auto& [name, library] : worker->facts().environment.libraries) environments_[job->environment].libraries.insert_or_assign(name, library);
        take(*job, answer, whole, round);
        if (answer.record.status != Status::ok || round + 1 == requests.size()) {
          ended.insert(job);
          observer_.trial_measured(job->trial, job->measurement, environments_[job->environment]);
        }
      }
    }
    side.resolver.workers().give_back(code, std::move(worker));
  }

  // The times of one process are one block, in however many requests they came.
  void take(Job& job, TrialAnswer& answer, bool whole, std::size_t round) {
    Measurement& m = job.measurement;
    const bool ran = job.measured && m.status == Status::ok;
    job.measured = true;
    for (const Block& block : answer.blocks) {
      if (round > 0 && !m.blocks.empty()) merge(m.blocks.back(), block);
      else m.blocks.push_back(block);
    }
    if (ran && answer.record.status == Status::unsupported) {
      answer.record.status = Status::failed;
      answer.record.reason = "ran in another process of this run, then declined: " + answer.record.reason;
    }
    const bool right = answer.record.status == Status::ok;
    if (!whole && right) return;
    m.status = answer.record.status;
    m.reason = answer.record.reason;
    m.output = answer.output;
    if (!whole) return;
    m.numerics = answer.record.numerics;
    m.memory = answer.record.memory;
    m.backend_version = version_of(job);
    if (answer.record.capturable) m.capturable = answer.record.capturable;
    if (answer.record.counted) {
      m.calls = std::move(answer.record.calls);
      apply(account(m.calls, rules_), m);
    }
  }

  std::string version_of(const Job& job) {
    for (const BackendFacts& backend : job.side->resolver.facts(job.backend.code).backends)
      if (backend.name == job.backend.name_in_file && backend.device == job.measurement.device) return backend.version;
    return "";
  }

  void settle(Job& job, Status status, const std::string& reason) {
    job.measurement.status = status;
    job.measurement.reason = reason;
    job.done = job.measured = true;
    observer_.trial_measured(job.trial, job.measurement, environments_[job.environment]);
  }

  // The control rows come first here and last in every further block: between the two lies whatever happened to the machine.
  void measure_all() {
    std::vector<Job*> chosen, controls;
    for (Job& job : jobs_) {
      if (!job.target->fault.empty()) settle(job, Status::cannot_measure, job.target->fault);
      else if (!job.backend.reason.empty()) settle(job, Status::unsupported, job.backend.reason);
      else if (same_on_both(job)) settle(job, Status::skipped, "the same on both sides: nothing to compare");
      else if (job.trial.side != Side::a) (job.measurement.control ? controls : chosen).push_back(&job);
    }
    if (compares()) return measure_pairs(chosen, 0);
    measure(controls, true);
    measure(chosen, true);
  }

  static bool loaded(const Job& job) { return job.backend.code.file.empty() || !job.side->resolver.facts(job.backend.code).fault; }

  // Measuring it would find nothing but noise. What did not come up when it was described is told all the same.
  bool same_on_both(const Job& job) const {
    if (!job.trial.side) return false;
    const Job& a = *job.trial.side == Side::b ? side_a(job) : job;
    const Job& b = *(&a + 1);
    return loaded(a) && loaded(b) && side_difference(environments_[a.environment], environments_[b.environment]).empty();
  }

  // Further blocks in fresh processes: for every row up to first_blocks, then for those whose latency is not settled, and the control rows beside them.
  void measure_again(std::size_t block) {
    std::vector<Job*> chosen;
    for (Job& job : jobs_) {
      const bool ok = job.measurement.status == Status::ok && (job.trial.side != Side::b || side_a(job).measurement.status == Status::ok);
      const bool timed = !job.done && ok && job.trial.side != Side::a && job.gates.enabled.contains(Gate::latency);
      if (timed && !job.measurement.control && (block < options_.first_blocks || wants_more_blocks(latency_input(job)))) chosen.push_back(&job);
    }
    if (block >= options_.first_blocks) add_compared(chosen);
    if (chosen.empty()) return;
    std::vector<Job*> controls;
    for (Job& job : jobs_)
      if (job.measurement.control && job.measurement.status == Status::ok) controls.push_back(&job);
    for (const Job* job : chosen) observer_.remeasuring(job->trial, block);
    if (compares()) return measure_pairs(chosen, block);
    measure(chosen, false);
    measure(controls, false);
  }

  // A row whose comparison with others is not settled is measured again together with these.
  void add_compared(std::vector<Job*>& chosen) {
    std::set<const Job*> all(chosen.begin(), chosen.end());
    for (const Job* job : chosen)
      for (const Job* row : beside_->timed(*job))
        if (row->measurement.status == Status::ok) all.insert(row);
    chosen.clear();
    for (Job& job : jobs_)
      if (all.contains(&job)) chosen.push_back(&job);
  }

  JudgeInput judge_input(const Job& job) const {
    JudgeInput input;
    input.measurement = &job.measurement;
    input.environment = &environments_[job.environment];
    input.loaded = loaded(job) && (job.trial.side != Side::b || loaded(side_a(job)));
    input.gates = job.gates;
    input.expectations = job.expectations;
    input.counts_baseline = counts_baseline(job);
    input.times_baseline = times_baseline(job);
    input.control = control_of(job);
    beside_->add_to(input, job);
    for (const Block& block : job.measurement.blocks)
      if (block.other_processes > 0) input.latency_blocked = fmt::format("{} other process(es) computed on this GPU meanwhile", block.other_processes);
    input.max_blocks = options_.most_blocks;
    input.tell_times = compares();
    return input;
  }

  // What is compared is timed until that is clear, whatever else the row fails for.
  JudgeInput latency_input(const Job& job) const {
    JudgeInput input = judge_input(job);
    if (!compares()) return input;
    input.gates.enabled = {Gate::latency};
    input.counts_baseline = nullptr;
    return input;
  }

  const Baseline* other_side(const Job& job) const { return job.other_side ? &*job.other_side : nullptr; }
  const Baseline* counts_baseline(const Job& job) const { return compares() ? other_side(job) : baselines_.counts(job.measurement); }
  const Baseline* times_baseline(const Job& job) const { return compares() ? other_side(job) : baselines_.times(job.measurement); }

  std::optional<Interval> control_of(const Job& row) const {
    std::vector<ControlRow> rows;
    for (const Job& job : jobs_)
      if (job.measurement.control && job.suite == row.suite && job.target == row.target) rows.push_back({&job.measurement, baselines_.times(job.measurement)});
    return control_ratio(rows);
  }

  // A control row is no promise: it says how far the machine moved.
  Verdict control_verdict(const Job& job) const {
    Verdict verdict;
    const Measurement& m = job.measurement;
    if (m.status != Status::ok) {
      verdict.outcome = Outcome::cannot_measure;
      verdict.reason = fmt::format("{}: {}", word(m.status), m.reason);
      return verdict;
    }
    const Baseline* baseline = baselines_.times(m);
    verdict.outcome = baseline ? Outcome::pass : Outcome::no_baseline;
    if (const auto moved = control_ratio({{&m, baseline}})) verdict.reason = fmt::format("{:.2f}x of the baseline", moved->estimate);
    return verdict;
  }

  // By text: what all backends have in common is said once.
  void note_differences(RunResult& result) const {
    std::map<std::string, std::set<std::string>> backends;
    for (const Job& job : jobs_)
      if (job.trial.side == Side::b)
        backends[side_difference(environments_[side_a(job).environment], environments_[job.environment], loaded(side_a(job)) && loaded(job))].insert(job.trial.backend.name);
    for (const auto& [text, names] : backends)
      if (!text.empty()) result.comparison->differences.push_back(fmt::format("{}: {}", fmt::join(names, ", "), text));
    if (result.comparison->differences.empty() && !jobs_.empty())
      result.warnings.push_back("THE TWO SIDES ARE THE SAME: no version, build, library, setting or place differs between their records");
  }

  void judge_all(RunResult& result) {
    std::vector<Outcome> outcomes;
    std::vector<Row> controls;
    for (Job& job : jobs_) {
      if (!job.measured) continue;  // interrupted before its turn
      Row row;
      if (job.measurement.control) row.verdict = control_verdict(job);
      else row.verdict = apply_waivers(job.trial.side == Side::a ? judge_alone(judge_input(job)) : judge(judge_input(job)), job.suite->waivers, job.facts, result.started_at.substr(0, kDateLength));
      if (row.verdict.outcome == Outcome::no_baseline && compares() && row.verdict.reason.empty())
        row.verdict.reason = fmt::format("nothing to be held against: side a is {}", word(side_a(job).measurement.status));
      const Baseline* baseline = times_baseline(job);
      if (baseline && !baseline->device_ns.empty()) row.baseline_device_ns = median(baseline->device_ns);
      if (const Baseline* counts = counts_baseline(job)) row.baseline_commit = counts->commit_id;
      row.environment = job.environment;
      if (!job.measurement.control) row.reproduce = reproduce_command(*job.suite, job.trial, options_, beside_->trials(job));
      row.trial = job.trial;
      row.measurement = job.measurement;
      const bool judged = !job.measurement.control && job.trial.side != Side::a;
      if (judged || (job.measurement.control && row.verdict.outcome == Outcome::cannot_measure)) outcomes.push_back(row.verdict.outcome);
      (job.measurement.control ? controls : result.rows).push_back(std::move(row));
    }
    std::move(controls.begin(), controls.end(), std::back_inserter(result.rows));
    warn_unmatched(result);
    warn_loaded_anew(result);
    result.exit = interrupted_ ? ExitCode::interrupted : run_exit_code(outcomes, options_.require_baseline || compares());
  }

  // Of code that every block loads anew, which costs time: once, in the words of its worker.
  void warn_loaded_anew(RunResult& result) const {
    std::set<BackendCode> told{{}};  // a row without code has nothing to load
    for (const Job& job : jobs_) {
      const BackendCode& code = job.backend.code;
      if (!told.insert(code).second) continue;
      if (const std::string line = loaded_anew_line(job.side->resolver.facts(code).loading_output); !line.empty())
        result.warnings.push_back(fmt::format("{}{}{}: {}", code.file, code.python_class.empty() ? "" : ":", code.python_class, line));
    }
  }

  bool measures(DeviceType device) const {
    return std::ranges::any_of(targets(), [&](const Target& target) { return target.environment.device == device; });
  }

  // Only of suites that run as a whole: a filter leaves expectations without rows.
  void warn_unmatched(RunResult& result) const {
    std::map<const Suite*, std::vector<RowFacts>> rows;
    for (const Job& job : jobs_)
      if (!job.measurement.control && job.trial.side != Side::a) rows[job.suite].push_back(job.facts);
    for (const auto& [suite, facts] : rows)
      for (const Expectation& expectation : facts.size() < suite->cases.size() * suite->backends.size() * targets().size() ? std::vector<Expectation>{} : unmatched_expectations(suite->expectations, facts))
        if (!expectation.where.device || measures(*expectation.where.device))
          result.warnings.push_back(fmt::format("{}: this expectation selects no row of this run", to_string(expectation.place)));
  }

  const RunOptions& options_;
  const Rules& rules_;
  const BaselineSource& baselines_;
  RunObserver& observer_;
  const std::atomic<bool>& interrupted_;
  std::vector<std::unique_ptr<SideRun>> sides_;
  std::vector<Environment> environments_;
  std::map<std::tuple<const SideRun*, std::string, BackendCode, std::string>, std::size_t> environment_by_code_;  // by side, device, code and its label
  std::vector<std::unique_ptr<DeviceLock>> locks_;
  std::vector<Job> jobs_;
  std::optional<RowsBeside> beside_;  // of `jobs_`, once they are all there
  Clock::time_point started_;
};

}  // namespace

RunResult new_run(const RunOptions& options) {
  RunResult head;
  head.started_at = utc_now();
  head.run_id = new_run_id(head.started_at);
  head.commit_id = options.commit_id;
  head.command = options.command;
  if (!options.sides.empty()) head.comparison = {options.sides.at(0).typed, options.sides.at(1).typed, {}};
  return head;
}

RunResult run(RunResult head, const std::vector<PlannedSuite>& suites, const RunOptions& options, const Rules& rules, const BaselineSource& baselines,
              RunObserver& observer, const std::atomic<bool>& interrupted) {
  return Run(suites, options, rules, baselines, observer, interrupted)(std::move(head));
}

}  // namespace attn
