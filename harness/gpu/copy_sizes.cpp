#include "gpu/copy_sizes.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <utility>

namespace attn {
namespace {

// All of these calls have two parameters of 8 bytes, or one and a padded one, and then the count.
constexpr std::size_t kCountOffset = 16;
static_assert(offsetof(cudaMemcpy_v3020_params, count) == kCountOffset);
static_assert(offsetof(cudaMemcpyAsync_ptsz_v7000_params, count) == kCountOffset);
static_assert(offsetof(cudaMemset_v3020_params, count) == kCountOffset && offsetof(cudaMemsetAsync_v3020_params, count) == kCountOffset);
static_assert(offsetof(cuMemcpyHtoD_v2_params, ByteCount) == kCountOffset && offsetof(cuMemcpyDtoDAsync_v2_params, ByteCount) == kCountOffset);
static_assert(offsetof(cuMemcpy_params, ByteCount) == kCountOffset && offsetof(cuMemcpyAsync_ptsz_params, ByteCount) == kCountOffset);
static_assert(offsetof(cuMemsetD8_v2_params, N) == kCountOffset && offsetof(cuMemsetD32Async_params, N) == kCountOffset);

// Without the marks of a call's default stream. A version stays: the first versions of some calls have other parameters.
constexpr struct {
  const char* name;
  std::int64_t element_bytes;
} kCounting[] = {
    {"cudaMemcpy_v3020", 1}, {"cudaMemcpy_v7000", 1}, {"cudaMemcpyAsync_v3020", 1}, {"cudaMemcpyAsync_v7000", 1},
    {"cudaMemset_v3020", 1}, {"cudaMemset_v7000", 1}, {"cudaMemsetAsync_v3020", 1}, {"cudaMemsetAsync_v7000", 1},
    {"cuMemcpy", 1}, {"cuMemcpyAsync", 1}, {"cuMemcpyHtoD_v2", 1}, {"cuMemcpyDtoH_v2", 1},
    {"cuMemcpyDtoD_v2", 1}, {"cuMemcpyHtoDAsync_v2", 1}, {"cuMemcpyDtoHAsync_v2", 1}, {"cuMemcpyDtoDAsync_v2", 1},
    {"cuMemsetD8_v2", 1}, {"cuMemsetD16_v2", 2}, {"cuMemsetD32_v2", 4}, {"cuMemsetD8Async", 1},
    {"cuMemsetD16Async", 2}, {"cuMemsetD32Async", 4},
};

}  // namespace

std::optional<std::int64_t> counted_element_bytes(std::string_view callback_name) {
  std::string plain(callback_name);
  for (const char* mark : {"_ptds", "_ptsz"})
    if (const auto at = plain.find(mark); at != std::string::npos) plain.erase(at, 5);
  for (const auto& each : kCounting)
    if (plain == each.name) return each.element_bytes;
  return std::nullopt;
}

void CUPTIAPI CopySizes::callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId call, const void* data) {
  auto& sizes = *static_cast<CopySizes*>(self);
  const auto& info = *static_cast<const CUpti_CallbackData*>(data);
  if (info.callbackSite != CUPTI_API_ENTER || !info.functionParams) return;
  for (const Watched& each : sizes.watched_) {
    if (each.domain != domain || each.call != call) continue;
    std::uint64_t count = 0;
    std::memcpy(&count, static_cast<const char*>(info.functionParams) + kCountOffset, sizeof count);
    const std::lock_guard lock(sizes.mutex_);
    sizes.bytes_.emplace(info.correlationId, static_cast<std::int64_t>(count) * each.element_bytes);
    return;
  }
}

void CopySizes::watch(CUpti_SubscriberHandle subscriber, bool on) {
  if (on && watched_.empty()) {
    constexpr std::pair<CUpti_CallbackDomain, CUpti_CallbackId> kDomains[] = {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE},
                                                                              {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE}};
    for (const auto& [domain, count] : kDomains)
      for (CUpti_CallbackId call = 1; call < count; ++call) {
        const char* name = nullptr;
        if (cupti_.callback_name(domain, call, &name) != CUPTI_SUCCESS || !name) continue;
        if (const auto element_bytes = counted_element_bytes(name)) watched_.push_back({domain, call, *element_bytes});
      }
  }
  for (const Watched& each : watched_)
    cupti_.check(cupti_.enable_callback(on, subscriber, each.domain, each.call), fmt::format("cuptiEnableCallback of call {}", each.call));
}

std::unordered_map<std::int64_t, std::int64_t> CopySizes::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(bytes_, {});
}

}  // namespace attn
