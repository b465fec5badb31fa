#include "gpu_problem.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>

#include "plugin.hpp"

namespace attn::test {
namespace {

constexpr std::size_t kZone = 4096;

// The driver's name of a kernel node; empty when the driver does not say.
std::string kernel_name(cudaGraphNode_t node) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return {};
  static const auto params_of = reinterpret_cast<CUresult (*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*)>(dlsym(library, "cuGraphKernelNodeGetParams_v2"));
  static const auto name_of_function = reinterpret_cast<CUresult (*)(const char**, CUfunction)>(dlsym(library, "cuFuncGetName"));
  static const auto name_of_kernel = reinterpret_cast<CUresult (*)(const char**, CUkernel)>(dlsym(library, "cuKernelGetName"));
  CUDA_KERNEL_NODE_PARAMS params{};
  const char* name = nullptr;
  if (!params_of || !name_of_function || !name_of_kernel || params_of(node, &params) != CUDA_SUCCESS) return {};
  if (params.func) name_of_function(&name, params.func);
  else if (params.kern) name_of_kernel(&name, params.kern);
  return name ? name : "";
}

attn_device_facts facts() {
  int device = 0;
  must(cudaGetDevice(&device), "cudaGetDevice");
  cudaDeviceProp properties{};
  must(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  attn_device_facts result{};
  result.struct_size = sizeof result;
  result.device_type = ATTN_DEVICE_CUDA;
  result.device_id = device;
  result.sm_major = properties.major;
  result.sm_minor = properties.minor;
  result.sm_count = properties.multiProcessorCount;
  result.memory_bytes = properties.totalGlobalMem;
  result.shared_optin_bytes = properties.sharedMemPerBlockOptin;
  return result;
}

}  // namespace

std::string why_no_gpu() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0) return {};
  cudaGetLastError();
  return code == cudaSuccess ? "there is no CUDA device" : cudaGetErrorString(code);
}

void must(cudaError_t code, const char* during) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(during) + ": " + cudaGetErrorString(code));
}

const attn_backend& must_find(const char* file, const char* name) {
  const attn_backend* backend = find_backend(file, name);
  if (!backend) throw std::runtime_error(std::string("lib") + file + ".so does not open");
  return *backend;
}

GpuSession::GpuSession(const attn_backend& backend, Problem& problem, std::vector<const char*> options) : backend_(backend), problem_(problem) {
  if (problem.problem().needs & ~backend.can) throw std::runtime_error("the problem needs what the backend cannot");
  must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  const std::unique_ptr<Tensor>* all[] = {&problem.packed, &problem.q,         &problem.k,          &problem.v,        &problem.o,         &problem.lse, &problem.mask,
                                          &problem.alibi,  &problem.lengths_q, &problem.lengths_kv, &problem.starts_q, &problem.starts_kv, &problem.page_table};
  for (const auto* tensor : all) {
    if (!*tensor) continue;
    const auto& bytes = (*tensor)->bytes();
    auto& memory = memory_[tensor->get()] = std::make_unique<DeviceBytes>(bytes.size());
    must(cudaMemcpy(memory->data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "cudaMemcpy to the device");
  }
  tensors_ = problem.tensors();
  for (DLTensor** tensor : {&tensors_.q, &tensors_.k, &tensors_.v, &tensors_.o, &tensors_.lse, &tensors_.mask, &tensors_.alibi, &tensors_.lengths_q, &tensors_.lengths_kv,
                            &tensors_.starts_q, &tensors_.starts_kv, &tensors_.page_table}) {
    if (!*tensor) continue;
    DLTensor& shown = shown_[*tensor] = **tensor;
    for (const auto& [owner, memory] : memory_) {
      const auto distance = static_cast<const unsigned char*>(shown.data) - owner->bytes().data();
      if (distance < 0 || distance >= static_cast<std::ptrdiff_t>(owner->bytes().size())) continue;
      shown.data = memory->data() + distance;
      break;
    }
    shown.device = {ATTN_DEVICE_CUDA, 0};
    *tensor = &shown;
  }
  const attn_device_facts device = facts();
  attn_support support{};
  support.struct_size = sizeof support;
  if (backend.supports(backend.self, &problem.problem(), &device, &support, &why_) != ATTN_OK) throw std::runtime_error(text_);
  workspace_bytes_ = support.workspace_bytes;
  workspace_ = std::make_unique<DeviceBytes>(workspace_bytes_ + 2 * kZone);
  tensors_.workspace = workspace_->data() + kZone;
  tensors_.workspace_bytes = workspace_bytes_;
  must(cudaMemset(workspace_->data(), 0xff, workspace_bytes_ + 2 * kZone), "cudaMemset");
  must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::vector<const char*> keys, values;
  for (std::size_t i = 0; i + 1 < options.size(); i += 2) {
    keys.push_back(options[i]);
    values.push_back(options[i + 1]);
  }
  const attn_options list{sizeof(attn_options), static_cast<std::uint32_t>(keys.size()), keys.data(), values.data()};
  if (backend.open(backend.self, &problem.problem(), &tensors_, &device, &list, &state_, &why_) != ATTN_OK) throw std::runtime_error(text_);
}

GpuSession::~GpuSession() {
  if (state_) backend_.close(state_);
  if (stream_) cudaStreamDestroy(stream_);
}

void GpuSession::call() {
  const attn_call call{sizeof(attn_call), ATTN_CALL_ALL, stream_, &tensors_, tensors_.workspace, workspace_bytes_, nullptr};
  if (backend_.run(state_, &call, &why_) != ATTN_OK) throw std::runtime_error(text_);
  must(cudaGetLastError(), "an error that run left behind");
}

void GpuSession::poison() {
  for (const auto* tensor : {&problem_.o, &problem_.lse})
    if (*tensor) must(cudaMemsetAsync(memory_[tensor->get()]->data(), 0xff, (*tensor)->bytes().size(), stream_), "cudaMemsetAsync");
  must(cudaMemsetAsync(tensors_.workspace, 0xff, workspace_bytes_, stream_), "cudaMemsetAsync");
}

void GpuSession::fetch() {
  must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  for (const auto* tensor : {&problem_.o, &problem_.lse}) {
    if (!*tensor) continue;
    const auto& bytes = (*tensor)->bytes();
    must(cudaMemcpy(const_cast<unsigned char*>(bytes.data()), memory_[tensor->get()]->data(), bytes.size(), cudaMemcpyDeviceToHost), "cudaMemcpy to the host");
  }
}

void GpuSession::run() {
  poison();
  call();
  fetch();
}

cudaGraph_t GpuSession::capture() {
  cudaGraph_t graph = nullptr;
  must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  try {
    call();
  } catch (...) {
    cudaStreamEndCapture(stream_, &graph);
    cudaGetLastError();
    throw;
  }
  must(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
  return graph;
}

std::vector<Node> GpuSession::nodes() {
  const cudaGraph_t graph = capture();
  std::size_t count = 0;
  must(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> list(count);
  must(cudaGraphGetNodes(graph, list.data(), &count), "cudaGraphGetNodes");
  std::vector<Node> result;
  for (const cudaGraphNode_t node : list) {
    Node& found = result.emplace_back();
    must(cudaGraphNodeGetType(node, &found.type), "cudaGraphNodeGetType");
    if (found.type == cudaGraphNodeTypeKernel) found.name = kernel_name(node);
    if (found.type != cudaGraphNodeTypeMemcpy) continue;
    cudaMemcpy3DParms params{};
    must(cudaGraphMemcpyNodeGetParams(node, &params), "cudaGraphMemcpyNodeGetParams");
    found.bytes = params.extent.width * params.extent.height * params.extent.depth;
  }
  cudaGraphDestroy(graph);
  return result;
}

void GpuSession::replay() {
  const cudaGraph_t graph = capture();
  cudaGraphExec_t runnable = nullptr;
  must(cudaGraphInstantiate(&runnable, graph, 0), "cudaGraphInstantiate");
  poison();
  must(cudaGraphLaunch(runnable, stream_), "cudaGraphLaunch");
  fetch();
  cudaGraphExecDestroy(runnable);
  cudaGraphDestroy(graph);
}

double GpuSession::microseconds(int calls) {
  cudaEvent_t start = nullptr, end = nullptr;
  must(cudaEventCreate(&start), "cudaEventCreate");
  must(cudaEventCreate(&end), "cudaEventCreate");
  call();
  must(cudaEventRecord(start, stream_), "cudaEventRecord");
  for (int n = 0; n < calls; ++n) call();
  must(cudaEventRecord(end, stream_), "cudaEventRecord");
  must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  float milliseconds = 0;
  must(cudaEventElapsedTime(&milliseconds, start, end), "cudaEventElapsedTime");
  cudaEventDestroy(start);
  cudaEventDestroy(end);
  return 1000.0 * static_cast<double>(milliseconds) / calls;
}

bool GpuSession::workspace_kept() const {
  std::vector<unsigned char> zone(kZone);
  for (const unsigned char* start : {workspace_->data(), workspace_->data() + kZone + workspace_bytes_}) {
    must(cudaMemcpy(zone.data(), start, kZone, cudaMemcpyDeviceToHost), "cudaMemcpy to the host");
    if (std::any_of(zone.begin(), zone.end(), [](unsigned char byte) { return byte != 0xff; })) return false;
  }
  return true;
}

bool GpuSession::inputs_kept() const {
  for (const auto& [tensor, memory] : memory_) {
    if (tensor == problem_.o.get() || tensor == problem_.lse.get()) continue;
    std::vector<unsigned char> now(tensor->bytes().size());
    must(cudaMemcpy(now.data(), memory->data(), now.size(), cudaMemcpyDeviceToHost), "cudaMemcpy to the host");
    if (now != tensor->bytes()) return false;
  }
  return true;
}

}  // namespace attn::test
