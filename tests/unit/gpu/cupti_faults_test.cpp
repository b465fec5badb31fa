// What an instrument that cannot be used, or not be believed, says of itself.

#include <cstdlib>

#include "cupti_fixture.hpp"

namespace attn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(CuptiTest, NamesTheOtherSubscriber) {
  stub.returns["cuptiSubscribe"] = 39;
  setenv("CUDA_INJECTION64_PATH", "/opt/tool/libtool.so", 1);
  const std::string text = error();
  unsetenv("CUDA_INJECTION64_PATH");
  EXPECT_THAT(text, AllOf(HasSubstr("39"), HasSubstr("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"), HasSubstr("cuptiSubscribe"),
                          HasSubstr("another profiler holds CUPTI in this process, probably"), HasSubstr("CUDA_INJECTION64_PATH=/opt/tool/libtool.so"),
                          HasSubstr("--gates latency,numerics")));
  EXPECT_THAT(error(), Not(HasSubstr("probably")));
  EXPECT_THAT(stub.enabled, IsEmpty()) << "what the other one enabled is not ours to touch";
}

#if CUPTI_API_VERSION >= 130000
TEST_F(CuptiTest, NamesTheOtherSubscriberAsCuptiDoes) {
  stub.returns["cuptiSubscribe"] = 39;
  stub.holder = "CUPTI for Kineto";
  EXPECT_THAT(error(), HasSubstr("in this process, namely CUPTI for Kineto:"));
  stub.version = 130200;
  EXPECT_THAT(error(), Not(HasSubstr("Kineto"))) << "the two kinds of subscribers may not be mixed";
}
#endif

TEST_F(CuptiTest, LeavesTheOtherSubscribersKindsAlone) {
  stub.returns["cuptiSubscribe"] = 39;
  stub.enabled = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
  error();
  EXPECT_THAT(stub.enabled, SizeIs(2));
}

TEST_F(CuptiTest, TellsHowToGetThePermission) {
  stub.returns["cuptiActivityEnable"] = 35;
  EXPECT_THAT(error(), AllOf(HasSubstr("error 35"), HasSubstr("cuptiActivityEnable"), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"), HasSubstr("CAP_SYS_ADMIN"),
                             HasSubstr("--cap-add=SYS_ADMIN")));
}

TEST_F(CuptiTest, NamesEveryOtherCodeAndTheCall) {
  for (const int code : {2, 7, 15, 43, 999}) {
    stub.returns["cuptiSubscribe"] = code;
    EXPECT_THAT(error(), AllOf(HasSubstr("cuptiSubscribe"), HasSubstr(fmt::format("error {}", code)))) << code;
  }
  stub.returns["cuptiSubscribe"] = 43;
  EXPECT_THAT(error(), HasSubstr("MIG"));
}

TEST_F(CuptiTest, TakesNothingRecordedForAnError) {
  stub.lose_every = 1;
  EXPECT_THAT(error(), AllOf(HasSubstr("recorded nothing of 2 kernels, 1 memcpys and 1 memsets"), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0")));
}

TEST_F(CuptiTest, NoticesOneLostRecord) {
  stub.lose_every = 6;  // of the second run, which begins with the fifth
  EXPECT_THAT(error(), HasSubstr("1 kernels, 1 memcpys and 1 memsets came back"));
}

TEST_F(CuptiTest, ForgivesWhatTheFirstRunLost) {
  Cupti::KnownWork work = known_work();
  int runs = 0;
  work.run = [this, &runs, run = work.run] {
    stub.lose_every = runs++ == 0 ? 1 : 0;
    run();
  };
  EXPECT_NO_THROW(Cupti(ATTN_STUB_CUPTI, work));
  EXPECT_EQ(runs, 3);
}

TEST_F(CuptiTest, NoticesRecordsWithoutTimes) {
  stub.zero_times = true;
  EXPECT_THAT(error(), HasSubstr("from 0 to 0 ns"));
}

TEST_F(CuptiTest, NoticesCallsThatHaveNoRecord) {
  Cupti::KnownWork work = known_work();
  work.run = [this] { put(test::kernel_record("without a call", stub.clock_ns + 1, stub.clock_ns + 2, 99)); };
  work.kernels = 1;
  work.memcpys = work.memsets = 0;
  try {
    Cupti cupti(ATTN_STUB_CUPTI, work);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the call that launched without a call has no record"));
  }
}

TEST_F(CuptiTest, NoticesThatTheDropCounterCannotBeRead) {
  stub.returns["cuptiActivityGetNumDroppedRecords"] = 15;
  EXPECT_THAT(error(), HasSubstr("cannot say whether records were dropped"));
}

TEST_F(CuptiTest, RefusesAnotherMajorVersionAndSaysWhatToDo) {
  stub.version = CUPTI_API_VERSION >= 130000 ? 28 : 130000;
  EXPECT_THAT(error(), AllOf(HasSubstr(CUPTI_API_VERSION >= 130000 ? "CUPTI 12.9.1" : "CUPTI 13.0.0"), HasSubstr(ATTN_STUB_CUPTI), HasSubstr("interpreter"),
                             HasSubstr("another layout")));
  EXPECT_EQ(stub.subscriptions, 0);
}

TEST_F(CuptiTest, AcceptsANewerMinorVersion) {
  stub.version = CUPTI_API_VERSION >= 130000 ? 130302 : 28;
  Cupti cupti(ATTN_STUB_CUPTI, known_work());
  EXPECT_EQ(cupti.version(), CUPTI_API_VERSION >= 130000 ? "13.3.2" : "12.9.1");
}

}  // namespace
}  // namespace attn
