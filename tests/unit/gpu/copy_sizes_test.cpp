#include "gpu/copy_sizes.hpp"

#include <gmock/gmock.h>

#include "base/shared_library.hpp"
#include "gpu/cupti.hpp"
#include "stubs/stub_cupti.hpp"

namespace attn {
namespace {

TEST(CopySizes, KnowWhichCallsSayTheirSize) {
  EXPECT_EQ(counted_element_bytes("cudaMemcpyAsync_v3020"), 1);
  EXPECT_EQ(counted_element_bytes("cudaMemcpyAsync_ptsz_v7000"), 1);
  EXPECT_EQ(counted_element_bytes("cudaMemset_ptds_v7000"), 1);
  EXPECT_EQ(counted_element_bytes("cuMemcpyDtoDAsync_v2_ptsz"), 1);
  EXPECT_EQ(counted_element_bytes("cuMemsetD32Async"), 4);
  EXPECT_EQ(counted_element_bytes("cuMemcpyAsync_ptsz"), 1);
  EXPECT_EQ(counted_element_bytes("cuMemcpyHtoD"), std::nullopt) << "whose addresses had 32 bits";
  EXPECT_EQ(counted_element_bytes("cudaMemcpy2D_v3020"), std::nullopt);
  EXPECT_EQ(counted_element_bytes("cudaLaunchKernel_v7000"), std::nullopt);
}

class CopySizesTest : public ::testing::Test {
 protected:
  CopySizesTest() : library_(ATTN_STUB_CUPTI), stub(*library_.find<test::StubCuptiFunction>(test::kStubCuptiSymbol)()) {
    stub.reset();
    stub.call_names = {"", "cudaMemcpyAsync_v3020", "cuMemsetD32Async", "cudaLaunchKernel_v7000"};
  }
  ~CopySizesTest() override { stub.reset(); }

  std::optional<std::int64_t> bytes_of(Cupti& cupti, bool runtime, std::uint32_t call, const void* parameters) {
    stub.begin_call(runtime, call, parameters, ++correlation);
    const auto record = test::call_record(runtime, call, 2'000'000, 2'000'100, correlation);
    stub.put(&record, sizeof record);
    const Recording recording = cupti.take();
    return recording.api.size() == 1 ? recording.api[0].bytes : -1;
  }

  SharedLibrary library_;
  test::StubCupti& stub;
  std::uint32_t correlation = 0;
};

TEST_F(CopySizesTest, ComeWithTheRecordsOfTheCalls) {
  Cupti cupti(ATTN_STUB_CUPTI, {.run = [] {}});
  cupti.record(Recorded::everything);
  cudaMemcpyAsync_v3020_params memcpy{nullptr, nullptr, 4096, cudaMemcpyDeviceToDevice, nullptr};
  EXPECT_EQ(bytes_of(cupti, true, 1, &memcpy), 4096);
  memcpy.count = 0;
  EXPECT_EQ(bytes_of(cupti, true, 1, &memcpy), 0);
  const cuMemsetD32Async_params memset{0, 7, 100, nullptr};
  EXPECT_EQ(bytes_of(cupti, false, 2, &memset), 400);
  EXPECT_EQ(bytes_of(cupti, true, 3, nullptr), std::nullopt);
}

TEST_F(CopySizesTest, AreWatchedOnlyWhileEverythingIsRecorded) {
  Cupti cupti(ATTN_STUB_CUPTI, {.run = [] {}});
  EXPECT_TRUE(stub.watched.empty());
  cupti.record(Recorded::device);
  EXPECT_TRUE(stub.watched.empty());
  cupti.record(Recorded::everything);
  EXPECT_FALSE(stub.watched.empty());
  EXPECT_FALSE(stub.watched.contains({CUPTI_CB_DOMAIN_RUNTIME_API, 3}));
  cupti.record(Recorded::device);
  EXPECT_TRUE(stub.watched.empty());
}

}  // namespace
}  // namespace attn
