// Unfused attention on the card: right for every mask, layout, type and length.

#include <gmock/gmock.h>

#include <random>

#include "eager.hpp"
#include "gpu_problem.hpp"
#include "plugin.hpp"

namespace attn::test {
namespace {

struct Backend {
  const char* file;
  const char* name;
  std::vector<const char*> options = {};
  bool fp32_inside = false;
};

const Backend kBackends[] = {{"chain_cuda", "naive"},          {"chain_cuda", "naive_inplace"}, {"chain_cuda", "math", {}, true}, {"planted_cuda", "planted.copy"},
                             {"planted_cuda", "planted.slow", {"extra", "40%"}}, {"planted_cuda", "planted.path", {}, true}, {"flash_cuda", "flash"}};

class Chain : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  }
  // Every backend of the family on one problem. The second call finds what the first left behind, the third runs from a graph.
  static void check(const Spec& spec, std::int64_t sample = 0) {
    if (HasFatalFailure()) return;
    Problem problem(spec);
    const Expected expected = expect(problem, sample);
    for (const Backend& backend : kBackends) {
      SCOPED_TRACE(std::string(backend.name) + ": " + to_string(spec));
      try {
        GpuSession session(must_find(backend.file, backend.name), problem, backend.options);
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

// R41, where rows follow each other and where keys lie in pages; what belongs to nobody is NaN.
TEST_F(Chain, RaggedAndPagedWithEmptySequences) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_BF16})
    for (const std::int32_t layout : {ATTN_BHSD, ATTN_THD})
      for (const std::int64_t page_size : {0, 1, 16, 64})
        for (const Mask mask : {Mask::none, Mask::causal}) {
          check({.batch = 4, .heads = 9, .heads_kv = 3, .seq_q = 1, .seq_kv = 5, .head_dim = 64, .dtype = dtype, .layout = layout, .page_size = page_size, .mask = mask,
                 .alignment = ATTN_BOTTOM_RIGHT, .lengths_q = {0, 1, 0, 1}, .lengths_kv = {0, 3, 0, 5}});
          check({.batch = 2, .seq_q = 2, .seq_kv = 2, .dtype = dtype, .layout = layout, .page_size = page_size, .mask = mask, .lengths_q = {0, 0}, .lengths_kv = {0, 0}});
          check({.batch = 3, .heads = 4, .heads_kv = 2, .seq_q = 70, .seq_kv = 130, .dtype = dtype, .layout = layout, .page_size = page_size, .mask = mask,
                 .alignment = ATTN_BOTTOM_RIGHT, .lengths_q = {70, 1, 33}, .lengths_kv = {65, 130, 1}});
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
  for (int n = 0; n < 110; ++n) {
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
    if (n >= 80) {
      s.layout = below(2) ? ATTN_THD : s.layout;
      s.page_size = below(2) ? 1 + below(70) : 0;
      const auto some = [&](std::vector<std::int32_t>& lengths, std::int64_t longest) {
        for (std::int64_t b = static_cast<std::int64_t>(lengths.size()); b < s.batch; ++b)
          lengths.push_back(static_cast<std::int32_t>(below(static_cast<std::uint32_t>(longest + 1))));
      };
      some(s.lengths_q, s.seq_q);
      some(s.lengths_kv, s.seq_kv);
    }
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

}  // namespace
}  // namespace attn::test
