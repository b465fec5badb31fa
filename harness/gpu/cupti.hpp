#pragma once
// CUPTI's activity records, behind the only class that speaks to CUPTI. Opened at run time, subscribed once per process, never finalised.

#include <functional>
#include <memory>
#include <string>

#include "gpu/recording.hpp"

namespace attn {

// What is recorded. `device`: kernels, memcpys, memsets (of graphs: every node). `everything`: runtime and driver calls and device memory besides.
enum class Recorded { nothing, device, everything };

class Cupti {
 public:
  // Opens the library, subscribes, enables and proves the instrument: `known_work` runs some kernels, a memcpy and a memset on the device, and each of them
  // must come back as a record, none dropped. `library`: a path; empty = one that is in the process already, else the toolkit's usual places.
  // Throws Error that says what is wrong, who is likely to be the reason, and how to mend it: another subscriber (error 39), no permission (35), no library,
  // another major version than the one built for, records that do not come.
  struct KnownWork {
    std::function<void()> run;         // ends with the device drained
    std::int64_t kernels = 0, memcpys = 0, memsets = 0;
  };
  Cupti(const std::string& library, const KnownWork& known_work);
  ~Cupti();
  Cupti(const Cupti&) = delete;
  Cupti& operator=(const Cupti&) = delete;

  void record(Recorded what);
  // All records since the last take; the device must be drained before. Throws Error when CUPTI fails.
  Recording take();

  const std::string& version() const;  // "13.0.1"
  const std::string& path() const;     // of the loaded file

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attn
