#include "run/installation.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "run/worker_process.hpp"

namespace attn {
namespace {

// FNV-1a over the file's bytes (Fowler, Noll, Vo); empty when it cannot be read.
std::string fingerprint_of(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return "";  // a pipe or a device may never end
  std::ifstream in(file, std::ios::binary);
  if (!in) return "";
  std::uint64_t hash = 0xcbf29ce484222325ull;
  char chunk[65536];
  while (in.read(chunk, sizeof chunk), in.gcount() > 0)
    for (std::streamsize i = 0; i < in.gcount(); ++i) hash = (hash ^ static_cast<unsigned char>(chunk[i])) * 0x100000001b3ull;
  return fmt::format("{:016x}", hash);
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

std::vector<std::string> worker_command(const Installation& installation, const BackendCode& code) {
  if (code.file.empty()) return {installation.executable, "worker"};
  if (code.python_class.empty()) return {installation.executable, "worker", "--plugin", code.file};
  return {code.interpreter, installation.python + "/worker.py", "--engine", installation.engine, "--backend", code.file, "--class", code.python_class};
}

namespace {

PluginFacts describe(const Installation& installation, const BackendCode& code, const std::string& device, std::chrono::nanoseconds patience,
                     const std::atomic<bool>& interrupted) {
  PluginFacts facts;
  facts.code = code;
  std::error_code ignored;
  if (!code.file.empty() && !std::filesystem::is_regular_file(code.file, ignored)) {
    facts.fault.emplace();
    // A plugin may be built on other machines only; a Python file that is not there is a mistake of the suite's, like a class that is not in it.
    facts.fault->status = code.python_class.empty() ? Status::unsupported : Status::failed;
    facts.fault->reason = fmt::format("{} is no regular file", code.file);
    return facts;
  }
  facts.fingerprint = fingerprint_of(code.file);
  try {
    Worker worker(worker_command(installation, code), device, {patience, patience}, interrupted);
    facts.fault = worker.fault();
    if (facts.fault && facts.fault->status == Status::crashed && !code.interpreter.empty()) facts.fault->reason += fmt::format(" by the interpreter {}", code.interpreter);
    facts.environment = worker.facts().environment;
    facts.backends = worker.facts().backends;
  } catch (const Error& error) {
    if (code.interpreter.empty()) throw;
    facts.fault.emplace();
    facts.fault->status = Status::unsupported;
    facts.fault->reason = std::string(error.what()) + ": interpreter: of the suite's entry names another Python";
  }
  return facts;
}

}  // namespace

PluginFacts describe_plugin(const Installation& installation, const BackendCode& code, std::chrono::nanoseconds patience, const std::atomic<bool>& interrupted) {
  return describe(installation, code, "cpu", patience, interrupted);
}
PluginFacts describe_device(const Installation& installation, const std::string& device, std::chrono::nanoseconds patience, const std::atomic<bool>& interrupted) {
  return describe(installation, {}, device, patience, interrupted);
}

std::vector<PluginFacts> builtin_plugins(const Installation& installation, std::chrono::nanoseconds patience, const std::atomic<bool>& interrupted) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(installation.backends, error))
    if (entry.path().extension() == ".so") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<PluginFacts> plugins;
  for (const std::string& file : files) plugins.push_back(describe_plugin(installation, {file, "", ""}, patience, interrupted));
  return plugins;
}

}  // namespace attn
