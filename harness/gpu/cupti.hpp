#pragma once
// CUPTI's activity records, behind the only class that speaks to CUPTI. Opened at run time, subscribed once per process, never finalised.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "gpu/recording.hpp"

namespace attn {

// What is recorded. `device`: kernels, memcpys, memsets (of graphs: every node). `everything`: runtime and driver calls and device memory besides.
enum class Recorded { nothing, device, everything };

// One at a time in a process.
class Cupti {
 public:
  // Work that is known, to prove the instrument with; run several times.
  struct KnownWork {
    std::function<void()> run;         // ends with the device drained
    std::int64_t kernels = 0, memcpys = 0, memsets = 0;
  };
  // Opens the library, subscribes, enables and proves the instrument: of the second run of `known_work` every kernel, memcpy and memset must come back as a
  // record, none dropped; of the third the calls that launched them besides. (The first run may lose some: CUPTI is just being set up.) Records nothing afterwards.
  // `library`: a path; empty = one that is in the process already, else the toolkit's usual places.
  // Throws Error that says what is wrong, who is likely to be the reason, and how to mend it: another subscriber (error 39), no permission (35), no library,
  // another major version than the one built for, records that do not come.
  Cupti(const std::string& library, const KnownWork& known_work);
  ~Cupti();
  Cupti(const Cupti&) = delete;
  Cupti& operator=(const Cupti&) = delete;

  // From now on; the device must be drained. What was recorded before stays until it is taken.
  void record(Recorded what);
  // All records since the last take, in the order of their start; the device must be drained before. Throws Error when CUPTI fails.
  Recording take();
  // Now, on the clock of the records.
  std::int64_t now_ns() const;

  const std::string& version() const;  // "13.0.1"
  const std::string& path() const;     // of the loaded file

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Nothing is recorded any more when it ends, whatever happened.
class RecordingScope {
 public:
  RecordingScope(Cupti& cupti, Recorded what) : cupti_(cupti) { cupti.record(what); }
  ~RecordingScope() {
    try {
      cupti_.record(Recorded::nothing);
    } catch (const Error&) {  // the next attempt to record says what is wrong
    }
  }
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;

 private:
  Cupti& cupti_;
};

}  // namespace attn
