#include "run/worker_main.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "abi/attn_abi.h"
#include "base/child_process.hpp"
#include "base/shared_library.hpp"
#include "core/records.hpp"

namespace attn {
namespace {

// Moves a descriptor to a number that the code under test will not hit by chance, and leaves /dev/null in its place.
int move_away(int descriptor) {
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 200);
  if (moved < 0) throw Error(fmt::format("descriptor {} is not open: the worker is started by attn-regress itself", descriptor));
  const int null = open("/dev/null", O_RDWR);
  dup2(null, descriptor);
  if (null != descriptor) close(null);
  return moved;
}

using WorkerFunction = int (*)(const attn_backend_list*, int, int);

// The plugin's list, or the reason why there is none.
const attn_backend_list* open_plugin(const std::string& file, std::string& fault) {
  try {
    // Never unloaded: its threads and exit handlers may outlive any scope here.
    auto* const library = new SharedLibrary(file);
    const auto backends = library->find<attn_backends_fn>(ATTN_BACKENDS_SYMBOL);
    if (backends) return backends();
    fault = fmt::format("{} exports no {}: it is no plugin of attn-regress", file, ATTN_BACKENDS_SYMBOL);
  } catch (const Error& error) {
    fault = error.what();
  }
  return nullptr;
}

}  // namespace

int worker_main(const Installation& installation, const std::string& plugin) {
  const int requests = move_away(ChildProcess::kRequests), records = move_away(ChildProcess::kRecords);
  const SharedLibrary engine(installation.engine);
  const auto attn_worker = engine.find<WorkerFunction>("attn_worker");
  if (!attn_worker) throw Error(fmt::format("{} exports no attn_worker", installation.engine), Fault::internal);
  const attn_backend_list none{sizeof(attn_backend_list), ATTN_ABI_VERSION, 0, 0, nullptr};
  if (plugin.empty()) return attn_worker(&none, requests, records);
  std::string fault;
  const attn_backend_list* list = open_plugin(plugin, fault);
  if (fault.empty()) return attn_worker(list, requests, records);
  MeasurementRecord unsupported;
  unsupported.status = Status::unsupported;
  unsupported.reason = "cannot load the plugin: " + fault;
  const std::string line = record_line(unsupported) + "\n";
  return write(records, line.data(), line.size()) == static_cast<ssize_t>(line.size()) ? 0 : 1;
}

}  // namespace attn
