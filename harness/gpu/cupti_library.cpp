#include "gpu/cupti_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <cstdlib>
#include <vector>

#include "base/shared_library.hpp"
#include "gpu/loaded_libraries.hpp"

namespace attn {
namespace {

// Before 13.0 the version just counted.
constexpr struct {
  std::uint32_t api;
  const char* toolkit;
} kOldVersions[] = {{18, "11.8"}, {19, "12.0"}, {20, "12.2"}, {21, "12.3"}, {22, "12.4"}, {23, "12.5"},
                    {24, "12.6"}, {25, "12.7"}, {26, "12.8"}, {27, "12.9"}, {28, "12.9.1"}};

std::string version_text(std::uint32_t api) {
  if (api >= 130000) return fmt::format("{}.{}.{}", api / 10000, api / 100 % 100, api % 100);
  for (const auto& each : kOldVersions)
    if (each.api == api) return each.toolkit;
  return fmt::format("of API version {}", api);
}

std::uint32_t major(std::uint32_t api) { return api >= 130000 ? api / 10000 : api >= 19 ? 12 : 11; }

constexpr int kMajor = CUDA_VERSION / 1000;
const std::string kSoname = fmt::format("libcupti.so.{}", kMajor);

bool exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

// The file that this process would use: two copies of CUPTI in one process fight for the driver's hooks, so one that is loaded goes first, whatever its version.
std::string found_library() {
  if (const std::string path = loaded_library(kSoname); !path.empty()) return path;
  if (const std::string path = loaded_library("libcupti.so"); !path.empty()) return path;
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(variable); root && *root) roots.emplace_back(root);
  roots.push_back(fmt::format("/usr/local/cuda-{}", kMajor));
  roots.emplace_back("/usr/local/cuda");
  roots.emplace_back("/opt/cuda");
  for (const std::string& root : roots)
    for (const char* folder : {"extras/CUPTI/lib64", "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"})
      if (const std::string path = fmt::format("{}/{}/{}", root, folder, kSoname); exists(path)) return path;
  return kSoname;
}

// A library that has hooked the driver must never be unloaded, so that it stays open until the process ends.
const SharedLibrary& opened(const std::string& path) {
  static std::vector<SharedLibrary>& kept = *new std::vector<SharedLibrary>;
  try {
    kept.emplace_back(path);
  } catch (const Error& error) {
    throw Error(fmt::format("CUPTI cannot be opened: {}. Looked for {} in the process, under $CUDA_HOME, $CUDA_PATH and /usr/local/cuda, then where the loader looks. "
                            "Install the package cuda-cupti of CUDA {} or set CUDA_HOME; timing alone works without it: --gates latency,numerics",
                            error.what(), kSoname, kMajor));
  }
  return kept.back();
}

}  // namespace

CuptiLibrary::CuptiLibrary(const std::string& wanted) {
  const SharedLibrary& library = opened(wanted.empty() ? found_library() : wanted);
  const auto find = [&](auto& function, const char* name) {
    function = library.find<std::remove_reference_t<decltype(function)>>(name);
    if (!function) throw Error(fmt::format("{} is no CUPTI that can be used: it has no {}", wanted.empty() ? found_library() : wanted, name));
  };
  find(get_version, "cuptiGetVersion");
  Dl_info place{};
  path = dladdr(reinterpret_cast<void*>(get_version), &place) && place.dli_fname ? place.dli_fname : wanted;
  find(result_string, "cuptiGetResultString");
  check(get_version(&api_version_), "cuptiGetVersion");
  version = version_text(api_version_);
  // Records grow at their end within a major version; between two of them even their meaning changed.
  if (major(api_version_) != major(CUPTI_API_VERSION))
    throw Error(fmt::format("the process has CUPTI {} ({}), but this build needs CUPTI {}: its records have another layout. Use an interpreter whose libraries are built "
                            "for CUDA {} (torch: a +cu{}x wheel), or an attn-regress built with CUDA {}",
                            version, path, major(CUPTI_API_VERSION), kMajor, kMajor, major(api_version_)));
  subscribe_v2_ = library.find<void*>("cuptiSubscribe_v2");
  find(subscribe, "cuptiSubscribe");
  find(unsubscribe, "cuptiUnsubscribe");
  find(enable_callback, "cuptiEnableCallback");
  find(enable, "cuptiActivityEnable");
  find(disable, "cuptiActivityDisable");
  find(register_callbacks, "cuptiActivityRegisterCallbacks");
  find(flush_all, "cuptiActivityFlushAll");
  find(next_record, "cuptiActivityGetNextRecord");
  find(dropped_records, "cuptiActivityGetNumDroppedRecords");
  find(set_attribute, "cuptiActivitySetAttribute");
  find(callback_name, "cuptiGetCallbackName");
  find(timestamp, "cuptiGetTimestamp");
}

std::string CuptiLibrary::text(CUptiResult result, const std::string& during) const {
  const char* name = nullptr;
  if (result_string(result, &name) != CUPTI_SUCCESS || !name) name = "a code it has no name for";
  return fmt::format("CUPTI {}, {}: error {}, {}", version, during, static_cast<int>(result), name);
}

void CuptiLibrary::check(CUptiResult result, const std::string& during) const {
  if (result != CUPTI_SUCCESS) throw Error(fmt::format("{}: {}", text(result, during), mend(result)), Fault::internal);
}

std::string CuptiLibrary::mend(CUptiResult result) const {
  const int code = static_cast<int>(result);
  switch (code) {
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    case CUPTI_ERROR_MAX_LIMIT_REACHED:  // what CUPTI before 11.3 said to a second subscriber
      return fmt::format("another profiler holds CUPTI in this process{}: run without nsys, ncu, compute-sanitizer, cuda-gdb and without a framework's profiler; "
                         "timing alone still works: --gates latency,numerics",
                         holder());
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "this user may not profile the GPU: load the driver's module with NVreg_RestrictProfilingToAdminUsers=0, or run with CAP_SYS_ADMIN (a container: "
             "--cap-add=SYS_ADMIN; of a virtual GPU the host must allow profiling)";
    case CUPTI_ERROR_INVALID_DEVICE:
      return "CUPTI does not know this device: it may be older than the card, or another copy of CUPTI is in the process; take the CUPTI of the driver's CUDA version";
    case CUPTI_ERROR_NOT_INITIALIZED:
      return "CUPTI could not attach to the driver: it may be newer than the driver, or there is no driver; take the CUPTI of the driver's CUDA version or an "
             "older one of the same major version";
    case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
    case CUPTI_ERROR_HARDWARE_BUSY:
      return "another profiler uses the GPU: stop it (nsys, ncu, DCGM's profiling fields)";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED: return "this is a virtual GPU without profiling: ask its host to allow it, or measure times alone: --gates latency,numerics";
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED: return "the GPU runs in confidential computing mode, which CUPTI does not record";
    case CUPTI_ERROR_OUT_OF_MEMORY: return "there is too little memory for CUPTI's buffers";
    default: break;
  }
  // Codes of newer toolkits than the oldest one that this builds with.
  if (code == 43) return "the device is a MIG slice, which this CUPTI does not record: use a whole GPU, or measure times alone: --gates latency,numerics";
  if (code == 45) return "this CUPTI does not record under WSL: measure times alone: --gates latency,numerics";
  return "see the documentation of CUPTI for this code; timing alone may still work: --gates latency,numerics";
}

// ", namely X" as CUPTI says itself, ", probably X" by what is to be seen in the process, or nothing.
std::string CuptiLibrary::holder() const {
#if CUPTI_API_VERSION >= 130000
  // Only here: from 13.2 on subscribers of the second kind may not be mixed with those of the first.
  if (const auto again = reinterpret_cast<decltype(&::cuptiSubscribe_v2)>(subscribe_v2_); again && api_version_ < 130200) {
    char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1] = "";
    CUpti_SubscriberParams params{};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.oldSubscriberName = name;
    params.oldSubscriberSize = CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN;
    CUpti_SubscriberHandle subscriber = nullptr;
    if (again(&subscriber, nullptr, nullptr, &params) == CUPTI_SUCCESS) unsubscribe(subscriber);
    else if (*name && *name != '<') return fmt::format(", namely {}", name);
  }
#endif
  const std::string likely = likely_cupti_holder();
  return likely.empty() ? "" : ", probably " + likely;
}

std::string likely_cupti_holder() {
  constexpr struct {
    const char* library;
    const char* tool;
  } kLibraries[] = {{"libToolsInjection", "Nsight Systems"},     {"libnsys", "Nsight Systems"},        {"libcuda-injection", "Nsight Compute"},
                    {"libsanitizer-", "compute-sanitizer"},      {"libTreeLauncher", "a tool of NVIDIA's"}, {"libInterceptorInjectionTarget", "compute-sanitizer"},
                    {"libcudadebugger", "cuda-gdb"},             {"libnvperf_target", "a profiler that uses NVIDIA's perfworks"},
                    {"libkineto", "the torch profiler (kineto)"}, {"libtorch_cuda", "the torch profiler (kineto), if the backend uses it"}};
  constexpr struct {
    const char* variable;
    const char* tool;
  } kVariables[] = {{"CUDA_INJECTION64_PATH", "the tool that is injected"}, {"NSYS_PROFILING_SESSION_ID", "Nsight Systems"}, {"NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "Nsight"},
                    {"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "Nsight Compute"}, {"NV_SANITIZER_INJECTION_PORT_BASE", "compute-sanitizer"},
                    {"COMPUTE_SANITIZER_LAUNCHED", "compute-sanitizer"}, {"NVTX_INJECTION64_PATH", "the tool that is injected"}};
  for (const auto& [variable, tool] : kVariables)
    if (const char* value = std::getenv(variable); value && *value) return fmt::format("{} ({}={})", tool, variable, value);
  const std::vector<std::string> paths = loaded_libraries();
  for (const auto& [library, tool] : kLibraries)
    for (const std::string& each : paths)
      if (file_name(each).starts_with(library)) return fmt::format("{} ({} is loaded)", tool, file_name(each));
  if (const char* preloaded = std::getenv("LD_PRELOAD"); preloaded && *preloaded) return fmt::format("what is preloaded (LD_PRELOAD={})", preloaded);
  return "";
}

}  // namespace attn
