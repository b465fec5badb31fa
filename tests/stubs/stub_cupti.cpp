#include "stubs/stub_cupti.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#define STUB_EXPORT extern "C" __attribute__((visibility("default")))

namespace attn::test {
namespace {

CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;

StubCupti& stub() {
  static StubCupti& state = *[] {
    auto* made = new StubCupti;
    if (const char* text = std::getenv("ATTN_STUB_CUPTI")) {
      std::istringstream in(text);
      for (std::string each; std::getline(in, each, ',');) {
        const auto equals = each.find('=');
        if (equals == std::string::npos) continue;
        const int value = std::atoi(each.c_str() + equals + 1);
        if (each.substr(0, equals) == "version") made->version = static_cast<std::uint32_t>(value);
        else made->returns[each.substr(0, equals)] = value;
      }
    }
    return made;
  }();
  return state;
}

CUptiResult result_of(const char* function) {
  const auto found = stub().returns.find(function);
  return found == stub().returns.end() ? CUPTI_SUCCESS : static_cast<CUptiResult>(found->second);
}

CUpti_ActivityKind kind_of(const std::uint8_t* record) {
  CUpti_ActivityKind kind;
  std::memcpy(&kind, record, sizeof kind);
  return kind;
}

// CUPTI knows a record's size by its kind.
std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel9);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy5);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return sizeof(CUpti_ActivityMemory3);
    default: return 16;
  }
}

bool on_device(CUpti_ActivityKind kind) {
  return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ACTIVITY_KIND_MEMSET;
}

void clear_times(std::vector<std::uint8_t>& record) {
  const auto clear = [&](auto typed) {
    std::memcpy(&typed, record.data(), sizeof typed);
    typed.start = typed.end = 0;
    std::memcpy(record.data(), &typed, sizeof typed);
  };
  const CUpti_ActivityKind kind = kind_of(record.data());
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) clear(CUpti_ActivityKernel9{});
  if (kind == CUPTI_ACTIVITY_KIND_MEMCPY) clear(CUpti_ActivityMemcpy5{});
  if (kind == CUPTI_ACTIVITY_KIND_MEMSET) clear(CUpti_ActivityMemset4{});
}

}  // namespace

void StubCupti::reset() { *this = StubCupti(); }

void StubCupti::put(const void* record, std::size_t size) {
  const auto* bytes = static_cast<const std::uint8_t*>(record);
  const CUpti_ActivityKind kind = kind_of(bytes);
  const bool stray = size_of(kind) == 16;  // kinds that nobody asked for come all the same
  if (!stray && !enabled.contains(kind)) return;
  if (on_device(kind) && lose_every > 0 && ++device_records % lose_every == 0) return;
  pending.emplace_back(bytes, bytes + size);
  if (on_device(kind) && zero_times) clear_times(pending.back());
}

void StubCupti::hand_over() {
  struct Filled {
    std::uint8_t* buffer;
    std::size_t size, used;
  };
  std::vector<Filled> filled;
  std::size_t in_buffer = 0;
  for (const auto& record : std::exchange(pending, {})) {
    if (filled.empty() || in_buffer == records_per_buffer || filled.back().used + record.size() > filled.back().size) {
      Filled next{};
      std::size_t most = 0;
      request(&next.buffer, &next.size, &most);
      if (!next.buffer) {
        ++dropped;
        continue;
      }
      largest_buffer = std::max(largest_buffer, next.size);
      if (zeroed_promised && std::any_of(next.buffer, next.buffer + next.size, [](std::uint8_t byte) { return byte != 0; })) ++dirty_buffers;
      filled.push_back(next);
      in_buffer = 0;
    }
    std::memcpy(filled.back().buffer + filled.back().used, record.data(), record.size());
    filled.back().used += record.size();
    ++in_buffer;
  }
  if (!filled.empty()) filled.back().used -= std::min(cut_off_bytes, filled.back().used);
  if (buffers_reversed) std::reverse(filled.begin(), filled.end());
  for (const Filled& each : filled) complete(nullptr, 0, each.buffer, each.size, each.used);
}

void StubCupti::begin_call(bool runtime, std::uint32_t call, const void* parameters, std::uint32_t correlation) {
  const CUpti_CallbackDomain domain = runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
  if (!subscribed || !watched.contains({domain, call})) return;
  CUpti_CallbackData data{};
  data.functionName = call_names.at(call).c_str();
  data.functionParams = parameters;
  data.correlationId = correlation;
  for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
    data.callbackSite = site;
    subscriber(subscriber_data, domain, call, &data);
  }
}

}  // namespace attn::test

using namespace attn::test;

STUB_EXPORT StubCupti* attn_stub_cupti() { return &stub(); }

STUB_EXPORT CUptiResult CUPTIAPI cuptiGetVersion(std::uint32_t* version) {
  *version = stub().version;
  return result_of("cuptiGetVersion");
}

STUB_EXPORT CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char** text) {
  static const std::map<int, const char*> names = {{2, "CUPTI_ERROR_INVALID_DEVICE"},          {7, "CUPTI_ERROR_INVALID_OPERATION"},
                                                   {15, "CUPTI_ERROR_NOT_INITIALIZED"},        {35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
                                                   {39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"}, {999, "CUPTI_ERROR_UNKNOWN"}};
  const auto found = names.find(static_cast<int>(result));
  if (found == names.end()) return CUPTI_ERROR_INVALID_PARAMETER;
  *text = found->second;
  return CUPTI_SUCCESS;
}

STUB_EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user_data) {
  if (const CUptiResult result = result_of("cuptiSubscribe"); result != CUPTI_SUCCESS) return result;
  if (stub().subscribed) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  stub().subscribed = true;
  ++stub().subscriptions;
  stub().subscriber = callback;
  stub().subscriber_data = user_data;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&stub());
  return CUPTI_SUCCESS;
}

#if CUPTI_API_VERSION >= 130000
STUB_EXPORT CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user_data, CUpti_SubscriberParams* params) {
  const CUptiResult result = cuptiSubscribe(subscriber, callback, user_data);
  if (result != CUPTI_SUCCESS && params && params->oldSubscriberName) std::snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s", stub().holder.c_str());
  return result;
}
#endif

STUB_EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle) {
  stub().subscribed = false;
  return result_of("cuptiUnsubscribe");
}

STUB_EXPORT CUptiResult CUPTIAPI cuptiFinalize() {
  ++stub().finalised;
  return CUPTI_SUCCESS;
}

STUB_EXPORT CUptiResult CUPTIAPI cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain, CUpti_CallbackId call) {
  if (enable) stub().watched.insert({domain, call});
  else stub().watched.erase({domain, call});
  return result_of("cuptiEnableCallback");
}

STUB_EXPORT CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  const CUptiResult result = result_of("cuptiActivityEnable");
  if (result == CUPTI_SUCCESS) stub().enabled.insert(kind);
  return result;
}

STUB_EXPORT CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  stub().enabled.erase(kind);
  return result_of("cuptiActivityDisable");
}

STUB_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc completed) {
  request = requested;
  complete = completed;
  return result_of("cuptiActivityRegisterCallbacks");
}

STUB_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushAll(std::uint32_t flag) {
  const CUptiResult result = result_of("cuptiActivityFlushAll");
  if (result == CUPTI_SUCCESS && (flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED || !stub().withhold)) stub().hand_over();
  return result;
}

STUB_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t size, CUpti_Activity** record) {
  if (const CUptiResult result = result_of("cuptiActivityGetNextRecord"); result != CUPTI_SUCCESS) return result;
  std::uint8_t* next = *record ? reinterpret_cast<std::uint8_t*>(*record) + size_of((*record)->kind) : buffer;
  if (next >= buffer + size) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

STUB_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = std::exchange(stub().dropped, 0);
  return result_of("cuptiActivityGetNumDroppedRecords");
}

STUB_EXPORT CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, std::size_t*, void* value) {
  const CUptiResult result = result_of("cuptiActivitySetAttribute");
  if (result == CUPTI_SUCCESS && attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) stub().zeroed_promised = *static_cast<std::uint8_t*>(value) != 0;
  return result;
}

STUB_EXPORT CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain, std::uint32_t callback, const char** name) {
  if (callback >= stub().call_names.size() || stub().call_names[callback].empty()) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = stub().call_names[callback].c_str();
  return CUPTI_SUCCESS;
}

STUB_EXPORT CUptiResult CUPTIAPI cuptiGetTimestamp(std::uint64_t* now) {
  *now = static_cast<std::uint64_t>(stub().clock_ns += 1000);
  return result_of("cuptiGetTimestamp");
}
