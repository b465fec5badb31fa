#include "report/progress.hpp"

#include <fmt/format.h>

#include <utility>

#include "report/printable.hpp"
#include "report/row_values.hpp"
#include "core/units.hpp"

namespace attn {
namespace {

double seconds(std::chrono::steady_clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void Progress::planned(const std::vector<Trial>& trials) {
  start_ = options_.now();
  trials_ = trials.size();
}

void Progress::trial_started(const Trial& trial, Phase phase) {
  begun_.insert(trial.index);
  show(trial, std::string(word(phase)));
}

void Progress::remeasuring(const Trial& trial, std::size_t block) {
  show(trial, fmt::format("measured again, block {}", block + 1));
  // Elsewhere one line for all rows of a block: a log that falls silent looks like a run that hangs.
  if (options_.rewrite || block == block_) return;
  block_ = block;
  std::fputs(fmt::format("measuring again, block {} ({} elapsed)\n", block + 1, elapsed_text(seconds(options_.now() - start_))).c_str(), stream_);
  std::fflush(stream_);
}

void Progress::trial_measured(const Trial& trial, const Measurement& measurement, const Environment&) {
  begun_.insert(trial.index);
  // A trial that is measured again to be sure has had its line.
  if (!done_.insert(trial.index).second || options_.rewrite) return;
  const auto device = median_time(measurement, &Block::device_ns);
  std::string line = fmt::format("[{}/{}] {}{} {}: {}", done_.size(), trials_, printable(trial.backend.name), side_text(trial), printable(trial.id), word(measurement.status));
  if (device) line += fmt::format(" {}", duration_text(*device));
  if (const std::string before = std::exchange(reason_, measurement.reason); !reason_.empty())
    line += ", " + (reason_ == before ? "as above" : printable(reason_, 200));
  line += fmt::format(" ({} elapsed{})\n", elapsed_text(seconds(options_.now() - start_)), left());
  std::fputs(line.c_str(), stream_);
  std::fflush(stream_);
}

void Progress::finished(const RunResult&) { clear(); }

void Progress::clear() {
  if (!line_shown_) return;
  std::fputs("\r\x1b[K", stream_);
  std::fflush(stream_);
  line_shown_ = false;
}

void Progress::show(const Trial& trial, const std::string& what) {
  if (!options_.rewrite) return;
  const std::size_t columns = options_.columns == 0 ? 80 : options_.columns;
  const std::string head = fmt::format("[{}/{}] ", begun_.size(), trials_);
  const std::string tail = fmt::format("  {}  {}{}", what, elapsed_text(seconds(options_.now() - start_)), left());
  // One column stays free: a full line would make some terminals wrap, and a wrapped line cannot be rewritten.
  const std::size_t taken = columns_of(head) + columns_of(tail) + 1;
  const std::string name = elide_middle(printable(trial.backend.name) + side_text(trial) + " " + printable(trial.id), columns > taken ? columns - taken : 0);
  std::fputs(("\r\x1b[K" + elide_end(head + name + tail, columns - 1)).c_str(), stream_);
  std::fflush(stream_);
  line_shown_ = true;
}

std::string Progress::left() const {
  if (done_.empty() || done_.size() >= trials_) return "";
  const double spent = seconds(options_.now() - start_);
  return ", about " + elapsed_text(spent / static_cast<double>(done_.size()) * static_cast<double>(trials_ - done_.size())) + " left";
}

}  // namespace attn
