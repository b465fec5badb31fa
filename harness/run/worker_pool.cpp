#include "run/worker_pool.hpp"

#include <utility>

namespace attn {

std::unique_ptr<Worker> WorkerPool::take(const BackendCode& code, const std::string& device, const Deadlines& deadlines) {
  if (const auto idle = idle_.find(code); idle != idle_.end()) {
    std::unique_ptr<Worker> worker = std::move(idle->second);
    idle_.erase(idle);
    if (worker->reopen(device, deadlines)) return worker;
  }
  return std::make_unique<Worker>(worker_command(installation_, code), device, deadlines, interrupted_);
}

void WorkerPool::give_back(const BackendCode& code, std::unique_ptr<Worker> worker) {
  if (!worker || code.interpreter.empty() || !worker->alive() || worker->fault()) return;
  worker->renew();
  idle_[code] = std::move(worker);
}

}  // namespace attn
