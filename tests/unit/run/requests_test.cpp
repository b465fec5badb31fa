#include "run/requests.hpp"

#include <gmock/gmock.h>

namespace attn {
namespace {

const std::set<Gate> kAll{Gate::numerics, Gate::kernels, Gate::copies, Gate::kernel_path, Gate::latency, Gate::memory};
const std::set<Gate> kExact{Gate::numerics, Gate::kernels, Gate::copies, Gate::kernel_path};

std::vector<Request> requests(DeviceType device, const std::set<Gate>& gates, bool whole = true) {
  Measurement measurement;
  measurement.device = device;
  return requests_for({}, "naive", measurement, gates, 1, whole);
}

TEST(Requests, ACpuIsAskedOnce) {
  const auto all = requests(DeviceType::cpu, kAll);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].bare && all[0].accounting && all[0].numerics && all[0].timing);
  EXPECT_FALSE(all[0].device_time);
}

TEST(Requests, WhatCallsLeaveBehindWantsMoreOfThemOnACpu) {
  const Request kDefault;
  for (const std::set<Gate>& gates : {std::set{Gate::memory}, std::set{Gate::memory, Gate::latency}}) {
    EXPECT_GE(requests(DeviceType::cpu, gates)[0].min_calls, 14);
    EXPECT_GT(requests(DeviceType::cpu, gates)[0].timing_ns, 0);
  }
  EXPECT_EQ(requests(DeviceType::cpu, {Gate::latency})[0].min_calls, kDefault.min_calls);
  EXPECT_EQ(requests(DeviceType::cpu, kAll, false)[0].min_calls, kDefault.min_calls);
  EXPECT_EQ(requests(DeviceType::cpu, kExact)[0].timing_ns, 0);
}

TEST(Requests, AGpusHostTimesComeBeforeItsRecords) {
  const auto all = requests(DeviceType::cuda, kAll);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].bare && all[0].timing);
  EXPECT_FALSE(all[0].device_time || all[0].accounting || all[0].numerics);
  EXPECT_FALSE(all[1].bare);
  EXPECT_TRUE(all[1].device_time && all[1].accounting && all[1].numerics && all[1].timing);
}

TEST(Requests, AFurtherBlockMeasuresTimesAlone) {
  const auto more = requests(DeviceType::cuda, kAll, false);
  ASSERT_EQ(more.size(), 2u);
  EXPECT_TRUE(more[0].bare && more[1].device_time);
  EXPECT_FALSE(more[1].accounting || more[1].numerics);
}

TEST(Requests, ExactGatesNeedNoTimes) {
  const auto exact = requests(DeviceType::cuda, kExact);
  ASSERT_EQ(exact.size(), 1u);
  EXPECT_FALSE(exact[0].bare || exact[0].device_time || exact[0].timing);
  EXPECT_TRUE(exact[0].accounting && exact[0].numerics);
  EXPECT_FALSE(requests(DeviceType::cuda, {Gate::numerics})[0].accounting);
}

TEST(Requests, TimesAloneNeedNoRecordsOfCalls) {
  const auto timed = requests(DeviceType::cuda, {Gate::latency, Gate::numerics});
  ASSERT_EQ(timed.size(), 2u);
  EXPECT_TRUE(timed[0].bare && timed[1].device_time);
  EXPECT_FALSE(timed[0].accounting || timed[1].accounting);
}

}  // namespace
}  // namespace attn
