#include "run/installation.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "run/worker_pool.hpp"
#include "yaml/nearest.hpp"

namespace attn {
namespace {

// Sorted; of a folder and those below it.
std::vector<std::string> python_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error))
    if (entry.path().extension() == ".py") files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

// FNV-1a (Fowler, Noll, Vo) over the bytes of a file, or of the Python files of a folder; empty when there is nothing to be read.
std::string fingerprint_of(const std::string& place) {
  std::error_code error;
  const std::vector<std::string> files = std::filesystem::is_directory(place, error) ? python_files(place) : std::vector{place};
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const std::string& file : files) {
    if (!std::filesystem::is_regular_file(file, error)) return "";  // a pipe or a device may never end
    std::ifstream in(file, std::ios::binary);
    if (!in) return "";
    char chunk[65536];
    while (in.read(chunk, sizeof chunk), in.gcount() > 0)
      for (std::streamsize i = 0; i < in.gcount(); ++i) hash = (hash ^ static_cast<unsigned char>(chunk[i])) * 0x100000001b3ull;
  }
  return fmt::format("{:016x}", hash);
}

bool can_run(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0;
}

bool is_on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (can_run(std::filesystem::path(folder) / program)) return true;
  return false;
}

}  // namespace

Installation this_installation() {
  std::error_code error;
  const std::filesystem::path executable = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error("cannot find the running executable: " + error.message(), Fault::internal);
  const auto library = executable.parent_path().parent_path() / ATTN_LIBDIR;
  const auto parts = library / "attn-regress";
  return {executable.string(), (library / "libattn_engine.so").string(), parts.string(), (parts / "python").string()};
}

std::string default_interpreter() {
  const char* environment = std::getenv("VIRTUAL_ENV");
  return environment && *environment ? std::string(environment) + "/bin/python" : "python3";
}

std::string named_interpreter(const std::string& text) {
  if (text.starts_with('~')) throw Error(fmt::format("found {}: nothing makes a folder of ~ here; write the whole path", quote(text)));
  const bool is_place = text.find('/') != std::string::npos;
  if (is_place ? !can_run(text) : !is_on_path(text))
    throw Error(fmt::format("found {}: it is no program that can be run{}", quote(text), is_place ? "" : " by a name on PATH; a file in the working folder is ./" + text));
  return is_place ? std::filesystem::absolute(text).string() : text;
}

WorkerCommand worker_command(const Installation& installation, const BackendCode& code) {
  std::vector<std::string> words{installation.executable, "worker"};
  if (!code.interpreter.empty()) {
    words = {code.interpreter, installation.python + "/worker.py", "--engine", installation.engine, "--backend", code.file};
    if (!code.python_class.empty()) words.insert(words.end(), {"--class", code.python_class});
  } else if (!code.file.empty()) {
    words.insert(words.end(), {"--plugin", code.file});
  }
  return {std::move(words), installation.variables};
}

std::string shipped_folder(const Installation& installation) { return installation.python + "/attn_regress/backends"; }

std::set<std::string> shipped_backends(const Installation& installation) {
  std::set<std::string> names;
  for (const std::string& file : python_files(shipped_folder(installation))) {
    std::string name = std::filesystem::path(file).lexically_relative(shipped_folder(installation)).replace_extension().string();
    std::ranges::replace(name, '/', '.');
    names.insert(name);
  }
  return names;
}

namespace {

PluginFacts describe(WorkerPool& workers, const BackendCode& code, const std::string& device, std::chrono::nanoseconds patience) {
  PluginFacts facts;
  facts.code = code;
  std::error_code ignored;
  const bool shipped = !code.interpreter.empty() && code.python_class.empty();
  if (!code.file.empty() && !shipped && !std::filesystem::is_regular_file(code.file, ignored)) {
    facts.fault.emplace();
    // A plugin may be built on other machines only; a Python file that is not there is a mistake of the suite's, like a class that is not in it.
    facts.fault->status = code.python_class.empty() ? Status::unsupported : Status::failed;
    facts.fault->reason = fmt::format("{} is no regular file", code.file);
    return facts;
  }
  facts.fingerprint = fingerprint_of(code.file);
  try {
    std::unique_ptr<Worker> worker = workers.take(code, device, {patience, patience});
    facts.fault = worker->fault();
    if (facts.fault && facts.fault->status == Status::crashed && !code.interpreter.empty()) facts.fault->reason += fmt::format(" by the interpreter {}", code.interpreter);
    facts.environment = worker->facts().environment;
    facts.backends = worker->facts().backends;
    facts.loading_output = worker->loading_output();
    workers.give_back(code, std::move(worker));
  } catch (const Error& error) {
    if (code.interpreter.empty()) throw;
    facts.fault.emplace();
    facts.fault->status = Status::unsupported;
    facts.fault->reason = std::string(error.what()) + ": --python, or interpreter: of the suite's entry, names another Python";
  }
  return facts;
}

}  // namespace

std::string loaded_anew_line(const std::string& loading_output) {
  constexpr std::string_view kSpeaker = "attn-regress: ", kSaid = "starts the interpreter anew";
  std::istringstream lines(loading_output);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(kSpeaker) && line.ends_with(kSaid)) return line.substr(kSpeaker.size());
  return "";
}

PluginFacts describe_plugin(WorkerPool& workers, const BackendCode& code, std::chrono::nanoseconds patience) { return describe(workers, code, "cpu", patience); }
PluginFacts describe_device(const Installation& installation, const std::string& device, std::chrono::nanoseconds patience, const std::atomic<bool>& interrupted) {
  WorkerPool workers(installation, interrupted);
  return describe(workers, {}, device, patience);
}

std::vector<PluginFacts> builtin_plugins(const Installation& installation, std::chrono::nanoseconds patience, const std::atomic<bool>& interrupted) {
  WorkerPool workers(installation, interrupted);
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(installation.backends, error))
    if (entry.path().extension() == ".so") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<PluginFacts> plugins;
  for (const std::string& file : files) plugins.push_back(describe_plugin(workers, {file, "", ""}, patience));
  return plugins;
}

}  // namespace attn
