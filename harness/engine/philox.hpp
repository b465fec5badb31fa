#pragma once
// Random numbers by position: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). A number depends on (seed, stream,
// index) alone, never on strides, order or threads, and uses integers and one float product, so that a GPU kernel produces the same bits.

#include <array>
#include <cstdint>

#include "abi/attn_host_device.hpp"

namespace attn {

using PhiloxBlock = std::array<std::uint32_t, 4>;

// Ten rounds over one counter. Bit-equal to the authors' Random123.
ATTN_HOST_DEVICE inline PhiloxBlock philox4x32(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53u} * counter[0], odd = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(odd >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(odd),
               static_cast<std::uint32_t>(even >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(even)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// Independent sequences of one seed, one per tensor.
enum class RandomStream : std::uint32_t { q, k, v, dout, mask, mask_row, mask_bias, row_sample, pages, dropout };

ATTN_HOST_DEVICE inline PhiloxBlock random_block(std::uint64_t seed, RandomStream stream, std::uint64_t block) {
  return philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), static_cast<std::uint32_t>(stream), 0},
                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

// Number `index` of the stream, uniform over 32 bits: word index % 4 of the block with counter (index / 4, stream).
ATTN_HOST_DEVICE inline std::uint32_t random_bits(std::uint64_t seed, RandomStream stream, std::uint64_t index) {
  return random_block(seed, stream, index / 4)[index % 4];
}

// The approximately normal number (mean 0, deviation 1, within +-3.47) of two words: the sum of their four 16-bit halves, minus its mean 131070, times
// float(sqrt(3) / 65536): Irwin-Hall, exact in integers but for the one product.
ATTN_HOST_DEVICE inline float normal_of(std::uint32_t a, std::uint32_t b) {
  const auto sum = static_cast<std::int32_t>((a & 0xffffu) + (a >> 16) + (b & 0xffffu) + (b >> 16));
  return rounded_product(static_cast<float>(sum - 131070), 2.64289974e-5f);
}

// Normals 2 * block and 2 * block + 1 of the stream. Number i is made of the words 2i and 2i + 1.
struct NormalPair {
  float even, odd;
};
ATTN_HOST_DEVICE inline NormalPair normal_pair(std::uint64_t seed, RandomStream stream, std::uint64_t block) {
  const PhiloxBlock words = random_block(seed, stream, block);
  return {normal_of(words[0], words[1]), normal_of(words[2], words[3])};
}

// Normals first .. first + count - 1 of the stream.
void random_normals(std::uint64_t seed, RandomStream stream, std::uint64_t first, std::int64_t count, float* out);

}  // namespace attn
