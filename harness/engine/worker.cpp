#include "engine/worker.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>

#include "engine/backend_list.hpp"
#include "engine/host_environment.hpp"
#include "engine/numerics.hpp"
#include "engine/trial.hpp"

namespace attn {
namespace {

constexpr const char* kEngineVersion = "attn-regress engine " ATTN_VERSION;

// Lines of a descriptor.
class LineReader {
 public:
  explicit LineReader(int descriptor) : descriptor_(descriptor) {}
  std::optional<std::string> next() {
    for (;;) {
      if (const auto end = buffer_.find('\n'); end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      char chunk[65536];
      const ssize_t n = read(descriptor_, chunk, sizeof chunk);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return std::nullopt;
      buffer_.append(chunk, static_cast<std::size_t>(n));
    }
  }

 private:
  int descriptor_;
  std::string buffer_;
};

int serve(const attn_backend_list* list, int in_fd, int out_fd) {
  RecordWriter write(out_fd);
  EnvironmentRecord first;
  first.environment = host_environment();
  first.environment.engine = kEngineVersion;
  const std::string fault = list_fault(list);
  for (std::uint32_t i = 0; fault.empty() && i < list->count; ++i)
    if (table_fault(list->backends[i]).empty()) first.backends.push_back(backend_facts(*list->backends[i]));
  write(first);

  CacheFlush flush(first.environment.cache_bytes);
  LineReader requests(in_fd);
  while (const auto line = requests.next()) {
    Request request;
    from_json(parse_json(*line, "request"), request, "request");
    if (fault.empty()) write(run_trial(*list, request, first.environment, flush, write));
    else write(MeasurementRecord{.trial = request.trial, .status = Status::unsupported, .reason = fault, .counted = false, .calls = {}, .numerics = {}, .memory = {}});
  }
  return 0;
}

}  // namespace
}  // namespace attn

int attn_worker(const attn_backend_list* backends, int in_fd, int out_fd) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return attn::serve(backends, in_fd, out_fd);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attn_worker: %s\n", error.what());
    return 1;
  }
}

const char* attn_self_test(void) {
  static const std::optional<std::string> fault = attn::reference_self_test();
  return fault ? fault->c_str() : nullptr;
}
