// A problem laid out in any way and its contiguous twin have the same answer: one that depends on strides depends on chance. Bit for bit, but where BLAS itself
// reads a transposed operand: the chain's, in fp32.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "plugin.hpp"
#include "problem.hpp"

namespace attn::test {
namespace {

struct Backend {
  const char* file;
  const char* name;
};

std::vector<double> output(const attn_backend& backend, Problem& problem) {
  Session session(backend, problem);
  session.run();
  std::vector<double> values;
  problem.o->each_index([&](const std::vector<std::int64_t>& index) { values.push_back(problem.o->get(index)); });
  return values;
}

class Twins : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    backend_ = find_backend(GetParam().file, GetParam().name);
    if (!backend_) GTEST_SKIP() << "lib" << GetParam().file << ".so was not built";
  }
  // OpenBLAS' kernels for small products (SkylakeX and later) sum a transposed operand in another order. What is not fp32 is copied first, and o written behind.
  static bool reads_transposed(const Spec& spec) {
    return spec.dtype == ATTN_FP32 && (spec.q == Stride::transposed || spec.k == Stride::transposed || spec.v == Stride::transposed);
  }
  void expect_twin(const Spec& spec) {
    SCOPED_TRACE(to_string(spec));
    Spec contiguous = spec;
    contiguous.layout = ATTN_BHSD;
    contiguous.q = contiguous.k = contiguous.v = contiguous.o = Stride::dense;
    Problem view(spec), twin(contiguous);
    const auto same_as = [](const Tensor& tensor) { return [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) { return tensor.get({b, h, s, d}); }; };
    twin.fill_q(same_as(*view.q));
    twin.fill_k(same_as(*view.k));
    twin.fill_v(same_as(*view.v));
    const std::vector<double> expected = output(*backend_, twin), found = output(*backend_, view);
    if (std::string(GetParam().file) == "flash" || !reads_transposed(spec)) {
      EXPECT_EQ(found, expected);
      return;
    }
    // Two orders of a sum of n terms differ by about sqrt(n) roundings: 3 ulp were seen of 16 keys and 128 features, where 11 are allowed.
    const double terms = static_cast<double>(std::max(spec.seq_kv, spec.head_dim));
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    EXPECT_THAT(found, testing::Pointwise(testing::DoubleNear(std::sqrt(terms) * 0x1p-23 * largest), expected));
  }

 private:
  const attn_backend* backend_ = nullptr;
};

TEST_P(Twins, OfEveryStrideOfEveryTensor) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_BF16})
    for (const std::int64_t seq_q : {1, 40})
      for (const Stride stride : {Stride::transposed, Stride::sliced, Stride::expanded})
        for (int tensors = 1; tensors < 16; ++tensors) {
          if (stride == Stride::expanded && (tensors & 8)) continue;  // two heads would be written to one place
          Spec spec{.batch = 2, .heads = 4, .heads_kv = 2, .seq_q = seq_q, .seq_kv = 70, .head_dim = 16, .dtype = dtype, .mask = Mask::causal,
                    .alignment = ATTN_BOTTOM_RIGHT};
          for (Stride* each : {&spec.q, &spec.k, &spec.v, &spec.o})
            if (tensors >> (each == &spec.q ? 0 : each == &spec.k ? 1 : each == &spec.v ? 2 : 3) & 1) *each = stride;
          expect_twin(spec);
        }
}

TEST_P(Twins, OfEveryLayout) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_BF16})
    for (const std::int32_t layout : {ATTN_BSHD, ATTN_SBHD, ATTN_PACKED_QKV})
      for (const std::int64_t seq : {1, 20, 65})
        for (const std::int64_t heads_kv : {1, 2, 4})
          expect_twin({.batch = 2, .heads = 4, .heads_kv = heads_kv, .seq_q = seq, .seq_kv = seq, .head_dim = 16, .dtype = dtype, .layout = layout,
                       .mask = Mask::causal});
}

TEST_P(Twins, OfViewsWithAMask) {  // pytorch#112577: (1, 16, 1, 1, 16, 128), garbage twice
  for (const Stride stride : {Stride::transposed, Stride::sliced, Stride::expanded})
    expect_twin({.heads = 16, .heads_kv = 1, .seq_q = 1, .seq_kv = 16, .head_dim = 128, .mask = Mask::boolean, .k = stride, .v = stride});
}

const Backend kBackends[] = {{"chain", "naive"}, {"chain", "naive_inplace"}, {"chain", "math"}, {"flash", "flash"}};
INSTANTIATE_TEST_SUITE_P(Cpu, Twins, testing::ValuesIn(kBackends), [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace attn::test
