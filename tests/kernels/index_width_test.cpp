// Offsets past 2^31 and 2^32: rows of every tensor lie so far apart that a 32-bit index, signed or not, wraps (pytorch#187227: every row of a mask behind element
// 2^32 was another one's). The memory is reserved, and only the pages that hold rows exist.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "abi/attn_dtype.hpp"
#include "plugin.hpp"
#include "problem.hpp"

namespace attn::test {
namespace {

constexpr std::int64_t kRows = 530;
constexpr std::int64_t kRowStride = std::int64_t{1} << 23;  // elements; row 256 begins at 2^31, row 512 at 2^32, where an unsigned index is that of row 0 again

class FarRows {
 public:
  explicit FarRows(std::size_t element_bytes) : size_(static_cast<std::size_t>(kRows * kRowStride) * element_bytes) {
    data_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (exist()) madvise(data_, size_, MADV_NOHUGEPAGE);  // a page a row, not 2 MiB
  }
  ~FarRows() {
    if (data_ != MAP_FAILED) munmap(data_, size_);
  }
  FarRows(const FarRows&) = delete;
  FarRows& operator=(const FarRows&) = delete;
  bool exist() const { return data_ != MAP_FAILED; }
  std::byte* row(std::int64_t s, std::size_t element_bytes) const { return static_cast<std::byte*>(data_) + static_cast<std::size_t>(s * kRowStride) * element_bytes; }

  // The tensor (1, 1, rows, columns) lies here from now on.
  void take(DLTensor& tensor, std::size_t element_bytes) const {
    const auto bytes = static_cast<std::size_t>(tensor.shape[3]) * element_bytes;
    for (std::int64_t s = 0; s < tensor.shape[2]; ++s)
      std::memcpy(row(s, element_bytes), static_cast<std::byte*>(tensor.data) + tensor.byte_offset + static_cast<std::size_t>(s * tensor.strides[2]) * element_bytes, bytes);
    tensor.data = data_;
    tensor.byte_offset = 0;
    tensor.strides[2] = kRowStride;
  }

 private:
  std::size_t size_;
  void* data_;
};

std::vector<float> rows_of(const DLTensor& tensor) {
  std::vector<float> values;
  for (std::int64_t s = 0; s < tensor.shape[2]; ++s)
    for (std::int64_t d = 0; d < tensor.shape[3]; ++d)
      values.push_back(load_element(static_cast<std::byte*>(tensor.data) + tensor.byte_offset, s * tensor.strides[2] + d, ATTN_BF16));
  return values;
}

struct Backend {
  const char* file;
  const char* name;
};
class IndexWidth : public testing::TestWithParam<Backend> {};

TEST_P(IndexWidth, RowsPast32BitsAreThoseOfTheTwin) {
  const attn_backend* backend = find_backend(GetParam().file, GetParam().name);
  if (!backend) GTEST_SKIP() << "lib" << GetParam().file << ".so was not built";
  const Spec spec{.heads = 1, .seq_q = kRows, .seq_kv = kRows, .head_dim = 8, .dtype = ATTN_BF16, .mask = Mask::boolean, .lse = false};
  Problem near(spec), far(spec);
  Session expected(*backend, near);
  expected.run();

  constexpr std::size_t kBf16 = 2, kBool = 1;
  const FarRows q(kBf16), k(kBf16), v(kBf16), o(kBf16), mask(kBool);
  for (const FarRows* rows : {&q, &k, &v, &o, &mask})
    if (!rows->exist()) GTEST_SKIP() << "no address space of " << kRows * kRowStride * 2 << " bytes";
  q.take(*far.q->dl(), kBf16);
  k.take(*far.k->dl(), kBf16);
  v.take(*far.v->dl(), kBf16);
  o.take(*far.o->dl(), kBf16);
  mask.take(*far.mask->dl(), kBool);
  Session found(*backend, far);
  ASSERT_EQ(found.call(), ATTN_OK);
  const std::vector<float> right = rows_of(*near.o->dl()), got = rows_of(*far.o->dl());
  ASSERT_EQ(right.size(), got.size());
  for (std::size_t i = 0; i < right.size(); ++i) ASSERT_NEAR(got[i], right[i], 0x1p-7 * std::abs(right[i]) + 1e-6) << "row " << i / 8;
}

const Backend kBackends[] = {{"chain", "naive"}, {"chain", "naive_inplace"}, {"chain", "math"}, {"flash", "flash"}};
INSTANTIATE_TEST_SUITE_P(Cpu, IndexWidth, testing::ValuesIn(kBackends), [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace attn::test
