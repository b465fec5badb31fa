#include "gpu/gpu_facts.hpp"

#include <gmock/gmock.h>

#include "gpu/cuda.hpp"
#include "gpu/loaded_libraries.hpp"

namespace attn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CudaErrors, SayWhatWasDoneAndWhatWentWrong) {
  EXPECT_NO_THROW(check_cuda(cudaSuccess, "cudaMalloc"));
  try {
    check_cuda(cudaErrorMemoryAllocation, "cudaMalloc of 4096 bytes");
    FAIL();
  } catch (const CudaError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("cudaMalloc of 4096 bytes: "), HasSubstr("(cudaErrorMemoryAllocation)")));
    EXPECT_EQ(error.code(), cudaErrorMemoryAllocation);
    EXPECT_FALSE(error.sticky());
  }
}

TEST(CudaErrors, KnowWhenTheContextIsLost) {
  for (const cudaError_t code : {cudaErrorIllegalAddress, cudaErrorAssert, cudaErrorLaunchFailure, cudaErrorLaunchTimeout, cudaErrorMisalignedAddress,
                                 cudaErrorHardwareStackError, cudaErrorIllegalInstruction, cudaErrorInvalidAddressSpace, cudaErrorInvalidPc, cudaErrorECCUncorrectable})
    EXPECT_TRUE(CudaError(code, "x").sticky()) << code;
  for (const cudaError_t code : {cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaErrorInvalidConfiguration, cudaErrorNoKernelImageForDevice, cudaErrorNotReady,
                                 cudaErrorStreamCaptureUnsupported})
    EXPECT_FALSE(CudaError(code, "x").sticky()) << code;
}

TEST(GpuCount, SaysWhyThereAreNone) {
  std::string why = "unset";
  const int count = gpu_count(why);
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    EXPECT_EQ(count, 0);
    EXPECT_THAT(why, ::testing::HasSubstr("no NVIDIA driver"));
  } else {
    EXPECT_EQ(why.empty(), count > 0) << why;
  }
}

TEST(GpuFacts, FailWithoutTheDevice) {
  Environment environment;
  EXPECT_THROW(describe_gpu(9999, environment), CudaError);
  EXPECT_THROW(gpu_device_facts(9999), CudaError);
  EXPECT_THROW(gpu_pci_bus_id(9999), CudaError);
}

TEST(LoadedLibraries, KnowTheCLibrary) {
  EXPECT_THAT(loaded_library("libc.so"), HasSubstr("/libc.so"));
  EXPECT_EQ(loaded_library("libno-such"), "");
  EXPECT_EQ(file_name("/usr/lib/libcuda.so.1"), "libcuda.so.1");
  EXPECT_EQ(file_name("libcuda.so.1"), "libcuda.so.1");
}

}  // namespace
}  // namespace attn
