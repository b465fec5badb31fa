#include "engine/worker.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/backend_list.hpp"
#include "engine/device.hpp"
#include "engine/device_self_test.hpp"
#include "engine/field_libraries.hpp"
#include "engine/noted_memory.hpp"
#include "engine/numerics.hpp"
#include "engine/trial.hpp"

namespace attn {
namespace {

// What the host of the worker noted.
std::map<std::string, LibraryVersion>& noted_libraries() {
  static std::map<std::string, LibraryVersion> libraries;
  return libraries;
}

void* the_stream = nullptr;

// Of the process as it is now: libraries load others when they are first used.
std::map<std::string, LibraryVersion> libraries_now(const Device& device) {
  std::map<std::string, LibraryVersion> libraries = device.environment().libraries;
  for (auto& [name, library] : field_libraries()) libraries.insert_or_assign(name, std::move(library));
  for (const auto& [name, library] : noted_libraries()) libraries.insert_or_assign(name, library);
  return libraries;
}

constexpr const char* kEngineVersion = "attn-regress engine " ATTN_VERSION;

// What the parent sends instead of a request; and what attn_worker returns then.
constexpr const char* kRenew = R"({"renew":true})";
constexpr int kRenewed = 2;

// A line of a descriptor, without the newline. Not a byte more is read: what follows may be for the next process.
std::optional<std::string> next_line(int descriptor) {
  std::string line;
  for (;;) {
    char byte = 0;
    const ssize_t n = read(descriptor, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    if (byte == '\n') return line;
    line += byte;
  }
}

std::optional<std::string> self_test(const std::string& what) {
  if (what == "reference") return reference_self_test();
  if (what == "gpu-reference") return device_self_test(*open_device("cuda"));
  if (what == "gpu-records") return open_device("cuda")->records_fault();
  return "there is no self-test of " + what;
}

int serve(const attn_backend_list* list, int in_fd, int out_fd) {
  RecordWriter write(out_fd);
  EnvironmentRecord first;
  const auto opening = next_line(in_fd);
  if (!opening) return 0;
  Opening wanted;
  from_json(parse_json(*opening, "opening"), wanted, "opening");
  std::unique_ptr<Device> device;
  try {
    device = open_device(wanted.device);
  } catch (const Error& error) {
    MeasurementRecord none;
    none.status = Status::cannot_measure;
    none.reason = error.what();
    write(none);
    return 0;
  }
  first.environment = device->environment();
  first.environment.engine = kEngineVersion;
  first.environment.libraries = libraries_now(*device);
  the_stream = device->stream();
  const std::string fault = list_fault(list);
  for (std::uint32_t i = 0; fault.empty() && i < list->count; ++i)
    if (table_fault(list->backends[i]).empty()) first.backends.push_back(backend_facts(*list->backends[i]));
  write(first);

  while (const auto line = next_line(in_fd)) {
    if (*line == kRenew) return kRenewed;
    Request request;
    from_json(parse_json(*line, "request"), request, "request");
    MeasurementRecord record;
    record.trial = request.trial;
    record.status = Status::unsupported;
    record.reason = fault;
    if (fault.empty()) record = run_trial(*list, request, *device, write);
    if (auto now = libraries_now(*device); now != first.environment.libraries) {
      first.environment.libraries = std::move(now);
      write(first);
    }
    write(record);
    if (record.worker_ends) std::_Exit(0);  // exit handlers of a lost device may hang
  }
  return 0;
}

}  // namespace
}  // namespace attn

void attn_note_library(const char* name, const char* version, const char* path) { attn::noted_libraries().insert_or_assign(name, attn::LibraryVersion{version, path}); }

void attn_note_memory(std::int64_t held_bytes, std::int64_t peak_bytes) {
  std::optional<attn::NotedMemory>& noted = attn::noted_memory();
  noted = attn::NotedMemory{held_bytes, peak_bytes, noted ? std::optional(noted->held_bytes) : std::nullopt};
}

void attn_note_out_of_memory(std::uint64_t wanted_bytes) { attn::noted_out_of_memory() = wanted_bytes; }

void* attn_stream(void) { return attn::the_stream; }

int attn_worker(const attn_backend_list* backends, int in_fd, int out_fd) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return attn::serve(backends, in_fd, out_fd);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attn_worker: %s\n", error.what());
    return 1;
  }
}

const char* attn_self_test(const char* what) {
  static std::optional<std::string> fault;
  try {
    fault = attn::self_test(what ? what : "");
  } catch (const std::exception& error) {
    fault = error.what();
  }
  return fault ? fault->c_str() : nullptr;
}
