// A tensor made dense, (batch, seq, heads, dim), within a GPU's memory.

#include <algorithm>

#include "engine/gpu_operands.hpp"
#include "gpu/cuda.hpp"

namespace attn {
namespace {

constexpr int kThreads = 256;

// Sizes and strides in units of what one thread moves at a time.
struct DenseCopy {
  const void* from;
  void* to;
  std::int64_t batch, heads, seq, dim;
  std::int64_t strides[4];
  const std::int64_t* rows;  // in elements of the tensor; null: by strides
  std::int64_t wide;         // elements of a unit
};

template <class Unit>
__device__ void copy_units(const DenseCopy& copy) {
  const std::int64_t count = copy.batch * copy.seq * copy.heads * copy.dim, step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const std::int64_t d = i % copy.dim, h = i / copy.dim % copy.heads, row = i / copy.dim / copy.heads, s = row % copy.seq, b = row / copy.seq;
    std::int64_t start = b * copy.strides[0] + s * copy.strides[2];
    if (copy.rows) {
      start = copy.rows[row];
      if (start < 0) {
        static_cast<Unit*>(copy.to)[i] = Unit{};
        continue;
      }
      start /= copy.wide;
    }
    static_cast<Unit*>(copy.to)[i] = static_cast<const Unit*>(copy.from)[start + h * copy.strides[1] + d * copy.strides[3]];
  }
}

bool divides(std::int64_t unit, std::int64_t bytes) { return bytes % unit == 0; }

}  // namespace

// Named in plain C, because its name is what counts and reports say.
extern "C" __global__ void harness_copy_merge_heads(const DenseCopy copy, int unit_bytes) {
  switch (unit_bytes) {
    case 16: return copy_units<uint4>(copy);
    case 8: return copy_units<uint2>(copy);
    case 4: return copy_units<std::uint32_t>(copy);
    case 2: return copy_units<std::uint16_t>(copy);
    default: return copy_units<std::uint8_t>(copy);
  }
}

void gpu_copy_dense(const TensorView& source, void* to, cudaStream_t stream) {
  const auto size = static_cast<std::int64_t>(element_bytes(source.dtype));
  const auto [batch, heads, seq, dim] = source.shape;
  std::int64_t unit = size;
  if (source.strides[3] == 1) {  // as wide as rows, strides and addresses allow
    const auto fits = [&](std::int64_t bytes) {
      return divides(bytes, dim * size) && divides(bytes, source.strides[0] * size) && divides(bytes, source.strides[1] * size) &&
             divides(bytes, source.strides[2] * size) && divides(bytes, static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(source.data))) &&
             divides(bytes, static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(to)));
    };
    while (unit < 16 && fits(unit * 2)) unit *= 2;
  }
  const std::int64_t wide = unit / size;
  const auto& strides = source.strides;
  const DenseCopy copy{source.data, to, batch, heads, seq, dim / wide, {strides[0] / wide, strides[1] / wide, strides[2] / wide, strides[3]}, source.rows.device, wide};
  const std::int64_t count = batch * heads * seq * copy.dim;
  if (count == 0) return;
  const auto blocks = static_cast<int>(std::min<std::int64_t>((count + kThreads - 1) / kThreads, 1 << 20));
  harness_copy_merge_heads<<<blocks, kThreads, 0, stream>>>(copy, static_cast<int>(unit));
  check_cuda(cudaGetLastError(), "harness_copy_merge_heads");
}

}  // namespace attn
