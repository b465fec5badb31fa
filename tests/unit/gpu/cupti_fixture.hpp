#pragma once
// The instrument on a stub, with a test's hand on what the stub delivers.

#include <gmock/gmock.h>

#include <string>

#include "base/error.hpp"
#include "base/shared_library.hpp"
#include "gpu/cupti.hpp"
#include "stubs/stub_cupti.hpp"

namespace attn {

enum Calls : std::uint32_t { kLaunch = 1, kDriverLaunch, kMemcpy, kMemset };

class CuptiTest : public ::testing::Test {
 protected:
  CuptiTest() : library_(ATTN_STUB_CUPTI), stub(*library_.find<test::StubCuptiFunction>(test::kStubCuptiSymbol)()) {
    stub.reset();
    stub.call_names = {"", "cudaLaunchKernel_v7000", "cuLaunchKernel", "cudaMemcpyAsync_ptsz_v7000", "cudaMemsetAsync_v3020"};
  }
  ~CuptiTest() override { stub.reset(); }

  template <class Record>
  void put(const Record& record) {
    stub.put(&record, sizeof record);
  }

  void launch(const char* name, std::int32_t grid_x = 1) {
    const std::int64_t at = stub.clock_ns += 10'000;
    put(test::call_record(true, kLaunch, at, at + 3000, ++correlation));
    put(test::kernel_record(name, at + 4000, at + 6000, correlation, grid_x));
  }

  Cupti::KnownWork known_work() {
    return {.run = [this] {
              launch("known");
              launch("known");
              const std::int64_t at = stub.clock_ns += 10'000;
              put(test::call_record(true, kMemcpy, at, at + 100, ++correlation));
              put(test::memcpy_record(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, 4096, at + 200, at + 300, correlation));
              put(test::call_record(true, kMemset, at + 400, at + 500, ++correlation));
              put(test::memset_record(64, at + 600, at + 700, correlation));
            },
            .kernels = 2, .memcpys = 1, .memsets = 1};
  }

  std::string error() {
    try {
      Cupti cupti(ATTN_STUB_CUPTI, known_work());
    } catch (const Error& caught) {
      return caught.what();
    }
    return "no error";
  }

  SharedLibrary library_;
  test::StubCupti& stub;
  std::uint32_t correlation = 0;
};

}  // namespace attn
