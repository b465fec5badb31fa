// `attn-regress worker`: the process that measures. Started by attn-regress itself.

#include <cstdio>
#include <memory>

#include "base/shared_library.hpp"
#include "cli/console.hpp"
#include "cli/subcommands.hpp"
#include "run/worker_main.hpp"

namespace attn {
namespace {

// One of the engine's checks of itself, in a process of its own.
ExitCode self_test(const std::string& what) {
  const SharedLibrary engine(this_installation().engine);
  const auto test = engine.find<const char* (*)(const char*)>("attn_self_test");
  if (!test) throw Error("the engine exports no attn_self_test", Fault::internal);
  const char* fault = test(what.c_str());
  if (fault) print(stdout, std::string(fault) + "\n");
  return fault ? ExitCode::internal_error : ExitCode::pass;
}

}  // namespace

Subcommand add_worker(CLI::App& program) {
  struct Options {
    std::string plugin;
    std::string self_test;
  };
  CLI::App* app = program.add_subcommand("worker", "Measures what is asked on descriptor 3; started by attn-regress itself")->group("");
  auto options = std::make_shared<Options>();
  app->add_option("--plugin", options->plugin, "The plugin to serve");
  app->add_option("--self-test", options->self_test, "Check the engine's reference, gpu-reference or gpu-records, and end");
  return {app, [options] {
            if (!options->self_test.empty()) return self_test(options->self_test);
            return static_cast<ExitCode>(worker_main(this_installation(), options->plugin));
          }};
}

}  // namespace attn
