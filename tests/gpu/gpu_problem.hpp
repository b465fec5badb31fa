#pragma once
// A problem of tests/kernels on the card, and a backend opened on it as the harness opens it: tensors with NaN around them, a workspace in red zones.

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "problem.hpp"

namespace attn::test {

// Why nothing can run here; empty when something can.
std::string why_no_gpu();

// Throws std::runtime_error.
void must(cudaError_t code, const char* during);

// As find_backend, but throws when the plugin does not open.
const attn_backend& must_find(const char* file, const char* name);

class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes) { must(cudaMalloc(&data_, bytes), "cudaMalloc"); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  ~DeviceBytes() { cudaFree(data_); }
  unsigned char* data() const { return static_cast<unsigned char*>(data_); }

 private:
  void* data_ = nullptr;
};

struct Node {
  cudaGraphNodeType type;
  std::string name;         // of a kernel
  std::uint64_t bytes = 0;  // of a memcpy
};

class GpuSession {
 public:
  // Uploads the problem and opens the backend. Throws std::runtime_error with the backend's text. `options`: key, value, key, value, ...
  GpuSession(const attn_backend& backend, Problem& problem, std::vector<const char*> options = {});
  ~GpuSession();
  GpuSession(const GpuSession&) = delete;
  GpuSession& operator=(const GpuSession&) = delete;

  // Poisons outputs and workspace, runs, and brings the outputs back into the problem.
  void run();
  // The call as a graph; its kernels, memcpys and memsets in order of creation.
  std::vector<Node> nodes();
  // As run, through a graph.
  void replay();
  // Mean over `calls` back to back.
  double microseconds(int calls);
  bool workspace_kept() const;
  bool inputs_kept() const;

 private:
  void call();
  void poison();
  void fetch();
  cudaGraph_t capture();
  const attn_backend& backend_;
  Problem& problem_;
  std::map<const Tensor*, std::unique_ptr<DeviceBytes>> memory_;
  std::map<const DLTensor*, DLTensor> shown_;
  attn_tensors tensors_{};
  std::uint64_t workspace_bytes_ = 0;
  std::unique_ptr<DeviceBytes> workspace_;
  cudaStream_t stream_ = nullptr;
  void* state_ = nullptr;
  char text_[512] = {};
  attn_text why_{text_, sizeof text_};
};

}  // namespace attn::test
