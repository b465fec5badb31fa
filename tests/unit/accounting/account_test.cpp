#include "accounting/account.hpp"

#include <gmock/gmock.h>

namespace attn {
namespace {

using testing::HasSubstr;

Activity kernel(const char* name, std::int64_t start, std::int64_t end) { return {ActivityKind::kernel, name, {}, start, end}; }
Activity memory_copy(std::int64_t bytes, std::int64_t start, std::int64_t end) { return {ActivityKind::memcpy, "cpu_memcpy_scores", bytes, start, end}; }

CallActivities naive_call() {
  return {kernel("cpu_gemm_qk", 100, 200), kernel("cpu_scale", 200, 210), memory_copy(4096, 210, 230), kernel("cpu_masked_fill", 230, 240),
          kernel("cpu_softmax", 240, 300), kernel("cpu_gemm_pv", 300, 400)};
}

TEST(Account, CountsPerCall) {
  const Account result = account({naive_call(), naive_call()}, default_rules());
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.counts, (Counts{CountRange{5, 5}, CountRange{1, 1}, CountRange{4096, 4096}, CountRange{0, 0}}));
  EXPECT_EQ(result.kernel_path, KernelPath::naive);
  ASSERT_EQ(result.kernels.size(), 6u);
  EXPECT_EQ(result.kernels[2].kind, ActivityKind::memcpy);
  EXPECT_EQ(result.kernels[2].bytes, 4096);
  EXPECT_EQ(result.kernels[2].ordinal, 2);
  EXPECT_EQ(result.kernels[4].name, "cpu_softmax");
  EXPECT_EQ(result.kernels[4].activity_class, ActivityClass::softmax);
  EXPECT_EQ(result.kernels[4].device_ns, 60);
}

TEST(Account, CountsWhatTheHostDoesInsideACall) {
  const auto api = [](const char* name) { return Activity{ActivityKind::api, name, {}, 1, 2}; };
  const CallActivities call{api("cudaMalloc"), api("cudaLaunchKernel"), kernel("gemm", 10, 20), api("cuLaunchKernelEx"), kernel("softmax", 20, 30),
                            api("cudaStreamSynchronize"), api("cudaMemcpy"), {ActivityKind::memcpy, "Memcpy DtoH", 64, 30, 31}, api("cudaFree"),
                            api("cudaMallocAsync"), api("cudaFreeAsync"), api("cuKernelGetName"), api("cudaEventRecord"), api("cudaGraphLaunch")};
  const Account result = account({call, call}, default_rules());
  EXPECT_EQ(result.counts.launches, (CountRange{4, 4}));          // two kernels, a memcpy, a graph
  EXPECT_EQ(result.counts.synchronisations, (CountRange{3, 3}));  // the stream's, and those of cudaMemcpy and cudaFree
  EXPECT_EQ(result.counts.allocations, (CountRange{2, 2}));
  EXPECT_EQ(result.counts.frees, (CountRange{2, 2}));
  EXPECT_EQ(result.counts.kernels, (CountRange{2, 2}));
  ASSERT_EQ(result.kernels.size(), 3u);                            // calls are no work of the device
  EXPECT_EQ(result.kernels[1].ordinal, 1);
}

TEST(Account, CountsNoCallsOfTheHostWhereNoneWereRecorded) {
  const Account result = account({naive_call()}, default_rules());
  EXPECT_FALSE(result.counts.launches);
  EXPECT_FALSE(result.counts.synchronisations);
}

TEST(Account, CallsThatDisagreeGiveRanges) {
  CallActivities other = naive_call();
  other.push_back(kernel("cpu_copy_o", 400, 410));
  other.push_back(memory_copy(4096, 410, 420));
  const Account result = account({naive_call(), other}, default_rules());
  EXPECT_EQ(result.counts, (Counts{CountRange{5, 6}, CountRange{1, 3}, CountRange{4096, 8192}, CountRange{0, 0}}));
  EXPECT_EQ(result.kernels.back().name, "cpu_copy_o");
  EXPECT_EQ(result.kernels.back().count, (CountRange{0, 1}));
  EXPECT_EQ(result.kernels[2].count, (CountRange{1, 2}));
  EXPECT_EQ(result.kernels[2].device_ns, 25);  // median of 20 and 30
}

TEST(Account, CopyKernelsAreKernelsAndCopiesWithoutBytes) {
  const Account result = account({{kernel("cpu_copy_q", 1, 2), kernel("cpu_cast_k", 2, 3), {ActivityKind::memset, "Memset (Device)", 64, 3, 4}}}, default_rules());
  EXPECT_EQ(result.counts, (Counts{CountRange{2, 2}, CountRange{1, 1}, CountRange{0, 0}, CountRange{1, 1}}));
}

TEST(Account, WhatIsNotKnownIsEmptyAndNotZero) {
  EXPECT_EQ(account({}, default_rules()).counts, Counts{});
  EXPECT_FALSE(account({}, default_rules()).kernel_path);
  const Account result = account({{{ActivityKind::memcpy, "Memcpy DtoD", {}, 1, 2}}}, default_rules());
  EXPECT_EQ(result.counts.copies, (CountRange{1, 1}));
  EXPECT_FALSE(result.counts.copy_bytes);
}

TEST(Account, CallsOnDifferentPathsAreUnknown) {
  EXPECT_EQ(account({naive_call(), {kernel("flash_fwd_cpu", 1, 2)}}, default_rules()).kernel_path, KernelPath::unknown);
  EXPECT_EQ(account({naive_call(), {kernel("flash_fwd_cpu", 1, 2)}, naive_call()}, default_rules()).kernel_path, KernelPath::unknown);
}

TEST(Account, RecordsWithoutSenseMakeItUnmeasurable) {
  const std::vector<std::pair<Activity, const char*>> bad{{kernel("k", 0, 0), "carries no time"},
                                                          {kernel("k", 20, 10), "ends before it starts"},
                                                          {kernel("k", -5, 10), "starts before time began"},
                                                          {kernel("k", 1, 7'400'000'000'000'000'000), "lasts longer than a day"}};
  for (const auto& [record, message] : bad) {
    CallActivities call = naive_call();
    call.push_back(record);
    const Account result = account({naive_call(), call}, default_rules());
    EXPECT_THAT(result.error, HasSubstr(message));
    EXPECT_THAT(result.error, HasSubstr("record 7 of call 2 (k)"));
    EXPECT_FALSE(result.counts.kernels);
    EXPECT_TRUE(result.kernels.empty());

    Measurement measurement;
    measurement.counts.kernels = CountRange{5, 5};
    apply(result, measurement);
    EXPECT_EQ(measurement.status, Status::cannot_measure);
    EXPECT_EQ(measurement.reason, result.error);
    EXPECT_FALSE(measurement.counts.kernels);
  }
}

TEST(Account, AFaultDoesNotHideAWrongResult) {
  Measurement measurement;
  measurement.status = Status::wrong;
  measurement.reason = "off by one";
  apply(account({{kernel("k", 0, 0)}}, default_rules()), measurement);
  EXPECT_EQ(measurement.status, Status::wrong);
  EXPECT_EQ(measurement.reason, "off by one");
}

TEST(Account, HostileNamesAreNeutral) {
  const Account result = account({{kernel("evil\x1b]0;title\x07", 1, 2)}}, default_rules());
  EXPECT_EQ(result.kernels[0].name, "evil?]0;title?");
}

}  // namespace
}  // namespace attn
