#pragma once
// Dropout by position: which weights of a row are kept depends on the seed and their place alone, so that a backward pass needs no stored mask and the same
// seed gives the same answer on any number of threads. Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).

#include <array>
#include <cmath>
#include <cstdint>

#include "abi/attn_abi.h"
#include "abi/attn_host_device.hpp"

namespace attn {

class Dropout {
 public:
  explicit Dropout(const attn_problem& problem)
      : threshold_(static_cast<std::uint64_t>(std::ldexp(problem.dropout, 32))), factor_(static_cast<float>(1.0 / (1.0 - problem.dropout))),
        key_{static_cast<std::uint32_t>(problem.dropout_seed), static_cast<std::uint32_t>(problem.dropout_seed >> 32)} {}

  ATTN_HOST_DEVICE explicit operator bool() const { return threshold_ > 0; }

  // to[j] = from[j] / (1 - p), or 0 with probability p. `row` is counted over (batch, heads, seq_q); from and to may be one. They begin with key `first` and
  // have `step` elements from key to key.
  ATTN_HOST_DEVICE void operator()(std::int64_t row, const float* from, float* to, std::int64_t count, std::int64_t first = 0, std::int64_t step = 1) const {
    std::array<std::uint32_t, 4> bits{};
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t key = first + j;
      if (j == 0 || key % 4 == 0) bits = block(static_cast<std::uint64_t>(row), static_cast<std::uint32_t>(key / 4));
      to[j * step] = bits[static_cast<std::size_t>(key % 4)] < threshold_ ? 0.0f : from[j * step] * factor_;
    }
  }

 private:
  ATTN_HOST_DEVICE std::array<std::uint32_t, 4> block(std::uint64_t row, std::uint32_t of_row) const {
    std::array<std::uint32_t, 4> counter{of_row, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), 0};
    std::array<std::uint32_t, 2> key = key_;
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t even = std::uint64_t{0xD2511F53u} * counter[0], odd = std::uint64_t{0xCD9E8D57u} * counter[2];
      counter = {static_cast<std::uint32_t>(odd >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(odd),
                 static_cast<std::uint32_t>(even >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(even)};
      key[0] += 0x9E3779B9u;
      key[1] += 0xBB67AE85u;
    }
    return counter;
  }

  std::uint64_t threshold_;
  float factor_;
  std::array<std::uint32_t, 2> key_;
};

}  // namespace attn
