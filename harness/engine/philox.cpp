#include "engine/philox.hpp"

namespace attn {

void random_normals(std::uint64_t seed, RandomStream stream, std::uint64_t first, std::int64_t count, float* out) {
  std::int64_t i = 0;
  const auto pair_at = [&](std::int64_t at) { return normal_pair(seed, stream, (first + static_cast<std::uint64_t>(at)) / 2); };
  if (count > 0 && first % 2 == 1) out[i++] = pair_at(0).odd;
  for (; i + 1 < count; i += 2) {
    const NormalPair pair = pair_at(i);
    out[i] = pair.even;
    out[i + 1] = pair.odd;
  }
  if (i < count) out[i] = pair_at(i).even;
}

}  // namespace attn
