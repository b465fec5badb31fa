#include "accounting/difference.hpp"

#include <gmock/gmock.h>

#include "accounting/account.hpp"

namespace attn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Op {
  const char* name;
  std::int64_t ns = 10;
  std::int64_t bytes = 0;  // not 0: a memcpy
};

std::vector<KernelRow> rows(const std::vector<Op>& ops) {
  CallActivities call;
  std::int64_t clock = 1;
  for (const Op& op : ops) {
    call.push_back({op.bytes ? ActivityKind::memcpy : ActivityKind::kernel, op.name, op.bytes ? std::optional(op.bytes) : std::nullopt, clock, clock + op.ns});
    clock += op.ns;
  }
  return account({call}, default_rules()).kernels;
}

std::vector<std::string> texts(const std::vector<Change>& changes) {
  std::vector<std::string> all;
  for (const Change& change : changes) all.push_back(change.text);
  return all;
}

const std::vector<Op> kInplace{{"cpu_gemm_qk"}, {"cpu_scale"}, {"cpu_masked_fill"}, {"cpu_softmax"}, {"cpu_gemm_pv"}};

TEST(Difference, NamesTheDirectionOfTheDevicesOwnCopies) {
  const std::vector<Op> with{{"nvjet_sm90_tst_256x128"}, {"Memcpy DtoD (Device -> Device)", 10, 268435456}, {"Memcpy DtoH", 10, 64}};
  EXPECT_THAT(texts(difference(rows({{"nvjet_sm90_tst_256x128"}}), rows(with))),
              ElementsAre("+1 memcpy DtoD of 268435456 B after nvjet_sm90_tst_256x128", "+1 memcpy DtoH of 64 B after nvjet_sm90_tst_256x128"));
}

TEST(Difference, NamesAnAddedCopyAndItsPlace) {
  const std::vector<Op> naive{{"cpu_gemm_qk"}, {"cpu_scale"}, {"cpu_memcpy_scores", 10, 268435456}, {"cpu_masked_fill"}, {"cpu_softmax"}, {"cpu_gemm_pv"}};
  EXPECT_THAT(texts(difference(rows(kInplace), rows(naive))), ElementsAre("+1 memcpy cpu_memcpy_scores of 268435456 B after cpu_scale"));
  EXPECT_THAT(texts(difference(rows(naive), rows(kInplace))), ElementsAre("-1 memcpy cpu_memcpy_scores of 268435456 B"));
}

TEST(Difference, OfEqualCallsIsEmpty) { EXPECT_THAT(difference(rows(kInplace), rows(kInplace)), IsEmpty()); }

TEST(Difference, NamesOneMoreOfWhatWasThere) {
  const std::vector<Op> one{{"cpu_scale"}, {"m", 10, 64}}, two{{"cpu_scale"}, {"m", 10, 64}, {"m", 10, 64}, {"m", 10, 64}};
  EXPECT_THAT(texts(difference(rows(one), rows(two))), ElementsAre("+2 memcpy m of 64 B (3 instead of 1)"));
}

TEST(Difference, NamesAddedAndRemovedKernels) {
  const std::vector<Op> before{{"cpu_cast_q"}, {"cpu_gemm_qk"}, {"cpu_softmax"}}, now{{"cpu_gemm_qk"}, {"cpu_softmax"}, {"cpu_where"}};
  EXPECT_THAT(texts(difference(rows(before), rows(now))), ElementsAre("+1 kernel cpu_where after cpu_softmax", "-1 kernel cpu_cast_q"));
  EXPECT_THAT(texts(difference({}, rows({{"cpu_scale"}}))), ElementsAre("+1 kernel cpu_scale at the start"));
}

TEST(Difference, CallsTheSameWorkAtTheSamePlaceARename) {
  const std::vector<Op> warp{{"nvjet_a"}, {"softmax_warp_forward"}, {"nvjet_b"}}, block{{"nvjet_a"}, {"cunn_SoftMaxForward"}, {"nvjet_b"}};
  EXPECT_THAT(texts(difference(rows(warp), rows(block))), ElementsAre("softmax_warp_forward -> cunn_SoftMaxForward"));
}

TEST(Difference, WorkOfAnotherClassIsNoRename) {
  const std::vector<Op> before{{"nvjet_a"}, {"softmax_warp_forward"}}, now{{"nvjet_a"}, {"cpu_cast_q"}};
  EXPECT_THAT(texts(difference(rows(before), rows(now))), ElementsAre("+1 kernel cpu_cast_q after nvjet_a", "-1 kernel softmax_warp_forward"));
}

TEST(Difference, ACopyOfAnotherSizeIsAChangeOfSize) {
  EXPECT_THAT(texts(difference(rows({{"cpu_scale"}, {"m", 10, 1024}}), rows({{"cpu_scale"}, {"m", 10, 2048}}))), ElementsAre("memcpy 1024 B -> 2048 B"));
}

TEST(Difference, SaysADirectionThatIsNotDeviceToDevice) {
  EXPECT_THAT(texts(difference({}, rows({{"Memcpy HtoD (Pageable -> Device)", 10, 64}}))), ElementsAre("+1 memcpy HtoD of 64 B at the start"));
}

TEST(SlowerOperations, AreNamedByTheTimeTheyCost) {
  const std::vector<Op> before{{"cpu_gemm_qk", 1'000'000}, {"cpu_scale", 100}, {"cpu_softmax", 1'200'000}};
  const std::vector<Op> now{{"cpu_gemm_qk", 1'050'000}, {"cpu_scale", 300}, {"cpu_softmax", 2'520'000}};
  EXPECT_THAT(slower_operations(rows(before), rows(now), 1.1), ElementsAre("cpu_softmax 2.1x slower (1.20 ms -> 2.52 ms)", "cpu_scale 3.0x slower (100 ns -> 300 ns)"));
  EXPECT_THAT(slower_operations(rows(before), rows(now), 1.04), testing::Contains("cpu_gemm_qk 5.0% slower (1.00 ms -> 1.05 ms)"));
  EXPECT_THAT(slower_operations(rows(before), rows(before), 1.01), IsEmpty());
}

}  // namespace
}  // namespace attn
