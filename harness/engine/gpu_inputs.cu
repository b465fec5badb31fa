// Inputs and masks where they lie, by the recipes that the host's loops follow too.

#include <algorithm>
#include <string>

#include "engine/gpu_operands.hpp"
#include "engine/recipe.hpp"
#include "gpu/cuda.hpp"

namespace attn {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1 << 20;  // the loops stride over the grid

int blocks_for(std::int64_t items) { return static_cast<int>(std::clamp<std::int64_t>((items + kThreads - 1) / kThreads, 1, kMostBlocks)); }

// A view as a kernel gets it.
struct Target {
  void* data;
  std::int32_t dtype;
  std::int64_t extent[4], strides[4];  // extent: of the positions with an element of their own
  const std::int64_t* rows;            // (batch, seq) as in RowTable; null: by strides
  __device__ std::int64_t row(std::int64_t b, std::int64_t s) const { return rows ? rows[b * extent[2] + s] : b * strides[0] + s * strides[2]; }
};

// Text is joined by hand here: nvcc warns about fmt's formatting of long double, which it sees as device code.
Target target_of(const TensorView& t, const std::string& name) {
  if (!t.data) throw Error(name + " has no memory", Fault::internal);
  if (t.dtype < ATTN_FP32 || (t.dtype > ATTN_FP8_E5M2 && t.dtype != kBoolByte))
    throw Error(name + " has the dtype " + std::to_string(t.dtype) + ", which is none", Fault::internal);
  if (overlaps(t)) {
    std::string strides;
    for (const std::int64_t stride : t.strides) strides += (strides.empty() ? "" : ", ") + std::to_string(stride);
    throw Error("rows of " + name + " overlap (strides " + strides + "): a GPU cannot fill them in a fixed order");
  }
  if (t.rows && !t.rows.device) throw Error(name + " has rows that the device does not know", Fault::internal);
  Target target{t.data, t.dtype, {}, {}, t.rows.device};
  const auto extent = distinct_extent(t);
  std::copy_n(extent.begin(), 4, target.extent);
  std::copy_n(t.strides.begin(), 4, target.strides);
  return target;
}

// Batch entries first_batch .. end_batch - 1, whose sequences have the length `length`. A thread makes the two normals of one Philox block and the elements of
// one row that are made of them; rows of odd length share blocks with their neighbours.
__global__ void attn_harness_fill_input(const InputRecipe recipe, const Target target, std::int64_t first_batch, std::int64_t end_batch,
                                        std::int64_t length) {
  const std::int64_t blocks_of_row = (target.extent[3] + 1) / 2, rows = (end_batch - first_batch) * target.extent[1] * target.extent[2];
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < rows * blocks_of_row; i += step) {
    const std::int64_t row = i / blocks_of_row, s = row % target.extent[2], h = row / target.extent[2] % target.extent[1];
    const std::int64_t b = first_batch + row / target.extent[2] / target.extent[1];
    const std::int64_t first = ((b * recipe.heads + h) * recipe.seq + s) * recipe.dim, block = first / 2 + i % blocks_of_row;
    const std::int64_t start = target.row(b, s), base = start + h * target.strides[1];
    if (start < 0) continue;
    NormalPair normals{0, 0};
    if (recipe.random) normals = normal_pair(recipe.seed, recipe.stream, static_cast<std::uint64_t>(block));
    for (int half = 0; half < 2; ++half) {
      const std::int64_t number = 2 * block + half, d = number - first;
      if (d < 0 || d >= target.extent[3]) continue;
      const float value = input_value(recipe, h, s, d, number, s < length, half ? normals.odd : normals.even);
      store_element(target.data, base + d * target.strides[3], target.dtype, value);
    }
  }
}

__global__ void attn_harness_fill_mask(const MaskRecipe recipe, const Target target) {
  const std::int64_t count = recipe.batches * recipe.heads * recipe.rows * recipe.keys, step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const std::int64_t number = i / recipe.keys, key = i % recipe.keys, row = number % recipe.rows;
    const std::uint32_t bits = mask_is_random(recipe) ? mask_bits(recipe, number, key / 32) : 0;
    const bool shown = mask_shows(recipe, mask_line(recipe, number), key, bits);
    const std::int64_t at = number / recipe.rows / recipe.heads * target.strides[0] + number / recipe.rows % recipe.heads * target.strides[1] +
                            row * target.strides[2] + key * target.strides[3];
    if (recipe.boolean) {
      static_cast<std::uint8_t*>(target.data)[at] = shown;
      continue;
    }
    float value = shown ? 0.0f : recipe.fill;
    if (shown && recipe.biased) {
      const NormalPair normals = normal_pair(recipe.seed, RandomStream::mask_bias, static_cast<std::uint64_t>(i) / 2);
      value = i % 2 ? normals.odd : normals.even;
    }
    store_element(target.data, at, target.dtype, value);
  }
}

void fill_operand(const Case& c, std::uint64_t seed, Operand operand, const TensorView& view, const char* name, cudaStream_t stream) {
  const InputRecipe recipe = input_recipe(c, operand, seed);
  const Target target = target_of(view, name);
  const bool by_length = recipe.inputs == Inputs::poison_padding || operand == Operand::dout;
  // A launch for each run of batch entries of equal length: lengths need no memory on the device then.
  for (std::int64_t first = 0, end = 0; first < target.extent[0]; first = end) {
    const std::int64_t length = length_of(c, operand, first);
    for (end = first + 1; end < target.extent[0] && (!by_length || length_of(c, operand, end) == length);) ++end;
    const std::int64_t items = (end - first) * target.extent[1] * target.extent[2] * ((target.extent[3] + 1) / 2);
    attn_harness_fill_input<<<blocks_for(items), kThreads, 0, stream>>>(recipe, target, first, end, length);
    check_cuda(cudaGetLastError(), std::string("filling ") + name);
  }
}

}  // namespace

void gpu_fill_inputs(const Case& value, std::uint64_t seed, const TensorView& q, const TensorView& k, const TensorView& v, cudaStream_t stream) {
  fill_operand(value, seed, Operand::q, q, "q", stream);
  fill_operand(value, seed, Operand::k, k, "k", stream);
  fill_operand(value, seed, Operand::v, v, "v", stream);
}

void gpu_fill_mask(const Case& value, std::uint64_t seed, const TensorView& mask, cudaStream_t stream) {
  const MaskRecipe recipe = mask_recipe(value, mask.dtype, seed);
  const std::int64_t count = recipe.batches * recipe.heads * recipe.rows * recipe.keys;
  attn_harness_fill_mask<<<blocks_for(count), kThreads, 0, stream>>>(recipe, target_of(mask, "mask"));
  check_cuda(cudaGetLastError(), "filling the mask");
}

void gpu_fill_gradient(const Case& value, std::uint64_t seed, const TensorView& dout, cudaStream_t stream) {
  fill_operand(value, seed, Operand::dout, dout, "dout", stream);
}

}  // namespace attn
