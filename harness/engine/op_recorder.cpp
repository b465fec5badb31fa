#include "engine/op_recorder.hpp"

#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "engine/clock.hpp"

namespace attn {

OpRecorder::OpRecorder()
    : abi_{sizeof(attn_ops), 0, this,
           [](void* self, std::int32_t kind, const char* name, std::uint64_t bytes) { static_cast<OpRecorder*>(self)->begin(kind, name, bytes); },
           [](void* self) { static_cast<OpRecorder*>(self)->end(); }} {}

void OpRecorder::begin(std::int32_t kind, const char* name, std::uint64_t bytes) {
  constexpr std::size_t kLongestName = 4096;
  if (open_) fault_ = "an operation begins inside another";
  if (kind < ATTN_OP_KERNEL || kind > ATTN_OP_MEMSET) fault_ = fmt::format("an operation of unknown kind {}", kind);
  if (activities_.size() >= kMostOps) fault_ = fmt::format("more than {} operations in one call", kMostOps);
  open_ = true;
  if (!fault_.empty()) return;
  Activity& activity = activities_.emplace_back();
  activity.kind = static_cast<ActivityKind>(kind);
  activity.name = name ? std::string(name, strnlen(name, kLongestName)) : "";
  if (activity.kind != ActivityKind::kernel) activity.bytes = static_cast<std::int64_t>(bytes);
  activity.start_ns = now_ns();
}

void OpRecorder::end() {
  if (!open_) fault_ = "an operation ends that never began";
  open_ = false;
  if (fault_.empty()) activities_.back().end_ns = now_ns();
}

CallActivities OpRecorder::take() {
  if (std::exchange(open_, false)) fault_ = "an operation began and never ended";
  CallActivities taken = std::exchange(activities_, {});
  if (const std::string fault = std::exchange(fault_, {}); !fault.empty()) throw Error("the backend's reports make no sense: " + fault);
  return taken;
}

}  // namespace attn
