#include "report/capabilities.hpp"

#include <gmock/gmock.h>

#include "abi/attn_abi.h"

namespace attn {
namespace {

TEST(Capabilities, AreToldByWhatIsMissingOrByWhatIsThereWhicheverIsShorter) {
  EXPECT_EQ(capabilities_text(~std::uint64_t{ATTN_CAN_FP8 | ATTN_CAN_DROPOUT}), "all but fp8, dropout");
  EXPECT_EQ(capabilities_text(ATTN_CAN_BF16 | ATTN_CAN_CAUSAL), "only bf16, causal");
  EXPECT_EQ(capabilities_text(~std::uint64_t{0}), "all");
  EXPECT_EQ(capabilities_text(0), "nothing");
}

TEST(Capabilities, OfBitsWithoutAMeaningAreNone) { EXPECT_EQ(capabilities_text(std::uint64_t{1} << 63), "nothing"); }

TEST(Capabilities, AreListedInFullOnce) { EXPECT_THAT(all_capabilities_text(), testing::AllOf(testing::StartsWith("all = fp32, fp16, "), testing::EndsWith(", lse"))); }

}  // namespace
}  // namespace attn
