#pragma once
// Workers of Python backends that have done their work and can begin again without loading anew.

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "run/installation.hpp"
#include "run/worker_process.hpp"

namespace attn {

class WorkerPool {
 public:
  WorkerPool(const Installation& installation, const std::atomic<bool>& interrupted) : installation_(installation), interrupted_(interrupted) {}

  // A worker with nothing done in it, open on a device. Throws Error when it cannot be started.
  std::unique_ptr<Worker> take(const BackendCode& code, const std::string& device, const Deadlines& deadlines);
  // Ends the worker's process; of a Python one that lives, a fresh one is kept.
  void give_back(const BackendCode& code, std::unique_ptr<Worker> worker);

 private:
  const Installation& installation_;
  const std::atomic<bool>& interrupted_;
  std::map<BackendCode, std::unique_ptr<Worker>> idle_;
};

}  // namespace attn
