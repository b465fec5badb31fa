#pragma once
// The two products of flash.cu's tile of scores, in registers that both share: a warp has 16 rows; of every 8 columns a thread has the neighbours 2t and 2t + 1
// in the rows g and g + 8 (g = lane / 4, t = lane % 4), as the tensor cores' mma instructions lay out their sums.

#include "cuda_backend.cuh"

namespace attn {

inline constexpr int kTileKeys = 64;

// Of `columns` columns: sums[column / 8][2 * (row / 8) + column % 2].
template <int columns>
using TileSums = float[columns / 8][4];

// 16-bit types on tensor cores, m16n8k16 with sums in fp32 (PTX ISA, "Matrix Fragments for mma.m16n8k16"; ldmatrix brings 8 x 8 blocks into that order). Lines of
// shared memory are an odd number of 16 bytes long, so that the eight rows of such a block lie in different banks.
template <class T>
struct TileProducts {
  static constexpr int depth = 16;  // columns of q and k are padded to a multiple of it
  static constexpr int pad = 8;

  // scores (16, kTileKeys) += q (16, columns) k^T (kTileKeys, columns)
  __device__ static void scores(TileSums<kTileKeys>& sums, const T* q, int q_line, const T* k, int k_line, int columns) {
    const int lane = threadIdx.x % 32, row = lane % 8, half = lane / 8 % 2, side = lane / 16;
    const std::uint32_t q_at = address(q + (half * 8 + row) * q_line + side * 8), k_at = address(k + (side * 8 + row) * k_line + half * 8);
#pragma unroll 4
    for (int from = 0; from < columns; from += depth) {
      std::uint32_t a[4];
      load(a, q_at + from * static_cast<int>(sizeof(T)));
#pragma unroll
      for (int n = 0; n < kTileKeys / 8; n += 2) {
        std::uint32_t b[4];
        load(b, k_at + (n * 8 * k_line + from) * static_cast<int>(sizeof(T)));
        multiply(sums[n], a, b);
        multiply(sums[n + 1], a, b + 2);
      }
    }
  }

  // outputs (16, columns) += weights (16, kTileKeys) v (kTileKeys, columns); weights are rounded to T.
  template <int columns>
  __device__ static void outputs(float (*sums)[4], const TileSums<kTileKeys>& weights, const T* v, int v_line) {
    const int lane = threadIdx.x % 32, row = lane % 8, half = lane / 8 % 2, side = lane / 16;
    const std::uint32_t v_at = address(v + (half * 8 + row) * v_line + side * 8);
#pragma unroll
    for (int key = 0; key < kTileKeys; key += depth) {
      const auto& left = weights[key / 8];
      const auto& right = weights[key / 8 + 1];
      const std::uint32_t a[4] = {pair(left[0], left[1]), pair(left[2], left[3]), pair(right[0], right[1]), pair(right[2], right[3])};
#pragma unroll
      for (int n = 0; n < columns / 8; n += 2) {
        std::uint32_t b[4];
        load_transposed(b, v_at + (key * v_line + n * 8) * static_cast<int>(sizeof(T)));
        multiply(sums[n], a, b);
        multiply(sums[n + 1], a, b + 2);
      }
    }
  }

 private:
  __device__ static std::uint32_t address(const T* shared) { return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared)); }
  __device__ static void load(std::uint32_t (&to)[4], std::uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from));
  }
  __device__ static void load_transposed(std::uint32_t (&to)[4], std::uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from));
  }
  __device__ static void multiply(float (&c)[4], const std::uint32_t* a, const std::uint32_t* b) {
    if constexpr (std::is_same_v<T, __half>)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  __device__ static std::uint32_t pair(float low, float high) {
    const T both[2] = {narrow<T>(low), narrow<T>(high)};
    std::uint32_t bits;
    memcpy(&bits, both, sizeof bits);
    return bits;
  }
};

// fp32 on plain FMA: tensor cores would round the operands to 10 bits.
template <>
struct TileProducts<float> {
  static constexpr int depth = 4;
  static constexpr int pad = 4;

  __device__ static void scores(TileSums<kTileKeys>& sums, const float* q, int q_line, const float* k, int k_line, int columns) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll 1
    for (int from = 0; from < columns; from += depth) {
      const float4 a[2] = {four(q + g * q_line + from), four(q + (g + 8) * q_line + from)};
#pragma unroll
      for (int n = 0; n < kTileKeys / 8; ++n)
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          const float4 b = four(k + (n * 8 + 2 * t + side) * k_line + from);
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            float& sum = sums[n][2 * half + side];
            sum = fmaf(a[half].x, b.x, sum);
            sum = fmaf(a[half].y, b.y, sum);
            sum = fmaf(a[half].z, b.z, sum);
            sum = fmaf(a[half].w, b.w, sum);
          }
        }
    }
  }

  template <int columns>
  __device__ static void outputs(float (*sums)[4], const TileSums<kTileKeys>& weights, const float* v, int v_line) {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int tile = 0; tile < kTileKeys / 8; ++tile)
#pragma unroll 1
      for (int owner = 0; owner < 4; ++owner) {
        float weight[4];  // of the owner's two keys, in both rows
#pragma unroll
        for (int n = 0; n < 4; ++n) weight[n] = __shfl_sync(0xffffffffu, weights[tile][n], owner, 4);
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          const float* row = v + (tile * 8 + 2 * owner + side) * v_line + 2 * t;
#pragma unroll
          for (int n = 0; n < columns / 8; ++n) {
            const float2 value = *reinterpret_cast<const float2*>(row + n * 8);
            sums[n][0] = fmaf(weight[side], value.x, sums[n][0]);
            sums[n][1] = fmaf(weight[side], value.y, sums[n][1]);
            sums[n][2] = fmaf(weight[2 + side], value.x, sums[n][2]);
            sums[n][3] = fmaf(weight[2 + side], value.y, sums[n][3]);
          }
        }
      }
  }

 private:
  __device__ static float4 four(const float* at) { return *reinterpret_cast<const float4*>(at); }
};

}  // namespace attn
