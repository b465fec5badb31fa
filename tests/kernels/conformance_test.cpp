// Every backend against the definition of attention, on shapes where public libraries went wrong: tile edges, strides, masks, empty sequences, dead rows.

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "plugin.hpp"
#include "problem.hpp"
#include "reference.hpp"

namespace attn::test {
namespace {

struct Backend {
  const char* file;
  const char* name;
};

const Backend kBackends[] = {{"chain", "naive"},         {"chain", "naive_inplace"}, {"chain", "math"},        {"flash", "flash"},
                             {"planted", "planted.copy"}, {"planted", "planted.slow"}, {"planted", "planted.path"}};

// Half a unit in the last place of the output's format, relative.
double rounding(std::int32_t dtype) { return dtype == ATTN_FP32 ? 0x1p-24 : dtype == ATTN_FP16 ? 0x1p-11 : 0x1p-8; }

std::string place(std::int64_t b, std::int64_t h, std::int64_t i) {
  return "row b" + std::to_string(b) + " h" + std::to_string(h) + " i" + std::to_string(i);
}

std::vector<Row> reference_rows(const Problem& problem) {
  const Spec& s = problem.spec();
  std::vector<Row> rows;
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t i = 0; i < s.seq_q; ++i) rows.push_back(reference_row(problem, b, h, i));
  return rows;
}

void expect_right(const Problem& problem, const std::vector<Row>& rows) {
  const Spec& s = problem.spec();
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t i = 0; i < s.seq_q; ++i) {
        const Row& row = rows[static_cast<std::size_t>((b * s.heads + h) * s.seq_q + i)];
        for (std::int64_t d = 0; d < s.head_dim_v && problem.o->has(b, i); ++d) {
          const double expected = row.o[static_cast<std::size_t>(d)], got = problem.o->get({b, h, i, d});
          if (std::isnan(expected)) ASSERT_TRUE(std::isnan(got)) << place(b, h, i) << " d" << d << " is " << got << ", not NaN";
          else ASSERT_NEAR(got, expected, 2e-5 * row.largest_value + rounding(s.dtype) * std::fabs(expected) + 1e-7) << place(b, h, i) << " d" << d;
        }
        if (!problem.lse) continue;
        const double lse = problem.lse->get({b, h, i});
        if (std::isinf(row.lse)) ASSERT_EQ(lse, row.lse) << place(b, h, i);
        else ASSERT_NEAR(lse, row.lse, 1e-5 * (1.0 + std::fabs(row.lse))) << place(b, h, i);
      }
}

void check(const attn_backend& backend, const Spec& spec, int threads = 2) {
  SCOPED_TRACE(std::string(backend.name) + ": " + to_string(spec));
  Problem problem(spec);
  Session session(backend, problem, {}, threads);
  const std::vector<Row> rows = reference_rows(problem);
  const auto q = problem.q->bytes(), k = problem.k->bytes(), v = problem.v->bytes();
  for (int call = 0; call < 2; ++call) {  // the second one finds what the first left behind
    ASSERT_NO_THROW(session.run());
    expect_right(problem, rows);
    if (testing::Test::HasFatalFailure()) return;
    EXPECT_TRUE(problem.o->untouched_outside());
    EXPECT_TRUE(!problem.lse || problem.lse->untouched_outside());
    EXPECT_TRUE(session.workspace_kept());
  }
  EXPECT_TRUE(q == problem.q->bytes() && k == problem.k->bytes() && v == problem.v->bytes()) << "an input was written";
}

class Conformance : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    backend_ = find_backend(GetParam().file, GetParam().name);
    if (!backend_) GTEST_SKIP() << "lib" << GetParam().file << ".so was not built";
  }
  const attn_backend& backend() const { return *backend_; }

 private:
  const attn_backend* backend_ = nullptr;
};

TEST_P(Conformance, SizesAtTileEdges) {
  for (const std::int64_t seq_q : {1, 2, 5, 16, 17, 63, 64, 65, 130})
    for (const std::int64_t seq_kv : {1, 3, 63, 64, 65, 129}) check(backend(), {.heads = 2, .seq_q = seq_q, .seq_kv = seq_kv, .head_dim = 16});
}

TEST_P(Conformance, HeadDimensions) {
  for (const std::int64_t head_dim : {1, 3, 8, 60, 64, 80, 128, 256}) check(backend(), {.seq_q = 33, .seq_kv = 70, .head_dim = head_dim});
  check(backend(), {.seq_q = 33, .seq_kv = 70, .head_dim = 192, .head_dim_v = 128});
  check(backend(), {.seq_q = 2, .seq_kv = 70, .head_dim = 24, .head_dim_v = 33});
  check(backend(), {.seq_q = 20, .seq_kv = 70, .head_dim = 12, .head_dim_v = 1});
}

TEST_P(Conformance, HeadsShareKeys) {
  for (const auto& [heads, heads_kv] : {std::pair{6, 2}, {6, 3}, {4, 4}, {4, 1}, {12, 1}, {40, 2}})
    for (const std::int64_t seq_q : {1, 3, 40})
      check(backend(), {.batch = 2, .heads = heads, .heads_kv = heads_kv, .seq_q = seq_q, .seq_kv = 45, .mask = Mask::causal, .alignment = ATTN_BOTTOM_RIGHT});
}

TEST_P(Conformance, CausalInBothAlignments) {
  for (const std::int32_t alignment : {ATTN_TOP_LEFT, ATTN_BOTTOM_RIGHT})
    for (const auto& [seq_q, seq_kv] : {std::pair{2, 4}, {4, 2}, {1, 4}, {70, 70}, {70, 200}, {200, 70}, {3, 129}})
      check(backend(), {.seq_q = seq_q, .seq_kv = seq_kv, .mask = Mask::causal, .alignment = alignment});
}

// R28: garbage came from views of K and V with a mask. One case, laid out in several ways, gives the same answer but for the order of BLAS' sums.
TEST_P(Conformance, StrideTwinsAgree) {
  const auto output = [&](Stride kv, Stride q_and_o) {
    Problem problem({.heads = 16, .heads_kv = 1, .seq_q = 3, .seq_kv = 16, .head_dim = 128, .mask = Mask::boolean, .q = q_and_o, .k = kv, .v = kv, .o = q_and_o});
    const auto number = [](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) { return std::sin(static_cast<double>(1 + b + 3 * h + 7 * s + 11 * d)); };
    problem.fill_q(number);
    problem.fill_k(number);
    problem.fill_v(number);
    Session session(backend(), problem, {}, 2);
    session.run();
    std::vector<double> values;
    problem.o->each_index([&](const std::vector<std::int64_t>& index) { values.push_back(problem.o->get(index)); });
    return values;
  };
  const std::vector<double> contiguous = output(Stride::dense, Stride::dense);
  for (const Stride kv : {Stride::sliced, Stride::transposed, Stride::expanded}) EXPECT_THAT(output(kv, Stride::dense), testing::Pointwise(testing::DoubleNear(2e-6), contiguous));
  EXPECT_THAT(output(Stride::dense, Stride::sliced), testing::Pointwise(testing::DoubleNear(2e-6), contiguous));
}

TEST_P(Conformance, Windows) {
  for (const Mask mask : {Mask::none, Mask::causal})
    for (const std::int32_t alignment : {ATTN_TOP_LEFT, ATTN_BOTTOM_RIGHT})
      for (const auto& [left, right] : {std::pair{0, 0}, {2, -1}, {-1, 3}, {2, 0}, {5, 70}, {200, 200}})
        for (const auto& [seq_q, seq_kv] : {std::pair{6, 6}, {90, 150}, {150, 90}, {1, 80}})
          check(backend(), {.heads = 1, .seq_q = seq_q, .seq_kv = seq_kv, .mask = mask, .alignment = alignment, .window_left = left, .window_right = right});
}

TEST_P(Conformance, ScalesIncludingZeroAndNegative) {
  for (const double scale : {1.0, 0.0, -0.25, 0.125, 1.7}) check(backend(), {.seq_q = 20, .seq_kv = 70, .scale = scale});
  for (const double scale : {1.0, 0.0, -0.25}) check(backend(), {.seq_q = 1, .seq_kv = 70, .scale = scale});
}

TEST_P(Conformance, SoftcapAndAlibi) {
  for (const std::int64_t seq_q : {1, 4, 40})
    for (const std::int32_t alignment : {ATTN_TOP_LEFT, ATTN_BOTTOM_RIGHT}) {
      check(backend(), {.seq_q = seq_q, .seq_kv = 75, .softcap = 2.0, .scale = 1.0});
      check(backend(), {.seq_q = seq_q, .seq_kv = 75, .softcap = 30.0});
      check(backend(), {.heads = 4, .heads_kv = 2, .seq_q = seq_q, .seq_kv = 75, .alignment = alignment, .slopes = {0.5f, 0.25f, 0.125f, 0.0625f}});
      check(backend(), {.seq_q = seq_q, .seq_kv = 75, .mask = Mask::causal, .alignment = alignment, .softcap = 5.0, .slopes = {0.5f, 0.25f}});
    }
}

TEST_P(Conformance, MaskTensorsOfEveryBroadcast) {
  for (const Mask mask : {Mask::boolean, Mask::additive})
    for (int full = 0; full < 16; ++full)
      check(backend(), {.batch = 2, .heads = 2, .seq_q = 9, .seq_kv = 70, .mask = mask, .mask_batch = (full & 1) != 0, .mask_head = (full & 2) != 0,
                        .mask_row = (full & 4) != 0, .mask_column = (full & 8) != 0});
}

TEST_P(Conformance, MaskTensorsWithEverythingElse) {
  for (const Mask mask : {Mask::boolean, Mask::additive})
    for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16, ATTN_BF16})
      check(backend(), {.batch = 2, .heads = 4, .heads_kv = 2, .seq_q = 9, .seq_kv = 70, .dtype = dtype, .mask = mask, .mask_head = true,
                        .alignment = ATTN_BOTTOM_RIGHT, .window_left = 40, .softcap = 3, .slopes = {0.5f, 0.25f, 0.125f, 0.0625f},
                        .lengths_q = {9, 5}, .lengths_kv = {33, 70}});
}

TEST_P(Conformance, DeadRowsFollowThePolicy) {
  for (const std::int32_t policy : {ATTN_DEAD_ZERO, ATTN_DEAD_NAN, ATTN_DEAD_MEAN})
    for (const std::int64_t seq_q : {6, 40}) {
      check(backend(), {.heads = 2, .seq_q = seq_q, .seq_kv = 10, .head_dim = 8, .mask = Mask::boolean, .pattern = Pattern::last_row_dead, .scale = 0.125,
                        .dead_rows = policy});
      check(backend(), {.seq_q = seq_q, .seq_kv = 10, .mask = Mask::additive, .pattern = Pattern::last_row_dead, .dead_rows = policy});
      check(backend(), {.seq_q = seq_q, .seq_kv = 3, .mask = Mask::causal, .alignment = ATTN_BOTTOM_RIGHT, .dead_rows = policy});
      check(backend(), {.batch = 2, .seq_q = seq_q, .seq_kv = 70, .window_left = 0, .window_right = 0, .lengths_q = {6, 2}, .lengths_kv = {4, 0},
                        .dead_rows = policy});
    }
}

TEST_P(Conformance, AMaskOfFiniteMinimaIsNotDead) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_BF16})
    check(backend(), {.seq_q = 6, .seq_kv = 10, .dtype = dtype, .mask = Mask::additive, .pattern = Pattern::all_minimum});
}

TEST_P(Conformance, LengthsWithEmptySequences) {
  for (const std::int32_t alignment : {ATTN_TOP_LEFT, ATTN_BOTTOM_RIGHT})
    for (const Mask mask : {Mask::none, Mask::causal}) {
      check(backend(), {.batch = 4, .heads = 9, .heads_kv = 3, .seq_q = 1, .seq_kv = 5, .head_dim = 64, .mask = mask, .alignment = alignment,
                        .lengths_q = {0, 1, 0, 1}, .lengths_kv = {0, 3, 0, 5}});
      check(backend(), {.batch = 2, .seq_q = 2, .seq_kv = 2, .mask = mask, .alignment = alignment, .lengths_q = {0, 0}, .lengths_kv = {0, 0}});
      check(backend(), {.batch = 3, .seq_q = 70, .seq_kv = 130, .mask = mask, .alignment = alignment, .lengths_q = {70, 1, 33}, .lengths_kv = {65, 130, 1}});
      check(backend(), {.batch = 2, .seq_q = 70, .seq_kv = 70, .mask = mask, .alignment = alignment, .lengths_q = {5, 0}});
      check(backend(), {.batch = 2, .seq_q = 3, .seq_kv = 70, .mask = mask, .alignment = alignment, .lengths_kv = {5, 70}});
    }
}

// R41, where rows follow each other and where keys lie in pages.
TEST_P(Conformance, RaggedAndPagedWithEmptySequences) {
  for (const std::int32_t layout : {ATTN_BHSD, ATTN_BSHD, ATTN_THD})
    for (const std::int64_t page_size : {0, 1, 16})
      for (const std::int32_t alignment : {ATTN_TOP_LEFT, ATTN_BOTTOM_RIGHT})
        for (const Mask mask : {Mask::none, Mask::causal}) {
          check(backend(), {.batch = 4, .heads = 9, .heads_kv = 3, .seq_q = 1, .seq_kv = 5, .head_dim = 64, .layout = layout, .page_size = page_size, .mask = mask,
                            .alignment = alignment, .lengths_q = {0, 1, 0, 1}, .lengths_kv = {0, 3, 0, 5}});
          check(backend(), {.batch = 2, .seq_q = 2, .seq_kv = 2, .layout = layout, .page_size = page_size, .mask = mask, .alignment = alignment,
                            .lengths_q = {0, 0}, .lengths_kv = {0, 0}});
          check(backend(), {.batch = 3, .seq_q = 70, .seq_kv = 130, .layout = layout, .page_size = page_size, .mask = mask, .alignment = alignment,
                            .lengths_q = {70, 1, 33}, .lengths_kv = {65, 130, 1}});
        }
}

TEST_P(Conformance, PagesOfEverySizeAgainstBlocksOfKeys) {
  for (const std::int64_t page_size : {1, 7, 16, 63, 64, 65, 128, 256, 500})
    for (const std::int64_t seq_q : {1, 40})
      for (const std::int32_t dtype : {ATTN_FP32, ATTN_BF16})
        check(backend(), {.batch = 2, .heads = 4, .heads_kv = 2, .seq_q = seq_q, .seq_kv = 400, .dtype = dtype, .page_size = page_size, .mask = Mask::causal,
                          .alignment = ATTN_BOTTOM_RIGHT, .window_left = 250, .lengths_kv = {400, 130}});
}

// The same keys in the same order: where rows lie changes no bit of a sum. BLAS may sum a copy in another order than what it reads in place.
TEST_P(Conformance, RaggedAndPagedTwinsEqualThePaddedOneBitForBit) {
  const auto output = [&](std::int32_t layout, std::int64_t page_size, std::int64_t seq_q) {
    Problem problem({.batch = 3, .heads = 4, .heads_kv = 2, .seq_q = seq_q, .seq_kv = 150, .head_dim = 40, .layout = layout, .page_size = page_size,
                     .mask = Mask::causal, .alignment = ATTN_BOTTOM_RIGHT, .softcap = 7, .lengths_q = {1, 0, static_cast<std::int32_t>(seq_q)},
                     .lengths_kv = {150, 10, 77}});
    Session session(backend(), problem, {}, 2);
    session.run();
    std::vector<double> values;
    problem.o->each_index([&](const std::vector<std::int64_t>& index) {
      if (index[2] < problem.queries(index[0])) values.push_back(problem.o->get(index));
    });
    return values;
  };
  for (const std::int64_t seq_q : {1, 2, 50}) {
    const std::vector<double> padded = output(ATTN_BSHD, 0, seq_q);
    EXPECT_EQ(output(ATTN_THD, 0, seq_q), padded);
    EXPECT_EQ(output(ATTN_BSHD, 16, seq_q), padded);
    EXPECT_EQ(output(ATTN_THD, 64, seq_q), padded);
  }
}

TEST_P(Conformance, LayoutsAndStrides) {
  for (const std::int32_t layout : {ATTN_BHSD, ATTN_BSHD, ATTN_SBHD})
    for (const std::int64_t seq_q : {1, 50}) check(backend(), {.batch = 2, .heads = 4, .heads_kv = 2, .seq_q = seq_q, .seq_kv = 50, .layout = layout});
  check(backend(), {.batch = 2, .heads = 4, .heads_kv = 2, .seq_q = 20, .seq_kv = 20, .layout = ATTN_PACKED_QKV});
  check(backend(), {.batch = 2, .heads = 4, .seq_q = 20, .seq_kv = 20, .dtype = ATTN_BF16, .layout = ATTN_PACKED_QKV, .mask = Mask::causal});
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16})
    for (const std::int64_t seq : {1, 16, 70})
      for (const Stride stride : {Stride::expanded, Stride::transposed, Stride::sliced})
        for (const std::int32_t layout : {ATTN_BHSD, ATTN_BSHD}) {
          Spec spec{.batch = 2, .heads = 4, .seq_q = seq, .seq_kv = 16, .head_dim = 12, .dtype = dtype, .layout = layout, .mask = Mask::boolean};
          spec.q = spec.k = spec.v = stride;
          if (stride != Stride::expanded) spec.o = stride;
          check(backend(), spec);
          spec.heads_kv = 1;
          check(backend(), spec);
        }
}

TEST_P(Conformance, NumberFormats) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16, ATTN_BF16})
    for (const std::int32_t dtype_kv : {ATTN_FP32, ATTN_FP16, ATTN_BF16})
      for (const std::int64_t seq_q : {1, 40}) check(backend(), {.seq_q = seq_q, .seq_kv = 70, .head_dim = 60, .dtype = dtype, .dtype_kv = dtype_kv});
}

TEST_P(Conformance, ManyAndFewThreads) {
  for (const int threads : {1, 2, 3, 16})
    for (const std::int64_t seq_q : {1, 100})
      check(backend(), {.batch = 1, .heads = 3, .heads_kv = 1, .seq_q = seq_q, .seq_kv = 700, .mask = Mask::causal, .alignment = ATTN_BOTTOM_RIGHT}, threads);
}

TEST_P(Conformance, WithoutLogSumExp) { check(backend(), {.lse = false}); }

TEST_P(Conformance, RandomProblems) {
  std::mt19937 random(2024);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int n = 0; n < 160; ++n) {
    Spec s;
    s.seed = static_cast<unsigned>(n);
    s.batch = 1 + below(3);
    s.heads_kv = 1 + below(3);
    s.heads = s.heads_kv * (1 + below(4));
    s.seq_q = below(2) ? 1 + below(8) : 1 + below(140);
    s.seq_kv = 1 + below(200);
    s.head_dim = 1 + below(70);
    s.head_dim_v = below(2) ? s.head_dim : 1 + below(70);
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
    if (below(3) == 0)
      for (std::int64_t b = 0; b < s.batch; ++b) s.lengths_q.push_back(static_cast<std::int32_t>(below(static_cast<std::uint32_t>(s.seq_q + 1))));
    if (below(3) == 0)
      for (std::int64_t b = 0; b < s.batch; ++b) s.lengths_kv.push_back(static_cast<std::int32_t>(below(static_cast<std::uint32_t>(s.seq_kv + 1))));
    if (n >= 120) {
      s.layout = below(2) ? ATTN_THD : s.layout;
      s.page_size = below(2) ? 1 + below(90) : 0;
      const auto some = [&](std::vector<std::int32_t>& lengths, std::int64_t longest) {
        for (std::int64_t b = static_cast<std::int64_t>(lengths.size()); b < s.batch; ++b)
          lengths.push_back(static_cast<std::int32_t>(below(static_cast<std::uint32_t>(longest + 1))));
      };
      some(s.lengths_q, s.seq_q);
      some(s.lengths_kv, s.seq_kv);
    }
    s.dead_rows = static_cast<std::int32_t>(below(3));
    if (below(3) == 0) s.q = static_cast<Stride>(below(4));
    if (below(3) == 0) s.k = static_cast<Stride>(below(4));
    if (below(3) == 0) s.v = static_cast<Stride>(below(4));
    if (below(4) == 0) s.o = below(2) ? Stride::transposed : Stride::sliced;
    s.lse = below(2);
    check(backend(), s, 1 + static_cast<int>(below(3)));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Conformance, testing::ValuesIn(kBackends), [](const auto& parameter) {
  std::string name = parameter.param.name;
  for (char& letter : name) letter = letter == '.' ? '_' : letter;
  return name;
});

}  // namespace
}  // namespace attn::test
