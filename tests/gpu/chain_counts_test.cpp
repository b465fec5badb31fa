// What unfused attention runs on the card: its kernels and copies, counted in a captured graph, and how long they take.

#include <gmock/gmock.h>

#include <cstdio>

#include "abi/attn_dtype.hpp"
#include "eager.hpp"
#include "gpu_problem.hpp"
#include "plugin.hpp"

namespace attn::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ChainCounts : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  }
};

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

// Prefills of real models: cuBLASLt's products and no copy but the one that masking out of place makes.
TEST_F(ChainCounts, PrefillIsFiveKernelsAndOneCopyOutOfPlace) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16, ATTN_BF16})
    for (const std::int32_t layout : {ATTN_BHSD, ATTN_BSHD})
      for (const std::int64_t heads_kv : {8, 2})
        for (const std::int64_t seq : {512, 1000}) {
          Problem problem({.batch = 2, .heads = 8, .heads_kv = heads_kv, .seq_q = seq, .seq_kv = seq, .head_dim = 64, .dtype = dtype, .layout = layout,
                           .mask = Mask::causal, .lse = false});
          SCOPED_TRACE(to_string(problem.spec()));
          const std::uint64_t scores = 2ull * 8 * static_cast<std::uint64_t>(seq * seq) * element_bytes(dtype);
          const auto counts_of = [&](const char* file, const char* name) {
            GpuSession session(must_find(file, name), problem);
            return count(session);
          };
          const Counts naive = counts_of("chain_cuda", "naive"), inplace = counts_of("chain_cuda", "naive_inplace"), copy = counts_of("planted_cuda", "planted.copy"),
                       slow = counts_of("planted_cuda", "planted.slow"), math = counts_of("chain_cuda", "math"),
                       flash = counts_of("flash_cuda", "flash");
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
          EXPECT_EQ(flash.kernels, 1) << flash.listing;
          EXPECT_THAT(flash.copies, IsEmpty()) << flash.listing;
          if (seq == 512 && heads_kv == 2 && layout == ATTN_BSHD) std::printf("dtype %d naive:%s\nmath:%s\n", dtype, naive.listing.c_str(), math.listing.c_str());
        }
}

TEST_F(ChainCounts, DecodeIsFiveKernelsToo) {
  for (const std::int32_t dtype : {ATTN_FP32, ATTN_FP16, ATTN_BF16})
    for (const std::int32_t layout : {ATTN_BHSD, ATTN_BSHD}) {
      Problem problem({.batch = 2, .heads = 32, .heads_kv = 8, .seq_q = 1, .seq_kv = 2048, .head_dim = 128, .dtype = dtype, .layout = layout, .mask = Mask::causal,
                       .alignment = ATTN_BOTTOM_RIGHT, .lse = false});
      GpuSession session(must_find("chain_cuda", "naive_inplace"), problem);
      const Counts counts = count(session);
      EXPECT_EQ(counts.kernels, 5) << counts.listing;
      EXPECT_EQ(counts.own_products, 0) << counts.listing;
      EXPECT_THAT(counts.copies, IsEmpty());
    }
}

// The shape of a public profiling tutorial: the clone is 268,435,456 bytes.
TEST_F(ChainCounts, TheArticlesShape) {
  Problem problem({.batch = 8, .heads = 16, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64, .dtype = ATTN_BF16, .mask = Mask::causal, .lse = false});
  const Expected expected = expect(problem, 24);
  const auto measure = [&](const char* file, const char* name, bool fp32_inside, std::vector<const char*> options = {}) {
    GpuSession session(must_find(file, name), problem, std::move(options));
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
  const auto [flash, flash_us] = measure("flash_cuda", "flash", false);
  EXPECT_EQ(flash.kernels, 1);
  EXPECT_LT(flash_us, inplace_us);  // what not storing the scores is for
  measure("planted_cuda", "planted.copy", false);
  const auto [slow, slow_us] = measure("planted_cuda", "planted.slow", false);
  const auto [slower, little_us] = measure("planted_cuda", "planted.slow", false, {"extra", "10%"});
  EXPECT_EQ(slow.kernels, 5);
  EXPECT_THAT(slow_us / naive_us, testing::AllOf(testing::Gt(1.7), testing::Lt(2.4)));
  EXPECT_THAT(little_us / naive_us, testing::AllOf(testing::Gt(1.04), testing::Lt(1.25)));
}

TEST_F(ChainCounts, ControlsAreFixedWorkAndZeroTheOutputs) {
  for (const Stride stride : {Stride::dense, Stride::sliced})
    for (const char* name : {"control.bandwidth", "control.matrix"}) {
      Spec spec{.batch = 2, .heads = 3, .seq_q = 5, .seq_kv = 7, .dtype = ATTN_BF16};
      spec.o = stride;
      Problem problem(spec);
      GpuSession session(must_find("control_cuda", name), problem);
      const Counts counts = count(session);
      problem.o->each_index([&](const auto& index) { EXPECT_EQ(problem.o->get(index), 0.0); });
      problem.lse->each_index([&](const auto& index) { EXPECT_EQ(problem.lse->get(index), 0.0); });
      EXPECT_TRUE(problem.o->untouched_outside());
      EXPECT_TRUE(session.workspace_kept());
      EXPECT_THAT(counts.copies, IsEmpty());
      std::printf("%s %.1f us%s\n", name, session.microseconds(20), counts.listing.c_str());
    }
}

TEST_F(ChainCounts, RefusesAnUnknownOption) {
  Problem problem({});
  const auto text = [&](std::vector<const char*> options) {
    try {
      GpuSession session(must_find("planted_cuda", "planted.slow"), problem, std::move(options));
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
