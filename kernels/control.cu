// Fixed work, the same for every case: when these rows move, the machine moved, not attention.
//   control.bandwidth  three passes that read and write 256 MiB of workspace, five times the largest L2 cache: 1.5 GiB, 0.40 ms on an H200
//   control.matrix     fp16 products on tensor cores that stay in registers: 283 GFLOP, 0.46 ms on an H200
// They fill the outputs with zeros, which is no attention: the host never judges their numbers.

#include <mma.h>

#include "cuda_backend.cuh"

namespace {

struct Config {
  static constexpr std::int64_t bandwidth_bytes = 256 << 20;
  static constexpr int passes = 3, threads = 256, loads = 4;  // loads of 16 bytes a thread has in flight
  static constexpr int blocks = 2112, products = 2048, independent = 4;  // 16 x 16 x 16 a warp
  static_assert(bandwidth_bytes % (16 * loads * threads) == 0, "the memory is whole blocks");
  static_assert(products % independent == 0, "the products are dealt out evenly");
};

// Where a strided output of up to four axes lies.
struct Elements {
  char* data;
  int bytes;  // of an element
  std::int64_t shape[4], strides[4];
};

}  // namespace

__global__ void __launch_bounds__(Config::threads) control_stream(uint4* memory) {
  uint4* at = memory + static_cast<std::int64_t>(blockIdx.x) * Config::loads * Config::threads + threadIdx.x;
  uint4 words[Config::loads];
#pragma unroll
  for (int n = 0; n < Config::loads; ++n) words[n] = at[n * Config::threads];
#pragma unroll
  for (int n = 0; n < Config::loads; ++n) {
    words[n].x += 0x9e3779b9u;
    words[n].z += 0x7f4a7c15u;
    at[n * Config::threads] = words[n];
  }
}

__global__ void __launch_bounds__(Config::threads) control_matrix(float* sink) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[Config::independent];
  // Numbers of both signs, so that the sums stay small however long they get.
  for (int n = 0; n < a.num_elements; ++n) a.x[n] = __float2half(static_cast<float>((threadIdx.x * 7 + n * 3) % 17) / 8.0f - 1.0f);
  for (int n = 0; n < b.num_elements; ++n) b.x[n] = __float2half(static_cast<float>((threadIdx.x * 5 + n * 11) % 23) / 11.0f - 1.0f);
  for (auto& sum : sums) wmma::fill_fragment(sum, 0.0f);
  for (int product = 0; product < Config::products; product += Config::independent)
#pragma unroll
    for (auto& sum : sums) wmma::mma_sync(sum, a, b, sum);
  float total = 0;
  for (auto& sum : sums)
    for (int n = 0; n < sum.num_elements; ++n) total += sum.x[n];
  sink[static_cast<std::int64_t>(blockIdx.x) * Config::threads + threadIdx.x] = total;
}

__global__ void __launch_bounds__(Config::threads) control_fill(Elements to, std::int64_t count) {
  std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * Config::threads + threadIdx.x;
  if (index >= count) return;
  std::int64_t offset = 0;
  for (int axis = 3; axis >= 0; --axis) {
    offset += index % to.shape[axis] * to.strides[axis];
    index /= to.shape[axis];
  }
  if (to.bytes == 4) reinterpret_cast<std::uint32_t*>(to.data)[offset] = 0;
  else if (to.bytes == 2) reinterpret_cast<std::uint16_t*>(to.data)[offset] = 0;
  else to.data[offset] = 0;
}

namespace {

void fill_outputs(const attn_call& call) {
  const attn_tensors& t = *call.tensors;
  for (const DLTensor* tensor : {t.o, t.lse, t.dq, t.dk, t.dv}) {
    if (!tensor) continue;
    Elements to{static_cast<char*>(tensor->data) + tensor->byte_offset, tensor->dtype.bits / 8, {1, 1, 1, 1}, {}};
    std::int64_t count = 1;
    for (int axis = 0; axis < tensor->ndim; ++axis) {
      to.shape[4 - tensor->ndim + axis] = tensor->shape[axis];
      to.strides[4 - tensor->ndim + axis] = tensor->strides[axis];
      count *= tensor->shape[axis];
    }
    attn::launch(control_fill, attn::divide_up(count, Config::threads), Config::threads, static_cast<cudaStream_t>(call.stream), "control_fill", to, count);
  }
}

constexpr std::uint64_t kEverything = ATTN_CAN_LSE | (ATTN_CAN_LSE - 1);

class Bandwidth {
 public:
  static constexpr attn::BackendInfo info{.name = "control.bandwidth", .can = kEverything, .flags = ATTN_FLAG_CONTROL, .device_type = ATTN_DEVICE_CUDA};
  static attn::Support supports(const attn_problem&, const attn_device_facts&) { return {Config::bandwidth_bytes}; }
  Bandwidth(const attn_problem&, const attn_tensors&, const attn_device_facts& device, const attn::Options& options) {
    options.allow({});
    attn::use_device(device, control_stream);
  }
  void run(const attn_call& call) {
    constexpr std::int64_t kBlocks = Config::bandwidth_bytes / (16 * Config::loads * Config::threads);
    for (int pass = 0; pass < Config::passes; ++pass)
      attn::launch(control_stream, kBlocks, Config::threads, static_cast<cudaStream_t>(call.stream), "control_stream", static_cast<uint4*>(call.workspace));
    fill_outputs(call);
  }
};

class Matrix {
 public:
  static constexpr attn::BackendInfo info{.name = "control.matrix", .can = kEverything, .flags = ATTN_FLAG_CONTROL, .device_type = ATTN_DEVICE_CUDA};
  static attn::Support supports(const attn_problem&, const attn_device_facts&) { return {std::uint64_t{Config::blocks} * Config::threads * sizeof(float)}; }
  Matrix(const attn_problem&, const attn_tensors&, const attn_device_facts& device, const attn::Options& options) {
    options.allow({});
    attn::use_device(device, control_matrix);
  }
  void run(const attn_call& call) {
    auto* sums = static_cast<float*>(call.workspace);
    attn::launch(control_matrix, Config::blocks, Config::threads, static_cast<cudaStream_t>(call.stream), "control_matrix", sums);
    fill_outputs(call);
  }
};

}  // namespace

ATTN_BACKENDS(Bandwidth, Matrix)
