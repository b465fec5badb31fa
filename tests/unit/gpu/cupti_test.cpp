#include "gpu/cupti.hpp"

#include <algorithm>
#include <cstdlib>

#include "cupti_fixture.hpp"
#include "gpu/cupti_records.hpp"

namespace attn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST_F(CuptiTest, SubscribesOnceAndLetsGoWithoutFinalising) {
  {
    Cupti cupti(ATTN_STUB_CUPTI, known_work());
    EXPECT_TRUE(stub.subscribed);
    EXPECT_THAT(stub.enabled, IsEmpty());
    EXPECT_EQ(cupti.path(), ATTN_STUB_CUPTI);
    EXPECT_EQ(stub.subscriptions, 1);
  }
  EXPECT_FALSE(stub.subscribed);
  EXPECT_EQ(stub.finalised, 0);
  EXPECT_EQ(error(), "no error");
}

TEST_F(CuptiTest, RecordsTheKindsThatWereAskedFor) {
  Cupti cupti(ATTN_STUB_CUPTI, known_work());
  cupti.record(Recorded::device);
  EXPECT_THAT(stub.enabled, UnorderedElementsAre(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET));
  cupti.record(Recorded::everything);
  EXPECT_THAT(stub.enabled, SizeIs(7));
  EXPECT_TRUE(stub.enabled.contains(CUPTI_ACTIVITY_KIND_RUNTIME) && stub.enabled.contains(CUPTI_ACTIVITY_KIND_DRIVER) && stub.enabled.contains(CUPTI_ACTIVITY_KIND_MEMORY2));
  EXPECT_FALSE(stub.enabled.contains(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
  cupti.record(Recorded::device);
  EXPECT_THAT(stub.enabled, SizeIs(4));
  cupti.record(Recorded::nothing);
  EXPECT_THAT(stub.enabled, IsEmpty());
}

TEST_F(CuptiTest, CopiesEveryFieldOutOfTheBuffers) {
  Cupti cupti(ATTN_STUB_CUPTI, known_work());
  cupti.record(Recorded::everything);
  put(test::call_record(true, kLaunch, 5'000'100, 5'000'200, 71, 3));
  put(test::call_record(false, kDriverLaunch, 5'000'110, 5'000'190, 72, 3));
  put(test::kernel_record("attention", 5'000'300, 5'000'900, 71, 132, 9));
  put(test::memcpy_record(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 512, 5'001'000, 5'001'100, 73));
  put(test::memset_record(256, 5'001'200, 5'001'300, 74));
  put(test::memory_record(true, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 0x1000, 2048, 5'000'050));
  put(test::memory_record(true, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, 0x9000, 2048, 5'000'060));
  put(test::memory_record(false, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 0x1000, 2048, 5'000'070));
  const Recording recording = cupti.take();
  EXPECT_THAT(recording.faults, IsEmpty());
  EXPECT_EQ(recording.dropped, 0);
  ASSERT_THAT(recording.device, SizeIs(3));
  const DeviceRecord& kernel = recording.device[0];
  EXPECT_EQ(kernel.kind, ActivityKind::kernel);
  EXPECT_EQ(kernel.name, "attention");
  EXPECT_EQ(kernel.bytes, std::nullopt);
  EXPECT_EQ(kernel.start_ns, 5'000'300);
  EXPECT_EQ(kernel.end_ns, 5'000'900);
  EXPECT_EQ(kernel.correlation, 71);
  EXPECT_EQ(kernel.grid_x, 132);
  EXPECT_EQ(kernel.graph_node, 9);
  EXPECT_EQ(kernel.stream, 7);
  EXPECT_EQ(recording.device[1].name, "Memcpy HtoD");
  EXPECT_EQ(recording.device[1].bytes, 512);
  EXPECT_EQ(recording.device[2].name, "Memset");
  EXPECT_EQ(recording.device[2].bytes, 256);
  ASSERT_THAT(recording.api, SizeIs(2));
  EXPECT_EQ(recording.api[0].name, "cudaLaunchKernel");
  EXPECT_EQ(recording.api[0].thread, 3);
  EXPECT_EQ(recording.api[1].name, "cuLaunchKernel");
  EXPECT_EQ(recording.api[1].correlation, 72);
  ASSERT_THAT(recording.memory, SizeIs(2)) << "pinned memory is not the device's";
  EXPECT_TRUE(recording.memory[0].allocates);
  EXPECT_FALSE(recording.memory[1].allocates);
  EXPECT_EQ(recording.memory[0].bytes, 2048);
}

TEST_F(CuptiTest, KeepsWhatIsHandedOverInTheMiddleAndOutOfOrder) {
  Cupti cupti(ATTN_STUB_CUPTI, known_work());
  cupti.record(Recorded::device);
  stub.records_per_buffer = 2;
  stub.buffers_reversed = true;
  for (int i = 0; i < 3; ++i) launch("a");
  stub.hand_over();
  for (int i = 0; i < 4; ++i) launch("b");
  const Recording recording = cupti.take();
  std::string order;
  for (const DeviceRecord& each : recording.device) order += each.name;
  EXPECT_EQ(order, "aaabbbb");
  EXPECT_TRUE(std::ranges::is_sorted(recording.device, {}, &DeviceRecord::start_ns));
  EXPECT_THAT(cupti.take().device, IsEmpty());
}

TEST_F(CuptiTest, TakesManyRecordsInSmallBuffers) {
  Cupti cupti(ATTN_STUB_CUPTI, known_work());
  cupti.record(Recorded::device);
  stub.records_per_buffer = 1'000'000;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 20'000; ++i) launch("many");
    const Recording recording = cupti.take();
    EXPECT_THAT(recording.device, SizeIs(20'000));
    EXPECT_EQ(recording.dropped, 0);
  }
  EXPECT_LE(stub.largest_buffer, std::size_t{1} << 20);
  EXPECT_TRUE(stub.zeroed_promised);
  EXPECT_EQ(stub.dirty_buffers, 0);
}

TEST_F(CuptiTest, UsesItsBuffersAgain) {
  Cupti cupti(ATTN_STUB_CUPTI, known_work());
  cupti.record(Recorded::device);
  for (int round = 0; round < 4200; ++round) {  // more than there may be buffers
    launch("one");
    const Recording recording = cupti.take();
    ASSERT_EQ(recording.device.size(), 1u) << round;
    ASSERT_EQ(recording.dropped, 0) << round;
  }
}

TEST_F(CuptiTest, GetsWithForceWhatAFlushWithheld) {
  stub.withhold = true;
  Cupti cupti(ATTN_STUB_CUPTI, known_work());
  cupti.record(Recorded::device);
  launch("late");
  EXPECT_THAT(cupti.take().device, SizeIs(1));
}

TEST_F(CuptiTest, SaysHowManyRecordsWereDroppedOrThatItDoesNotKnow) {
  Cupti cupti(ATTN_STUB_CUPTI, known_work());
  stub.dropped = 3;
  EXPECT_EQ(cupti.take().dropped, 3);
  EXPECT_EQ(cupti.take().dropped, 0);
  stub.returns["cuptiActivityGetNumDroppedRecords"] = 999;
  EXPECT_EQ(cupti.take().dropped, std::nullopt);
}

TEST_F(CuptiTest, TurnsWhatItCannotReadIntoFaults) {
  Cupti cupti(ATTN_STUB_CUPTI, known_work());
  cupti.record(Recorded::device);
  launch("whole");
  launch("cut");
  stub.cut_off_bytes = 100;
  Recording recording = cupti.take();
  EXPECT_THAT(recording.device, SizeIs(1));
  EXPECT_THAT(recording.faults, ElementsAre(HasSubstr("cut off")));

  stub.cut_off_bytes = 0;
  struct alignas(8) {
    CUpti_ActivityKind kind;
    char rest[12];
  } stray{};
  stray.kind = static_cast<CUpti_ActivityKind>(77);
  put(stray);
  launch("behind");
  recording = cupti.take();
  EXPECT_THAT(recording.faults, ElementsAre(HasSubstr("kind 77")));
  EXPECT_THAT(recording.device, SizeIs(1));

  stray.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  put(stray);
  EXPECT_THAT(cupti.take().faults, ElementsAre(HasSubstr("graph")));

  stray.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  put(stray);
  EXPECT_THAT(cupti.take().faults, IsEmpty());

  launch("unread");
  stub.returns["cuptiActivityGetNextRecord"] = 7;
  EXPECT_THAT(cupti.take().faults, ElementsAre(HasSubstr("error 7, CUPTI_ERROR_INVALID_OPERATION")));
}

TEST_F(CuptiTest, FailsWhenAFlushFails) {
  Cupti cupti(ATTN_STUB_CUPTI, known_work());
  stub.returns["cuptiActivityFlushAll"] = 999;
  EXPECT_THROW(cupti.take(), Error);
}

TEST_F(CuptiTest, ReadsTheClockOfTheRecords) {
  Cupti cupti(ATTN_STUB_CUPTI, known_work());
  stub.clock_ns = 7'000'000;
  EXPECT_EQ(cupti.now_ns(), 7'001'000);
  stub.returns["cuptiGetTimestamp"] = 999;
  EXPECT_THROW(cupti.now_ns(), Error);
}

TEST_F(CuptiTest, ExistsOnceInAProcess) {
  Cupti cupti(ATTN_STUB_CUPTI, known_work());
  EXPECT_THAT(error(), HasSubstr("twice"));
  launch("x");
  EXPECT_TRUE(stub.subscribed);
}

TEST_F(CuptiTest, LetsGoWhenTheKnownWorkFails) {
  EXPECT_THROW(Cupti(ATTN_STUB_CUPTI, {.run = [] { throw Error("out of memory"); }, .kernels = 1}), Error);
  EXPECT_FALSE(stub.subscribed);
  EXPECT_THAT(stub.enabled, IsEmpty());
  EXPECT_EQ(error(), "no error");
}

TEST_F(CuptiTest, PrefersTheOneThatIsInTheProcess) {
  Cupti cupti("", known_work());
  EXPECT_EQ(cupti.path(), ATTN_STUB_CUPTI);
}

TEST(CuptiLibraryTest, SaysThatALibraryIsNoCupti) {
  const auto text = [](const char* path) -> std::string {
    try {
      Cupti cupti(path, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(text(ATTN_STUB_NVML), HasSubstr("has no cuptiGetVersion"));
  EXPECT_THAT(text("/nowhere/libcupti.so.13"), AllOf(HasSubstr("/nowhere/libcupti.so.13"), HasSubstr("CUDA_HOME"), HasSubstr("--gates latency,numerics")));
}

// In processes of their own, into which no stub was loaded yet.
class CuptiDeathTest : public ::testing::Test {
 protected:
  CuptiDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // Ends the process with the path, or the error, on stderr.
  [[noreturn]] static void open_and_exit(const char* environment) {
    setenv("CUDA_HOME", ATTN_STUB_DIRECTORY, 1);
    setenv("ATTN_STUB_CUPTI", environment, 1);
    try {
      Cupti cupti("", {.run = [] {}});
      std::fputs(cupti.path().c_str(), stderr);
    } catch (const Error& error) {
      std::fputs(error.what(), stderr);
    }
    std::exit(0);
  }
};

TEST_F(CuptiDeathTest, FindsTheLibraryUnderCudaHome) { EXPECT_EXIT(open_and_exit(""), ::testing::ExitedWithCode(0), ATTN_STUB_CUPTI); }

TEST_F(CuptiDeathTest, LetsTheEnvironmentSteerTheStub) {
  EXPECT_EXIT(open_and_exit("cuptiSubscribe=39"), ::testing::ExitedWithCode(0), "error 39, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
}

TEST(CallNames, AreOneForEveryVariant) {
  EXPECT_EQ(plain_call_name("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_call_name("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
  EXPECT_EQ(plain_call_name("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync");
  EXPECT_EQ(plain_call_name("cudaMemcpy_ptds_v7000"), "cudaMemcpy");
  EXPECT_EQ(plain_call_name("cuStreamBeginCapture_v2"), "cuStreamBeginCapture");
  EXPECT_EQ(plain_call_name("cudaGraphLaunch"), "cudaGraphLaunch");
  EXPECT_EQ(plain_call_name("_v2"), "_v2");
  EXPECT_EQ(plain_call_name("cu_value"), "cu_value");
}

}  // namespace
}  // namespace attn
