#include "gpu/call_windows.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "recordings.hpp"

namespace attn {
namespace {

using test::Stream;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> names(const RecordedCall& call, bool api = false) {
  std::vector<std::string> names;
  for (const Activity& each : call.activities)
    if ((each.kind == ActivityKind::api) == api) names.push_back(each.name);
  return names;
}

TEST(CallWindows, GivesEachCallItsWorkInTheOrderOfStart) {
  Stream stream(2);
  stream.kernel(0, "gemm", 21'000, 30'000, 35'000);
  stream.memcpy(0, 512, 22'000, 25'000, 26'000);
  stream.kernel(1, "softmax", 21'000, 30'000, 31'000);
  for (const bool with_api : {false, true}) {
    const auto calls = stream.calls(with_api);
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_THAT(names(calls[0]), ElementsAre("Memcpy DtoD", "gemm")) << with_api;
    EXPECT_THAT(names(calls[1]), ElementsAre("softmax"));
    EXPECT_FALSE(calls[0].outlives_stream);
    EXPECT_EQ(calls[0].peak_allocated_bytes, 0);
  }
  const auto calls = stream.calls(false);
  EXPECT_EQ(calls[0].activities[0].start_ns, 14'000) << "times count from the end of the first marker";
  EXPECT_EQ(calls[0].activities[0].end_ns, 15'000);
  EXPECT_EQ(calls[0].activities[0].bytes, 512);
  EXPECT_EQ(calls[0].activities[0].kind, ActivityKind::memcpy);
}

TEST(CallWindows, DoesNotMindTheOrderOfTheRecords) {
  Stream stream(2);
  stream.kernel(0, "a", 21'000, 30'000, 35'000);
  stream.kernel(1, "b", 21'000, 30'000, 35'000);
  std::ranges::reverse(stream.recording.device);
  std::ranges::reverse(stream.recording.api);
  for (const bool with_api : {false, true}) {
    EXPECT_THAT(names(stream.calls(with_api)[0]), ElementsAre("a"));
    EXPECT_THAT(names(stream.calls(with_api)[1]), ElementsAre("b"));
  }
}

TEST(CallWindows, ListsTheOutermostApiCallsOfEveryThread) {
  Stream stream(1);
  stream.kernel(0, "mine", 21'000, 30'000, 35'000);
  stream.kernel(0, "other thread's", 22'000, 36'000, 37'000, 2);
  stream.api(0, "cudaStreamSynchronize", 23'000, 5'000);
  stream.api(0, "cudaMalloc", 19'000, 500);             // the harness, before the window
  stream.api(0, "cudaStreamSynchronize", 15'000, 9'000, 3);  // another thread's, begun before it
  const auto calls = stream.calls();
  EXPECT_THAT(names(calls[0], true), ElementsAre("cudaLaunchKernel", "cudaLaunchKernel", "cudaStreamSynchronize"));
  EXPECT_THAT(names(calls[0]), ElementsAre("mine", "other thread's"));
}

TEST(CallWindows, NamesTheFirstLaunchThatFailed) {
  Stream stream(2);
  stream.kernel(0, "ran", 21'000, 30'000, 35'000);
  stream.api(1, "cudaStreamIsCapturing", 20'500, 100);
  stream.recording.api.back().result = 1;               // not a launch
  stream.api(1, "cudaLaunchKernel", 21'000, 500);
  stream.recording.api.back().result = 9;
  stream.api(1, "cudaMemcpyAsync", 22'000, 500);
  stream.recording.api.back().result = 700;
  const auto calls = stream.calls();
  EXPECT_EQ(calls[0].failed_launch, "");
  EXPECT_EQ(calls[1].failed_launch, "cudaLaunchKernel: error 9");
}

TEST(CallWindows, CountsAnotherThreadsLaunchOutsideOfTheWindowsByItsTime) {
  Stream stream(2);
  stream.kernel(0, "late", 50'000, 70'000, 75'000, 2);  // after the second marker's launch, before the next call
  const auto calls = stream.calls();
  EXPECT_THAT(names(calls[0]), ElementsAre("late"));
  EXPECT_TRUE(calls[0].outlives_stream);
  EXPECT_THAT(names(calls[1]), IsEmpty());
}

TEST(CallWindows, SeesWorkThatOutlivesTheStream) {
  for (const bool with_api : {false, true}) {
    Stream stream(2);
    stream.kernel(0, "hidden stream", 21'000, 30'000, 62'000);
    EXPECT_TRUE(stream.calls(with_api)[0].outlives_stream);
    Stream late(2);
    late.kernel(0, "late", 21'000, 70'000, 75'000);
    late.recording.device.back().stream = 9;
    EXPECT_THAT(names(late.calls(with_api)[0]), ElementsAre("late"));
    EXPECT_TRUE(late.calls(with_api)[0].outlives_stream);
    Stream slack(1);
    slack.kernel(0, "in time", 21'000, 30'000, 60'900);
    EXPECT_FALSE(slack.calls(with_api)[0].outlives_stream);
  }
}

TEST(CallWindows, GivesWorkToTheCallThatLaunchedIt) {
  Stream stream(2);
  stream.kernel(0, "of the first", 21'000, 125'000, 126'000);  // runs when the second call runs
  EXPECT_THAT(names(stream.calls(true)[0]), ElementsAre("of the first"));
  EXPECT_THAT(names(stream.calls(false)[1]), ElementsAre("of the first")) << "without API records nobody can know";
}

TEST(CallWindows, LeavesOutWhatTheHarnessDoesBetweenCalls) {
  Stream stream(2);
  stream.memcpy(0, 64, 80'000, 85'000, 86'000);
  stream.kernel(0, "attn_harness_flush", 81'000, 87'000, 88'000);
  stream.kernel(0, "_ZN4attn19attn_harness_scoresIfEEvi", 82'000, 88'000, 89'000);
  for (const bool with_api : {false, true})
    for (const RecordedCall& call : stream.calls(with_api)) EXPECT_THAT(call.activities, IsEmpty()) << with_api;
}

TEST(CallWindows, RefusesWorkOfTheHarnessInsideACall) {
  Stream stream(1);
  stream.kernel(0, "attn_harness_flush", 5'500, 30'000, 31'000);
  EXPECT_THAT(stream.error(true), AllOf(HasSubstr("attn_harness_flush"), HasSubstr("inside call 0")));
  EXPECT_THAT(stream.error(false), HasSubstr("inside call 0"));
  Stream memory(1);
  memory.memcpy(0, 64, 5'500, 30'000, 31'000);
  EXPECT_THAT(memory.error(true), AllOf(HasSubstr("Memcpy DtoD"), HasSubstr("cudaMemcpyAsync"), HasSubstr("inside call 0")));
}

TEST(CallWindows, TakesALaunchThroughTheDriverAlone) {
  Stream stream(1);
  stream.device(0, "triton", 30'000, 31'000, stream.api(0, "cuLaunchKernelEx", 21'000));
  const auto calls = stream.calls();
  EXPECT_THAT(names(calls[0]), ElementsAre("triton"));
  EXPECT_THAT(names(calls[0], true), ElementsAre("cuLaunchKernelEx"));
}

TEST(CallWindows, TakesARecordThatCarriesTheInnerCallsId) {
  Stream stream(1);
  stream.api(0, "cudaLaunchKernel", 21'000, 200);
  stream.device(0, "a", 30'000, 31'000, stream.api(0, "cuLaunchKernel", 21'050, 100));
  EXPECT_THAT(names(stream.calls()[0], true), ElementsAre("cudaLaunchKernel"));
}

TEST(CallWindows, TakesTheNodesOfAGraph) {
  Stream stream(1);
  const std::int64_t launch = stream.api(0, "cudaGraphLaunch", 21'000);
  stream.device(0, "node 1", 30'000, 31'000, launch).graph_node = 11;
  stream.device(0, "node 2", 32'000, 33'000, launch).graph_node = 12;
  EXPECT_THAT(names(stream.calls()[0]), ElementsAre("node 1", "node 2"));
  for (DeviceRecord& each : stream.recording.device)
    if (each.graph_node == 11) each.correlation = 0;  // some versions give nodes none
  EXPECT_THAT(names(stream.calls()[0]), ElementsAre("node 1", "node 2"));
}

TEST(CallWindows, MissesTheRecordOfALaunch) {
  for (const char* name : {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel", "cuLaunchKernel", "cuLaunchKernelEx", "cudaGraphLaunch", "cuGraphLaunch"}) {
    Stream stream(2);
    stream.kernel(0, "there", 21'000, 30'000, 31'000);
    stream.api(1, name, 21'000);
    EXPECT_THAT(stream.error(), AllOf(HasSubstr(name), HasSubstr("in call 1"), HasSubstr("has no record"))) << name;
    EXPECT_EQ(stream.error(false), "no error");
  }
}

TEST(CallWindows, MissesOneOfTwoRecords) {
  Stream stream(1);
  stream.kernel(0, "a", 21'000, 30'000, 31'000);
  stream.kernel(0, "b", 22'000, 32'000, 33'000);
  std::erase_if(stream.recording.device, [](const DeviceRecord& each) { return each.name == "b"; });
  EXPECT_THAT(stream.error(), HasSubstr("cudaLaunchKernel in call 0"));
}

TEST(CallWindows, ForgivesLaunchesThatPutNothingOnTheDevice) {
  Stream stream(1);
  stream.api(0, "cudaLaunchHostFunc", 21'000);
  stream.api(0, "cudaLaunchKernel", 22'000);
  stream.recording.api.back().result = 9;  // refused
  stream.api(0, "cudaMemcpyAsync", 23'000);
  stream.recording.api.back().bytes = 0;
  stream.api(0, "cudaMemset2DAsync", 24'000);  // of a size that is not known
  EXPECT_EQ(stream.error(), "no error");
}

TEST(CallWindows, MissesTheRecordOfAMemcpyThatMovedSomething) {
  Stream stream(1);
  stream.api(0, "cudaMemcpyAsync", 21'000, 300);
  stream.api(0, "cuMemcpyDtoDAsync", 21'050, 100);
  stream.recording.api.back().bytes = 4096;
  EXPECT_THAT(stream.error(), HasSubstr("cudaMemcpyAsync in call 0"));
}

TEST(CallWindows, ExemptsWhatAThreadCaptures) {
  Stream stream(1);
  stream.api(0, "cudaStreamBeginCapture", 21'000);
  stream.api(0, "cuStreamBeginCapture", 21'010, 50);
  stream.api(0, "cudaLaunchKernel", 22'000);
  stream.api(0, "cudaStreamEndCapture", 23'000);
  EXPECT_EQ(stream.error(), "no error");
  stream.api(0, "cudaLaunchKernel", 22'000, 100, 2);
  EXPECT_THAT(stream.error(), HasSubstr("cudaLaunchKernel in call 0")) << "another thread captures nothing";
  stream.recording.api.pop_back();
  stream.api(0, "cudaLaunchKernel", 24'000);
  EXPECT_THAT(stream.error(), HasSubstr("cudaLaunchKernel in call 0")) << "the capture has ended";
}

TEST(CallWindows, MissesTheCallOfARecord) {
  Stream stream(1);
  stream.device(0, "from nowhere", 30'000, 31'000, 4711);
  EXPECT_THAT(stream.error(true), AllOf(HasSubstr("from nowhere"), HasSubstr("in call 0")));
  EXPECT_EQ(stream.error(false), "no error");
}

TEST(CallWindows, RefusesWhatIsNotWhole) {
  Stream stream(1);
  stream.recording.dropped = 2;
  EXPECT_THAT(stream.error(false), HasSubstr("dropped 2 records"));
  stream.recording.dropped.reset();
  EXPECT_THAT(stream.error(false), HasSubstr("cannot say"));
  stream.recording.dropped = 0;
  stream.recording.faults = {"a record of kind 77"};
  EXPECT_THAT(stream.error(false), HasSubstr("kind 77"));
}

TEST(CallWindows, RefusesSenselessTimes) {
  Stream zero(1);
  zero.kernel(0, "zero", 21'000, 30'000, 31'000);
  zero.recording.device.back().start_ns = zero.recording.device.back().end_ns = 0;
  EXPECT_THAT(zero.error(false), AllOf(HasSubstr("\"zero\""), HasSubstr("from 0 to 0 ns")));
  Stream reversed(1);
  reversed.kernel(0, "reversed", 21'000, 31'000, 30'000);
  EXPECT_THAT(reversed.error(false), HasSubstr("\"reversed\""));
  Stream api(1);
  api.api(0, "cudaEventQuery", 21'000, -5);
  EXPECT_THAT(api.error(true), HasSubstr("cudaEventQuery has no sane times"));
}

TEST(CallWindows, MissesAMarker) {
  for (const std::int64_t grid : {1, 2, 3, 4}) {
    Stream stream(2);
    std::erase_if(stream.recording.device, [&](const DeviceRecord& each) { return each.name == kMarkerKernel && each.grid_x == grid; });
    EXPECT_THAT(stream.error(false), HasSubstr(grid % 2 ? "marker before call " : "marker behind call ")) << grid;
  }
}

TEST(CallWindows, RefusesMarkersThatAreNotTheirs) {
  Stream twice(1);
  twice.recording.device.push_back(twice.recording.device[1]);
  EXPECT_THAT(twice.error(false), HasSubstr("recorded twice"));
  Stream more(2);
  more.windows.pop_back();
  EXPECT_THAT(more.error(false), HasSubstr("none of the 1 calls'"));
  Stream order(1);
  for (DeviceRecord& each : order.recording.device)
    if (each.name == kMarkerKernel) each.grid_x = 3 - each.grid_x;
  EXPECT_THAT(order.error(false), HasSubstr("order"));
  Stream calls(2);
  for (DeviceRecord& each : calls.recording.device)
    if (each.name == kMarkerKernel) each.grid_x = (each.grid_x + 1) % 4 + 1;  // 1 2 3 4 to 3 4 1 2
  EXPECT_THAT(calls.error(false), HasSubstr("order"));
}

TEST(CallWindows, RefusesAWindowOnAnotherClock) {
  Stream stream(1);
  stream.windows[0].begin_ns += 50'000;
  stream.windows[0].end_ns += 50'000;
  EXPECT_THAT(stream.error(true), HasSubstr("not between the launches of its markers"));
  EXPECT_EQ(stream.error(false), "no error");
  stream.windows[0] = {stream.base(0) + 3000, stream.base(0) + 40'000};
  EXPECT_THAT(stream.error(true), HasSubstr("not between the launches of its markers"));
}

TEST(CallWindows, NeverTakesTheMarkersLaunchForTheCalls) {
  Stream stream(1);
  stream.windows[0].end_ns += 1500;  // 500 ns into the second marker's launch: the clocks' rounding
  EXPECT_THAT(stream.calls()[0].activities, IsEmpty());
}

TEST(CallWindows, CountsTheMemoryThatACallTook) {
  Stream stream(2);
  stream.memory(0, true, 0x100, 1000, 19'000);   // before the call
  stream.memory(0, true, 0x200, 4096, 21'000);
  stream.memory(0, true, 0x300, 1024, 22'000);
  stream.memory(0, false, 0x100, 1000, 23'000);  // not its own
  stream.memory(0, false, 0x200, 4096, 24'000);
  stream.memory(0, false, 0x200, 4096, 24'500);  // taken there meanwhile by who is not recorded
  stream.memory(0, true, 0x200, 512, 25'000);
  stream.memory(1, true, 0x400, 64, 21'000);
  stream.memory(1, false, 0x400, 64, 22'000);
  stream.memory(1, false, 0x300, 1024, 23'000);  // the first call's
  std::ranges::reverse(stream.recording.memory);
  const auto calls = stream.calls();
  EXPECT_EQ(calls[0].peak_allocated_bytes, 5120);
  EXPECT_EQ(calls[0].kept_bytes, 1536);
  EXPECT_EQ(calls[1].peak_allocated_bytes, 64);
  EXPECT_EQ(calls[1].kept_bytes, -1024);
}

TEST(CallWindows, ACallThatGivesBackWhatTheLastOneTookKeepsNothing) {
  Stream stream(3);
  for (int call = 0; call < 3; ++call) {
    stream.memory(call, true, 0x1000 + call, 4096, 21'000);
    stream.memory(call, false, 0x1000 + call - 1, 4096, 22'000);
  }
  const auto calls = stream.calls();
  EXPECT_EQ(calls[0].kept_bytes, 4096);
  EXPECT_EQ(calls[1].kept_bytes, 0);
  EXPECT_EQ(calls[2].kept_bytes, 0);
  EXPECT_EQ(calls[2].peak_allocated_bytes, 4096);
}

TEST(CallWindows, RefusesCallsOfTheHostWithoutSaneTimes) {
  Stream none(1), backwards(1);
  none.api(0, "cudaStreamSynchronize", 21'000, 500);
  none.recording.api.back().start_ns = none.recording.api.back().end_ns = 0;
  EXPECT_THAT(none.error(), HasSubstr("cudaStreamSynchronize has no sane times"));
  backwards.api(0, "cudaMalloc", 21'000, 500);
  backwards.recording.api.back().end_ns = 0;
  EXPECT_THAT(backwards.error(), HasSubstr("cudaMalloc has no sane times"));
}

TEST(CallWindows, RefusesAKernelOfTheHarnesssNameThatTheCallLaunched) {
  Stream stream(1);
  stream.kernel(0, "sneaky_attn_harness_x", 21'000, 90'000, 95'000, 2);  // behind the second marker
  EXPECT_THAT(stream.error(), HasSubstr("sneaky_attn_harness_x"));
}

TEST(CallWindows, RefusesACaptureThatACallLeavesOpen) {
  Stream stream(2);
  stream.api(0, "cudaStreamBeginCapture", 21'000, 100);
  stream.kernel(1, "gemm", 21'000, 30'000, 31'000);
  EXPECT_THAT(stream.error(), HasSubstr("capture"));
}

TEST(CallWindows, RefusesARecordThatCameTwice) {
  Stream stream(1);
  stream.kernel(0, "gemm", 21'000, 30'000, 31'000);
  stream.recording.device.push_back(stream.recording.device.back());
  EXPECT_THAT(stream.error(), HasSubstr("twice"));
}

TEST(CallWindows, HaveNothingWithoutCalls) { EXPECT_THAT(Stream(0).calls(), IsEmpty()); }

TEST(Busy, IsTheUnionOfDeviceRecords) {
  const auto activity = [](std::int64_t start, std::int64_t end, ActivityKind kind = ActivityKind::kernel) { return Activity{kind, "", {}, start, end}; };
  EXPECT_EQ(busy_ns({}), 0);
  EXPECT_EQ(busy_ns({activity(-10, 20)}), 30);
  EXPECT_EQ(busy_ns({activity(0, 10), activity(20, 25)}), 15);
  EXPECT_EQ(busy_ns({activity(20, 25), activity(0, 10), activity(5, 22)}), 25);
  EXPECT_EQ(busy_ns({activity(0, 100), activity(10, 20), activity(50, 60)}), 100);
  EXPECT_EQ(busy_ns({activity(0, 10), activity(0, 500, ActivityKind::api)}), 10);
}

}  // namespace
}  // namespace attn
