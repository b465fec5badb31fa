#include "gpu/nvml.hpp"

#include <gmock/gmock.h>

#include "stubs/stub_nvml.hpp"

namespace attn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NvmlTest : public ::testing::Test {
 protected:
  NvmlTest() : library_(ATTN_STUB_NVML), stub(*library_.find<test::StubNvmlFunction>(test::kStubNvmlSymbol)()) { stub = {}; }

  std::string error(const std::string& bus_id, const std::string& library = ATTN_STUB_NVML) {
    try {
      Nvml nvml(bus_id, library);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  SharedLibrary library_;
  test::StubNvml& stub;
};

TEST_F(NvmlTest, TellsWhatTheCardIsAndDoes) {
  const Nvml nvml(stub.bus_id, ATTN_STUB_NVML);
  EXPECT_EQ(nvml.driver_version(), "580.65.06");
  EXPECT_EQ(nvml.uuid(), "GPU-0123");
  EXPECT_EQ(nvml.power_limit_w(), 700);
  EXPECT_FALSE(nvml.mig());
  const ClockState clocks = nvml.clocks();
  EXPECT_EQ(clocks.sm_mhz, 1980);
  EXPECT_EQ(clocks.memory_mhz, 3201);
  EXPECT_EQ(clocks.power_w, 412.5);
  EXPECT_EQ(clocks.temperature_c, 41);
  EXPECT_THAT(clocks.throttle_reasons, IsEmpty());
}

TEST_F(NvmlTest, LeavesIdlenessOutOfTheReasonsForSlowness) {
  const Nvml nvml(stub.bus_id, ATTN_STUB_NVML);
  stub.reasons = 0x1;
  EXPECT_THAT(nvml.clocks().throttle_reasons, IsEmpty());
  stub.reasons = 0x1 | 0x4 | 0x40;
  EXPECT_THAT(nvml.clocks().throttle_reasons, ElementsAre("power cap", "thermal (hardware)"));
}

TEST_F(NvmlTest, AsksAnOlderDriverByTheOldName) {
  const Nvml nvml(stub.bus_id, ATTN_STUB_NVML);
  stub.reasons = 0x20;
  stub.returns["nvmlDeviceGetCurrentClocksEventReasons"] = 3;
  EXPECT_THAT(nvml.clocks().throttle_reasons, ElementsAre("thermal (software)"));
}

TEST_F(NvmlTest, LeavesEmptyWhatTheCardDoesNotSay) {
  const Nvml nvml(stub.bus_id, ATTN_STUB_NVML);
  for (const char* each : {"nvmlSystemGetDriverVersion", "nvmlDeviceGetUUID", "nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetClockInfo",
                           "nvmlDeviceGetTemperature", "nvmlDeviceGetMigMode", "nvmlDeviceGetComputeRunningProcesses_v3"})
    stub.returns[each] = 3;
  EXPECT_EQ(nvml.driver_version(), "");
  EXPECT_EQ(nvml.uuid(), "");
  EXPECT_EQ(nvml.power_limit_w(), std::nullopt);
  EXPECT_FALSE(nvml.mig());
  EXPECT_EQ(nvml.clocks().sm_mhz, std::nullopt);
  EXPECT_EQ(nvml.clocks().power_w, std::nullopt);
  EXPECT_EQ(nvml.clocks().temperature_c, std::nullopt);
  EXPECT_EQ(nvml.computing_processes(), std::nullopt);
}

TEST_F(NvmlTest, ListsHoweverManyProcesses) {
  const Nvml nvml(stub.bus_id, ATTN_STUB_NVML);
  EXPECT_THAT(*nvml.computing_processes(), IsEmpty());
  stub.processes = {17, 4711};
  EXPECT_THAT(*nvml.computing_processes(), ElementsAre(17, 4711));
  stub.processes.assign(100, 5);
  EXPECT_THAT(*nvml.computing_processes(), SizeIs(100));
}

TEST_F(NvmlTest, SeesThatTheCardIsDivided) {
  stub.mig_mode = 1;
  EXPECT_TRUE(Nvml(stub.bus_id, ATTN_STUB_NVML).mig());
}

TEST_F(NvmlTest, SaysWhyThereIsNone) {
  EXPECT_THAT(error("00000000:ff:00.0"), AllOf(HasSubstr("00000000:ff:00.0"), HasSubstr("Not Found (NVML error 6)")));
  EXPECT_EQ(stub.open, 0) << "an NVML that was opened in vain is closed again";
  stub.returns["nvmlInit_v2"] = 9;
  EXPECT_THAT(error(stub.bus_id), HasSubstr("Driver Not Loaded (NVML error 9)"));
  EXPECT_THAT(error(stub.bus_id, ATTN_STUB_CUPTI), HasSubstr("is no NVML"));
  EXPECT_THAT(error(stub.bus_id, "libno-such-ml.so.1"), HasSubstr("libno-such-ml.so.1"));
}

TEST_F(NvmlTest, ClosesWhatItOpened) {
  { const Nvml nvml(stub.bus_id, ATTN_STUB_NVML); }
  EXPECT_EQ(stub.open, 0);
}

}  // namespace
}  // namespace attn
