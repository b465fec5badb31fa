#include "engine/op_recorder.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace attn {
namespace {

class Reports : public testing::Test {
 protected:
  void begin(std::int32_t kind, const char* name, std::uint64_t bytes = 0) { recorder_.abi()->begin(recorder_.abi()->self, kind, name, bytes); }
  void end() { recorder_.abi()->end(recorder_.abi()->self); }
  OpRecorder recorder_;
};

TEST_F(Reports, BecomeActivitiesInTheirOrder) {
  begin(ATTN_OP_KERNEL, "cpu_gemm_qk");
  end();
  begin(ATTN_OP_MEMCPY, "cpu_memcpy_scores", 64);
  end();
  const CallActivities taken = recorder_.take();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].name, "cpu_gemm_qk");
  EXPECT_FALSE(taken[0].bytes);
  EXPECT_EQ(taken[1].kind, ActivityKind::memcpy);
  EXPECT_EQ(taken[1].bytes, 64);
  EXPECT_LE(taken[0].start_ns, taken[0].end_ns);
  EXPECT_LE(taken[0].end_ns, taken[1].start_ns);
  EXPECT_TRUE(recorder_.take().empty());
}

TEST_F(Reports, ThatMakeNoSenseAreRefused) {
  end();
  EXPECT_THROW(recorder_.take(), Error);
  begin(ATTN_OP_KERNEL, "a");
  EXPECT_THROW(recorder_.take(), Error);
  begin(ATTN_OP_KERNEL, "a");
  begin(ATTN_OP_KERNEL, "b");
  end();
  EXPECT_THROW(recorder_.take(), Error);
  begin(17, "a");
  end();
  EXPECT_THROW(recorder_.take(), Error);
  for (std::size_t i = 0; i <= OpRecorder::kMostOps; ++i) {
    begin(ATTN_OP_KERNEL, "a");
    end();
  }
  EXPECT_THROW(recorder_.take(), Error);
  begin(ATTN_OP_KERNEL, nullptr);
  end();
  EXPECT_EQ(recorder_.take().size(), 1u);  // a fault ends with its call
}

}  // namespace
}  // namespace attn
