#include "core/operation_class.hpp"

#include <gmock/gmock.h>

namespace attn {
namespace {

TEST(OperationClass, EveryWordIsReadBackAsWritten) {
  const auto& words = operation_class_words();
  EXPECT_EQ(words.size(), Words<ActivityClass>::list.size() + Words<GemmKind>::list.size());
  for (const std::string_view each : words) {
    ASSERT_TRUE(operation_class(each)) << each;
    EXPECT_EQ(to_string(*operation_class(each)), each);
  }
  EXPECT_THAT(words, testing::IsSupersetOf({"gemm", "gemm.fp32_simt", "copy"}));
}

TEST(OperationClass, NoOtherTextIsAClass) {
  for (const char* bad : {"", "gem", "gemm.", "gemm.fp", "fp32_simt", "copy.fp16", "GEMM"}) EXPECT_FALSE(operation_class(bad)) << bad;
}

}  // namespace
}  // namespace attn
