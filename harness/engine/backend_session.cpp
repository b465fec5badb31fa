#include "engine/backend_session.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "engine/backend_list.hpp"
#include "engine/clock.hpp"

namespace attn {
namespace {

// The caller's text buffer; terminated whatever the backend wrote.
class Answer {
 public:
  attn_text* text() { return &text_; }
  // Throws TrialEnd unless the status is ok. `during` names the function.
  void check(attn_status status, const char* during) {
    if (status == ATTN_OK) return;
    buffer_.back() = '\0';
    const std::string why = buffer_.front() ? buffer_.data() : "no reason given";
    if (status == ATTN_UNSUPPORTED) throw TrialEnd{Status::unsupported, why};
    if (status == ATTN_FAILED) throw TrialEnd{Status::failed, fmt::format("{}: {}", during, why)};
    throw TrialEnd{Status::failed, fmt::format("{} returned the unknown status {}", during, status)};
  }

 private:
  std::array<char, 4096> buffer_{};
  attn_text text_{buffer_.data(), buffer_.size()};
};

}  // namespace

std::uint64_t ask_supports(const attn_backend& backend, const attn_problem& problem, const attn_device_facts& device) {
  attn_support support{};
  support.struct_size = sizeof support;
  Answer answer;
  answer.check(backend.supports(backend.self, &problem, &device, &support, answer.text()), "supports");
  return support.workspace_bytes;
}

BackendSession::BackendSession(Device& device, const attn_backend& backend, std::uint64_t workspace_bytes)
    : device_(device), backend_(backend), workspace_(device, "the workspace", static_cast<std::size_t>(workspace_bytes)) {
  device.set(workspace_.data(), 0xFF, workspace_.bytes());  // NaN in every format: nobody may rely on what it holds
}

void BackendSession::open(const attn_problem& problem, Tensors& tensors, const std::map<std::string, std::string>& options) {
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : options) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  const attn_options table{sizeof table, static_cast<std::uint32_t>(keys.size()), keys.data(), values.data()};
  tensors.abi()->workspace = workspace_.data();
  tensors.abi()->workspace_bytes = workspace_.bytes();
  const attn_device_facts facts = device_.facts();
  Answer answer;
  const std::unique_ptr<OpenWatch> watch = device_.watch_open();
  const std::int64_t start = now_ns();
  const attn_status status = backend_.open(backend_.self, &problem, tensors.abi(), &facts, &table, &state_, answer.text());
  open_ns_ = static_cast<double>(now_ns() - start);
  if (status != ATTN_OK) state_ = nullptr;
  answer.check(status, "open");
  open_peak_ = watch->peak();
  call_.struct_size = sizeof call_;
  call_.pass = ATTN_CALL_ALL;
  call_.stream = device_.stream();
  call_.tensors = tensors.abi();
  call_.workspace = workspace_.data();
  call_.workspace_bytes = workspace_.bytes();
}

BackendSession::~BackendSession() {
  if (state_) backend_.close(state_);
}

void BackendSession::rest() {
  if (has(backend_, &attn_backend::rest)) backend_.rest(state_);
}

double BackendSession::run(const attn_ops* ops, attn_call_pass pass) {
  call_.ops = ops;
  call_.pass = pass;
  Answer answer;
  const std::int64_t start = now_ns();
  const attn_status status = backend_.run(state_, &call_, answer.text());
  const auto elapsed = static_cast<double>(now_ns() - start);
  answer.check(status, "run");
  if (has(backend_, &attn_backend::settle)) answer.check(backend_.settle(state_, answer.text()), "run");
  return elapsed;
}

}  // namespace attn
