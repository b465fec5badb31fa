#pragma once
// libcupti, found and opened at run time: its functions, its version, and what its errors mean to a user.

#include <cupti.h>

#include <cstdint>
#include <string>

namespace attn {

struct CuptiLibrary {
  // `path`: empty = one that is in the process already, else the toolkit's usual places. Throws Error that lists where it was looked for, or names the two
  // versions when its records have another layout than the one built for.
  explicit CuptiLibrary(const std::string& path);

  // Throws Error with the call, the code's name and number, and how to mend it; CUPTI_SUCCESS passes.
  void check(CUptiResult result, const std::string& during) const;
  // The first half of the above.
  std::string text(CUptiResult result, const std::string& during) const;

  std::string path, version;
  decltype(&::cuptiGetVersion) get_version = nullptr;
  decltype(&::cuptiGetResultString) result_string = nullptr;
  decltype(&::cuptiSubscribe) subscribe = nullptr;
  decltype(&::cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&::cuptiEnableCallback) enable_callback = nullptr;
  decltype(&::cuptiActivityEnable) enable = nullptr;
  decltype(&::cuptiActivityDisable) disable = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&::cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&::cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&::cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;
  decltype(&::cuptiActivitySetAttribute) set_attribute = nullptr;
  decltype(&::cuptiGetCallbackName) callback_name = nullptr;
  decltype(&::cuptiGetTimestamp) timestamp = nullptr;

 private:
  std::string mend(CUptiResult result) const;
  std::string holder() const;
  void* subscribe_v2_ = nullptr;       // not in every version
  std::uint32_t api_version_ = 0;
};

// Who else in this process is likely to hold CUPTI, by the environment and the loaded libraries: "Nsight Systems (libToolsInjection64.so is loaded)"; empty when
// nothing points at anyone.
std::string likely_cupti_holder();

}  // namespace attn
