#pragma once
// Random numbers by position: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). A number depends on (seed, stream,
// index) alone, never on strides, order or threads, and uses integers and one float product, so that a GPU kernel can produce the same bits.

#include <array>
#include <cstdint>

namespace attn {

// Ten rounds over one counter. Bit-equal to the authors' Random123.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// Independent sequences of one seed, one per tensor.
enum class RandomStream : std::uint32_t { q, k, v, dout, mask, mask_row, mask_bias, row_sample };

// Number `index` of the stream, uniform over 32 bits: word index % 4 of the block with counter (index / 4, stream).
std::uint32_t random_bits(std::uint64_t seed, RandomStream stream, std::uint64_t index);

// Approximately normal numbers first .. first + count - 1 (mean 0, deviation 1, within +-3.47). Number i is made of the words 2i and 2i + 1: the sum of their
// four 16-bit halves, minus its mean 131070, times float(sqrt(3) / 65536): Irwin-Hall, exact in integers but for the one product.
void random_normals(std::uint64_t seed, RandomStream stream, std::uint64_t first, std::int64_t count, float* out);

}  // namespace attn
