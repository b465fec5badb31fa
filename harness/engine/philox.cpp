#include "engine/philox.hpp"

namespace attn {
namespace {

std::array<std::uint32_t, 4> block_of(std::uint64_t seed, RandomStream stream, std::uint64_t block) {
  return philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), static_cast<std::uint32_t>(stream), 0},
                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

float normal_of(std::uint32_t a, std::uint32_t b) {
  const auto sum = static_cast<std::int32_t>((a & 0xffffu) + (a >> 16) + (b & 0xffffu) + (b >> 16));
  return static_cast<float>(sum - 131070) * 2.64289974e-5f;  // sqrt(3) / 65536
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53u} * counter[0], odd = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(odd >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(odd),
               static_cast<std::uint32_t>(even >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(even)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

std::uint32_t random_bits(std::uint64_t seed, RandomStream stream, std::uint64_t index) { return block_of(seed, stream, index / 4)[index % 4]; }

void random_normals(std::uint64_t seed, RandomStream stream, std::uint64_t first, std::int64_t count, float* out) {
  std::int64_t i = 0;
  const auto number = [&](std::int64_t at) { return first + static_cast<std::uint64_t>(at); };
  if (count > 0 && first % 2 == 1) {
    const auto block = block_of(seed, stream, first / 2);
    out[i++] = normal_of(block[2], block[3]);
  }
  for (; i + 1 < count; i += 2) {
    const auto block = block_of(seed, stream, number(i) / 2);
    out[i] = normal_of(block[0], block[1]);
    out[i + 1] = normal_of(block[2], block[3]);
  }
  if (i < count) {
    const auto block = block_of(seed, stream, number(i) / 2);
    out[i] = normal_of(block[0], block[1]);
  }
}

}  // namespace attn
