// Unfused attention on the card: right for every mask, layout, type and length; the kernels and copies it promises, counted in a captured graph.

#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>
#include <random>

#include "abi/attn_dtype.hpp"
#include "gpu_problem.hpp"
#include "plugin.hpp"
#include "reference.hpp"

namespace attn::test {
namespace {

struct Backend {
  const char* file;
  const char* name;
  std::vector<const char*> options = {};
  bool fp32_inside = false;
};

const Backend kBackends[] = {{"chain_cuda", "naive"},          {"chain_cuda", "naive_inplace"}, {"chain_cuda", "math", {}, true}, {"planted_cuda", "planted.copy"},
                             {"planted_cuda", "planted.slow", {"extra", "40%"}}, {"planted_cuda", "planted.path", {}, true}};

double half_ulp(std::int32_t dtype) { return dtype == ATTN_FP32 ? 0x1p-24 : dtype == ATTN_FP16 ? 0x1p-11 : 0x1p-8; }

float rounded(std::int32_t dtype, double value) {
  float memory = 0;
  store_element(&memory, 0, dtype, static_cast<float>(value));
  return load_element(&memory, 0, dtype);
}

// The row as an eager framework computes it: every step rounded to the case's type. What may be lost by that is what a backend may lose.
Row eager_row(const Problem& problem, std::int64_t b, std::int64_t h, std::int64_t i) {
  const Spec& s = problem.spec();
  const std::int64_t kv_head = h / (s.heads / s.heads_kv), keys = problem.keys(b);
  const std::int64_t offset = s.alignment == ATTN_BOTTOM_RIGHT ? keys - problem.queries(b) : 0;
  Row row;
  row.o.assign(static_cast<std::size_t>(s.head_dim_v), 0.0);
  std::vector<float> score(static_cast<std::size_t>(keys), -std::numeric_limits<float>::infinity());
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t j = 0; j < keys; ++j) {
    if (!sees(problem, b, h, i, j)) continue;
    float x = 0;
    for (std::int64_t d = 0; d < s.head_dim; ++d) x += static_cast<float>(problem.q->get({b, h, i, d})) * static_cast<float>(problem.k->get({b, kv_head, j, d}));
    x = rounded(s.dtype, rounded(s.dtype, x) * problem.problem().scale);
    if (s.softcap != 0) x = rounded(s.dtype, s.softcap * std::tanh(x / s.softcap));
    if (!s.slopes.empty()) x = rounded(s.dtype, x - s.slopes[static_cast<std::size_t>(h)] * static_cast<float>(std::llabs(i + offset - j)));
    if (s.mask == Mask::additive) x = rounded(s.dtype, x + problem.mask->get({b, h, i, j}));
    score[static_cast<std::size_t>(j)] = x;
    largest = std::max(largest, x);
  }
  if (std::isinf(largest)) return row;
  double total = 0;
  for (const float x : score) total += std::exp(static_cast<double>(x - largest));
  for (std::int64_t j = 0; j < keys; ++j) {
    const float weight = rounded(s.dtype, std::exp(static_cast<double>(score[static_cast<std::size_t>(j)] - largest)) / total);
    if (weight == 0.0f) continue;
    for (std::int64_t d = 0; d < s.head_dim_v; ++d) row.o[static_cast<std::size_t>(d)] += weight * problem.v->get({b, kv_head, j, d});
  }
  for (double& x : row.o) x = rounded(s.dtype, x);
  row.lse = largest + std::log(total);
  return row;
}

struct OutputPlace {
  std::int64_t b, h, i;
};

struct Expected {
  std::vector<OutputPlace> places;
  std::vector<Row> rows;
  double output_error = 0, lse_error = 0;  // of an eager evaluation, the worst: of the outputs relative to the row's largest value
};

// Every row, or about `sample` of them.
Expected expect(const Problem& problem, std::int64_t sample = 0) {
  const Spec& s = problem.spec();
  Expected expected;
  const std::int64_t count = s.batch * s.heads * s.seq_q, step = sample > 0 ? std::max<std::int64_t>(1, count / sample) : 1;
  for (std::int64_t first = 0; first < count; first += step) {
    const std::int64_t n = std::min(first + step, count) - 1;  // the last row is always one of them
    const OutputPlace at{n / s.seq_q / s.heads, n / s.seq_q % s.heads, n % s.seq_q};
    const Row row = reference_row(problem, at.b, at.h, at.i);
    if (s.dtype != ATTN_FP32 && !std::isinf(row.lse)) {
      const Row eager = eager_row(problem, at.b, at.h, at.i);
      for (std::size_t d = 0; d < row.o.size() && row.largest_value > 0; ++d)
        expected.output_error = std::max(expected.output_error, std::fabs(eager.o[d] - row.o[d]) / row.largest_value);
      expected.lse_error = std::max(expected.lse_error, std::fabs(eager.lse - row.lse));
    }
    expected.places.push_back(at);
    expected.rows.push_back(row);
  }
  return expected;
}

void expect_right(const Problem& problem, const Expected& expected, bool fp32_inside) {
  const Spec& s = problem.spec();
  const double rounding = half_ulp(s.dtype), of_steps = fp32_inside ? 0 : 2 * expected.output_error + 2 * rounding, of_lse = fp32_inside ? 0 : 2 * expected.lse_error;
  for (std::size_t n = 0; n < expected.rows.size(); ++n) {
    const Row& row = expected.rows[n];
    const auto [b, h, i] = expected.places[n];
    const std::string place = "row b" + std::to_string(b) + " h" + std::to_string(h) + " i" + std::to_string(i);
    for (std::int64_t d = 0; d < s.head_dim_v; ++d) {
      const double right = row.o[static_cast<std::size_t>(d)], got = problem.o->get({b, h, i, d});
      if (std::isnan(right)) ASSERT_TRUE(std::isnan(got)) << place << " d" << d << " is " << got << ", not NaN";
      else ASSERT_NEAR(got, right, (2e-5 + of_steps) * row.largest_value + rounding * std::fabs(right) + 1e-7) << place << " d" << d;
    }
    if (!problem.lse) continue;
    const double lse = problem.lse->get({b, h, i});
    if (std::isinf(row.lse)) ASSERT_EQ(lse, row.lse) << place;
    else ASSERT_NEAR(lse, row.lse, 2e-5 * (1.0 + std::fabs(row.lse)) + of_lse) << place;
  }
}

class Chain : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  }
  static const attn_backend& find(const char* file, const char* name) {
    const attn_backend* backend = find_backend(file, name);
    if (!backend) throw std::runtime_error(std::string("lib") + file + ".so does not open");
    return *backend;
  }
  // Every backend of the family on one problem. The second call finds what the first left behind, the third runs from a graph.
  static void check(const Spec& spec, std::int64_t sample = 0) {
    if (HasFatalFailure()) return;
    Problem problem(spec);
    const Expected expected = expect(problem, sample);
    for (const Backend& backend : kBackends) {
      SCOPED_TRACE(std::string(backend.name) + ": " + to_string(spec));
      try {
        GpuSession session(find(backend.file, backend.name), problem, backend.options);
        for (int call = 0; call < 3; ++call) {
          call < 2 ? session.run() : session.replay();
          expect_right(problem, expected, backend.fp32_inside);
          if (HasFatalFailure()) return;
        }
        EXPECT_TRUE(problem.o->untouched_outside());
        EXPECT_TRUE(!problem.lse || problem.lse->untouched_outside());
        EXPECT_TRUE(session.workspace_kept());
        EXPECT_TRUE(session.inputs_kept());
      } catch (const std::runtime_error& error) {
        FAIL() << error.what();
      }
    }
  }
};

TEST_F(Chain, SizesAtTileEdgesOfEveryType) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16, ATTN_BF16})
    for (const auto& [seq_q, seq_kv] : {std::pair{1, 1}, {1, 64}, {5, 7}, {16, 8}, {63, 65}, {64, 64}, {65, 72}, {130, 256}, {33, 257}})
      for (const std::int64_t head_dim : {16, 64, 33}) check({.seq_q = seq_q, .seq_kv = seq_kv, .head_dim = head_dim, .dtype = dtype});
}

// One kernel for each range of lengths, whole packs and single elements.
TEST_F(Chain, RowsOfEveryLength) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16, ATTN_BF16})
    for (const std::int64_t seq_kv : {256, 264, 1000, 1024, 1032, 1033, 4096, 4104, 5001, 16384, 16392, 16385, 40000, 40001})
      check({.heads = 1, .seq_q = 3, .seq_kv = seq_kv, .head_dim = 8, .dtype = dtype, .mask = Mask::causal, .alignment = ATTN_BOTTOM_RIGHT, .window_left = seq_kv - 9});
}

TEST_F(Chain, HeadsShareKeysInEveryLayout) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16, ATTN_BF16})
    for (const std::int32_t layout : {ATTN_BHSD, ATTN_BSHD, ATTN_SBHD})
      for (const std::int64_t seq_q : {1, 48}) {
        check({.batch = 2, .heads = 6, .heads_kv = 2, .seq_q = seq_q, .seq_kv = 48, .head_dim = 64, .dtype = dtype, .layout = layout});
        check({.batch = 3, .heads = 4, .heads_kv = 1, .seq_q = seq_q, .seq_kv = 45, .head_dim = 40, .head_dim_v = 24, .dtype = dtype, .layout = layout,
               .mask = Mask::causal, .alignment = ATTN_BOTTOM_RIGHT});
      }
  check({.batch = 2, .heads = 4, .heads_kv = 2, .seq_q = 20, .seq_kv = 20, .dtype = ATTN_BF16, .layout = ATTN_PACKED_QKV, .mask = Mask::causal});
}

TEST_F(Chain, CausalAndWindowsInBothAlignments) {
  for (const std::int32_t alignment : {ATTN_TOP_LEFT, ATTN_BOTTOM_RIGHT})
    for (const auto& [seq_q, seq_kv] : {std::pair{2, 4}, {4, 2}, {1, 8}, {70, 200}, {200, 72}}) {
      check({.seq_q = seq_q, .seq_kv = seq_kv, .mask = Mask::causal, .alignment = alignment});
      for (const auto& [left, right] : {std::pair{0, 0}, {2, -1}, {-1, 3}, {5, 70}})
        for (const Mask mask : {Mask::none, Mask::causal})
          check({.heads = 1, .seq_q = seq_q, .seq_kv = seq_kv, .dtype = ATTN_BF16, .mask = mask, .alignment = alignment, .window_left = left, .window_right = right});
    }
}

TEST_F(Chain, MaskTensorsOfEveryBroadcast) {
  for (const Mask mask : {Mask::boolean, Mask::additive})
    for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16})
      for (const std::int64_t seq_kv : {72, 70})
        for (int full = 0; full < 16; ++full)
          check({.batch = 2, .heads = 2, .seq_q = 9, .seq_kv = seq_kv, .dtype = dtype, .mask = mask, .mask_batch = (full & 1) != 0, .mask_head = (full & 2) != 0,
                 .mask_row = (full & 4) != 0, .mask_column = (full & 8) != 0});
}

TEST_F(Chain, ScalesSoftcapAndAlibi) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16, ATTN_BF16}) {
    for (const double scale : {1.0, 0.0, -0.25}) check({.seq_q = 20, .seq_kv = 72, .dtype = dtype, .scale = scale});
    for (const std::int32_t alignment : {ATTN_TOP_LEFT, ATTN_BOTTOM_RIGHT})
      check({.heads = 4, .heads_kv = 2, .seq_q = 20, .seq_kv = 75, .dtype = dtype, .mask = Mask::causal, .alignment = alignment, .softcap = 2.0,
             .slopes = {0.5f, 0.25f, 0.125f, 0.0625f}});
  }
}

// Padding is NaN: 0 * NaN must not come out.
TEST_F(Chain, LengthsWithEmptySequencesAndPoisonedPadding) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_BF16})
    for (const std::int32_t alignment : {ATTN_TOP_LEFT, ATTN_BOTTOM_RIGHT})
      for (const Mask mask : {Mask::none, Mask::causal}) {
        check({.batch = 4, .heads = 9, .heads_kv = 3, .seq_q = 1, .seq_kv = 5, .head_dim = 64, .dtype = dtype, .mask = mask, .alignment = alignment,
               .lengths_q = {0, 1, 0, 1}, .lengths_kv = {0, 3, 0, 5}});
        check({.batch = 3, .seq_q = 70, .seq_kv = 130, .dtype = dtype, .mask = mask, .alignment = alignment, .lengths_q = {70, 1, 33}, .lengths_kv = {65, 130, 1}});
        check({.batch = 2, .seq_q = 70, .seq_kv = 70, .dtype = dtype, .mask = mask, .alignment = alignment, .lengths_q = {5, 0}});
        check({.batch = 2, .seq_q = 3, .seq_kv = 70, .dtype = dtype, .mask = mask, .alignment = alignment, .lengths_kv = {5, 70}});
      }
}

TEST_F(Chain, DeadRowsFollowThePolicy) {
  for (const std::int32_t policy : {ATTN_DEAD_ZERO, ATTN_DEAD_NAN, ATTN_DEAD_MEAN})
    for (const std::int32_t dtype : {ATTN_FP32, ATTN_BF16}) {
      check({.seq_q = 6, .seq_kv = 16, .dtype = dtype, .mask = Mask::boolean, .pattern = Pattern::last_row_dead, .scale = 0.125, .dead_rows = policy});
      check({.seq_q = 6, .seq_kv = 10, .dtype = dtype, .mask = Mask::additive, .pattern = Pattern::last_row_dead, .dead_rows = policy});
      check({.seq_q = 6, .seq_kv = 3, .dtype = dtype, .mask = Mask::causal, .alignment = ATTN_BOTTOM_RIGHT, .dead_rows = policy});
      check({.batch = 2, .seq_q = 6, .seq_kv = 70, .dtype = dtype, .window_left = 0, .window_right = 0, .lengths_q = {6, 2}, .lengths_kv = {4, 0}, .dead_rows = policy});
    }
}

TEST_F(Chain, StridesAndMixedTypes) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16})
    for (const Stride stride : {Stride::expanded, Stride::transposed, Stride::sliced})
      for (const std::int32_t layout : {ATTN_BHSD, ATTN_BSHD}) {
        Spec spec{.batch = 2, .heads = 4, .seq_q = 24, .seq_kv = 16, .head_dim = 16, .dtype = dtype, .layout = layout, .mask = Mask::boolean};
        spec.q = spec.k = spec.v = stride;
        if (stride != Stride::expanded) spec.o = stride;
        check(spec);
      }
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16, ATTN_BF16})
    for (const std::int32_t dtype_kv : {ATTN_FP32, ATTN_FP16, ATTN_BF16}) check({.seq_q = 20, .seq_kv = 70, .head_dim = 60, .dtype = dtype, .dtype_kv = dtype_kv});
}

TEST_F(Chain, RandomProblems) {
  std::mt19937 random(2024);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int n = 0; n < 80; ++n) {
    Spec s;
    s.seed = static_cast<unsigned>(n);
    s.batch = 1 + below(3);
    s.heads_kv = 1 + below(2);
    s.heads = s.heads_kv * (1 + below(3));
    s.seq_q = below(2) ? 1 + below(8) : 1 + below(100);
    s.seq_kv = below(2) ? 1 + below(140) : 8 * (1 + below(17));
    s.head_dim = below(2) ? 1 + below(50) : 8 * (1 + below(6));
    s.head_dim_v = below(2) ? s.head_dim : 1 + below(50);
    s.dtype = static_cast<std::int32_t>(below(3));
    if (below(4) == 0) s.dtype_kv = static_cast<std::int32_t>(below(3));
    s.layout = static_cast<std::int32_t>(below(3));
    s.mask = static_cast<Mask>(below(4));
    s.pattern = static_cast<Pattern>(below(3));
    s.mask_batch = below(2);
    s.mask_head = below(2);
    s.mask_row = below(3);
    s.mask_column = below(3);
    s.alignment = static_cast<std::int32_t>(below(2));
    if (below(3) == 0) s.window_left = below(60);
    if (below(3) == 0) s.window_right = below(60);
    if (below(4) == 0) s.softcap = 1.0 + static_cast<double>(below(50));
    if (below(3) == 0) s.scale = static_cast<double>(below(9) - 4) / 8.0;
    if (below(4) == 0)
      for (std::int64_t h = 0; h < s.heads; ++h) s.slopes.push_back(1.0f / static_cast<float>(1 + h));
    if (below(4) == 0)
      for (std::int64_t b = 0; b < s.batch; ++b) s.lengths_q.push_back(static_cast<std::int32_t>(below(static_cast<std::uint32_t>(s.seq_q + 1))));
    if (below(4) == 0)
      for (std::int64_t b = 0; b < s.batch; ++b) s.lengths_kv.push_back(static_cast<std::int32_t>(below(static_cast<std::uint32_t>(s.seq_kv + 1))));
    s.dead_rows = static_cast<std::int32_t>(below(3));
    if (below(4) == 0) s.q = static_cast<Stride>(below(4));
    if (below(4) == 0) s.k = static_cast<Stride>(below(4));
    if (below(4) == 0) s.v = static_cast<Stride>(below(4));
    if (below(5) == 0) s.o = below(2) ? Stride::transposed : Stride::sliced;
    s.lse = below(2);
    check(s);
    if (HasFailure()) return;
  }
}

// ---- what runs

struct Counts {
  int kernels = 0, own_products = 0;
  std::vector<std::uint64_t> copies;
  std::string listing;
};

Counts count(GpuSession& session) {
  session.run();  // kernels are loaded when they first run
  Counts counts;
  for (const Node& node : session.nodes()) {
    if (node.type == cudaGraphNodeTypeKernel) {
      ++counts.kernels;
      counts.own_products += node.name.find("attn_chain_gemm") != std::string::npos;
      counts.listing += "\n  kernel " + node.name.substr(0, 90);
    } else if (node.type == cudaGraphNodeTypeMemcpy) {
      counts.copies.push_back(node.bytes);
      counts.listing += "\n  memcpy " + std::to_string(node.bytes);
    } else {
      counts.listing += node.type == cudaGraphNodeTypeMemset ? "\n  memset" : "\n  another node";
    }
  }
  return counts;
}

using testing::ElementsAre;
using testing::IsEmpty;

// Prefills of real models: cuBLASLt's products and no copy but the one that masking out of place makes.
TEST_F(Chain, PrefillIsFiveKernelsAndOneCopyOutOfPlace) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16, ATTN_BF16})
    for (const std::int32_t layout : {ATTN_BHSD, ATTN_BSHD})
      for (const std::int64_t heads_kv : {8, 2})
        for (const std::int64_t seq : {512, 1000}) {
          Problem problem({.batch = 2, .heads = 8, .heads_kv = heads_kv, .seq_q = seq, .seq_kv = seq, .head_dim = 64, .dtype = dtype, .layout = layout,
                           .mask = Mask::causal, .lse = false});
          SCOPED_TRACE(to_string(problem.spec()));
          const std::uint64_t scores = 2ull * 8 * static_cast<std::uint64_t>(seq * seq) * element_bytes(dtype);
          const auto counts_of = [&](const char* file, const char* name) {
            GpuSession session(find(file, name), problem);
            return count(session);
          };
          const Counts naive = counts_of("chain_cuda", "naive"), inplace = counts_of("chain_cuda", "naive_inplace"), copy = counts_of("planted_cuda", "planted.copy"),
                       slow = counts_of("planted_cuda", "planted.slow"), math = counts_of("chain_cuda", "math");
          EXPECT_EQ(naive.kernels, 5) << naive.listing;
          EXPECT_THAT(naive.copies, ElementsAre(scores)) << naive.listing;
          EXPECT_EQ(naive.own_products, 0) << naive.listing;
          EXPECT_EQ(inplace.kernels, 5) << inplace.listing;
          EXPECT_THAT(inplace.copies, IsEmpty()) << inplace.listing;
          EXPECT_EQ(copy.kernels, 5) << copy.listing;
          EXPECT_THAT(copy.copies, ElementsAre(scores, scores)) << copy.listing;
          EXPECT_EQ(slow.kernels, 5) << slow.listing;
          EXPECT_EQ(math.kernels, dtype == ATTN_FP32 ? 10 : 14) << math.listing;
          EXPECT_THAT(math.copies, IsEmpty()) << math.listing;
          if (seq == 512 && heads_kv == 2 && layout == ATTN_BSHD) std::printf("dtype %d naive:%s\nmath:%s\n", dtype, naive.listing.c_str(), math.listing.c_str());
        }
}

TEST_F(Chain, DecodeIsFiveKernelsToo) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16, ATTN_BF16})
    for (const std::int32_t layout : {ATTN_BHSD, ATTN_BSHD}) {
      Problem problem({.batch = 2, .heads = 32, .heads_kv = 8, .seq_q = 1, .seq_kv = 2048, .head_dim = 128, .dtype = dtype, .layout = layout, .mask = Mask::causal,
                       .alignment = ATTN_BOTTOM_RIGHT, .lse = false});
      GpuSession session(find("chain_cuda", "naive_inplace"), problem);
      const Counts counts = count(session);
      EXPECT_EQ(counts.kernels, 5) << counts.listing;
      EXPECT_EQ(counts.own_products, 0) << counts.listing;
      EXPECT_THAT(counts.copies, IsEmpty());
    }
}

// The shape of a public profiling tutorial: the clone is 268,435,456 bytes.
TEST_F(Chain, TheArticlesShape) {
  Problem problem({.batch = 8, .heads = 16, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64, .dtype = ATTN_BF16, .mask = Mask::causal, .lse = false});
  const Expected expected = expect(problem, 24);
  const auto measure = [&](const char* file, const char* name, bool fp32_inside, std::vector<const char*> options = {}) {
    GpuSession session(find(file, name), problem, std::move(options));
    const Counts counts = count(session);
    session.run();
    expect_right(problem, expected, fp32_inside);
    const double microseconds = session.microseconds(20);
    std::printf("%-18s %8.1f us, %d kernels, %zu copies%s\n", name, microseconds, counts.kernels, counts.copies.size(), counts.listing.c_str());
    return std::pair{counts, microseconds};
  };
  const auto [naive, naive_us] = measure("chain_cuda", "naive", false);
  EXPECT_EQ(naive.kernels, 5);
  EXPECT_THAT(naive.copies, ElementsAre(268'435'456u));
  const auto [inplace, inplace_us] = measure("chain_cuda", "naive_inplace", false);
  EXPECT_EQ(inplace.kernels, 5);
  EXPECT_THAT(inplace.copies, IsEmpty());
  measure("chain_cuda", "math", true);
  measure("planted_cuda", "planted.copy", false);
  const auto [slow, slow_us] = measure("planted_cuda", "planted.slow", false);
  const auto [slower, little_us] = measure("planted_cuda", "planted.slow", false, {"extra", "10%"});
  EXPECT_EQ(slow.kernels, 5);
  EXPECT_THAT(slow_us / naive_us, testing::AllOf(testing::Gt(1.7), testing::Lt(2.4)));
  EXPECT_THAT(little_us / naive_us, testing::AllOf(testing::Gt(1.04), testing::Lt(1.25)));
}

TEST_F(Chain, ControlsAreFixedWorkAndZeroTheOutputs) {
  for (const Stride stride : {Stride::dense, Stride::sliced})
    for (const char* name : {"control.bandwidth", "control.matrix"}) {
      Spec spec{.batch = 2, .heads = 3, .seq_q = 5, .seq_kv = 7, .dtype = ATTN_BF16};
      spec.o = stride;
      Problem problem(spec);
      GpuSession session(find("control_cuda", name), problem);
      const Counts counts = count(session);
      problem.o->each_index([&](const auto& index) { EXPECT_EQ(problem.o->get(index), 0.0); });
      problem.lse->each_index([&](const auto& index) { EXPECT_EQ(problem.lse->get(index), 0.0); });
      EXPECT_TRUE(problem.o->untouched_outside());
      EXPECT_TRUE(session.workspace_kept());
      EXPECT_THAT(counts.copies, IsEmpty());
      std::printf("%s %.1f us%s\n", name, session.microseconds(20), counts.listing.c_str());
    }
}

TEST_F(Chain, RefusesAnUnknownOption) {
  Problem problem({});
  const auto text = [&](std::vector<const char*> options) {
    try {
      GpuSession session(find("planted_cuda", "planted.slow"), problem, std::move(options));
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(text({"more", "1"}), "option `more` is unknown; known are: extra");
  EXPECT_EQ(text({"extra", "40"}), "option `extra` is `40`; allowed is a number from 0 to 100000 with `%`");
}

}  // namespace
}  // namespace attn::test
