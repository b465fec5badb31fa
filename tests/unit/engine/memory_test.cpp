// What a trial is said to need of a device against what the device is asked for.

#include <gmock/gmock.h>

#include <fcntl.h>

#include <atomic>
#include <random>
#include <string>

#include "abi/attn_kernel.hpp"
#include "base/child_process.hpp"
#include "engine/backend_list.hpp"
#include "engine/calls.hpp"
#include "engine/host_device.hpp"
#include "engine/noted_memory.hpp"
#include "engine/trial.hpp"
#include "problem.hpp"

namespace attn {
namespace {

// The host, which counts what it hands out and can be told to have less memory.
class CountingDevice : public HostDevice {
 public:
  attn_device_facts facts() const override {
    attn_device_facts facts = HostDevice::facts();
    if (total > 0) facts.memory_bytes = total;
    return facts;
  }
  double free_bytes() const override { return free.value_or(HostDevice::free_bytes()); }
  std::byte* allocate(std::size_t bytes) override {
    allocated += bytes;
    return HostDevice::allocate(bytes);
  }
  std::size_t allocated = 0;
  std::uint64_t total = 0;
  std::optional<double> free;
};

// Writes nothing; its workspace is as large as the test says.
struct Idle {
  static constexpr BackendInfo info{.name = "idle", .can = ~std::uint64_t{0}};
  static Support supports(const attn_problem&, const attn_device_facts&) { return {workspace_bytes}; }
  Idle(const attn_problem&, const attn_tensors&, const attn_device_facts&, const Options&) {}
  void run(const attn_call&) {}
  static inline std::uint64_t workspace_bytes = 0;
};

// A small case that lies in any way.
Case any_case(std::mt19937& random) {
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  for (;;) {
    Case c;
    c.name = "any";
    c.batch = 1 + below(4);
    c.heads_kv = 1 + below(3);
    c.heads = c.heads_kv * (1 + below(3));
    c.seq_q = 1 + below(70);
    c.seq_kv = below(2) ? c.seq_q : 1 + below(70);
    c.head_dim = 1 + below(40);
    c.head_dim_v = below(2) ? c.head_dim : 1 + below(40);
    c.dtype = static_cast<DType>(below(5));
    c.dtype_kv = below(4) ? c.dtype : static_cast<DType>(below(5));
    c.layout = static_cast<Layout>(below(5));
    const auto kind = [&] { return below(2) ? StrideKind::dense : static_cast<StrideKind>(below(4)); };
    if (c.layout != Layout::packed_qkv) c.strides = {kind(), kind(), kind(), kind()};
    c.mask = static_cast<MaskKind>(below(3));
    c.mask_tensor.dtype = static_cast<MaskDType>(below(2));
    for (bool& full : c.mask_tensor.full) full = below(2);
    c.alignment = static_cast<Alignment>(below(2));
    if (below(3) == 0) c.alibi.emplace();
    for (std::int64_t b = 0; b < c.batch && (c.layout == Layout::thd || below(2)); ++b) {
      c.lengths_q.push_back(below(static_cast<std::uint32_t>(c.seq_q + 1)));
      c.lengths_kv.push_back(below(static_cast<std::uint32_t>(c.seq_kv + 1)));
    }
    if (!c.lengths_kv.empty() && below(2)) c.page_size = 1 + below(90), c.page_order = static_cast<PageOrder>(below(2));
    c.pass = static_cast<Pass>(below(3));
    if (c.pass != Pass::forward) c.grad_layout = static_cast<GradLayout>(below(3));
    c.then = static_cast<Then>(below(2));
    c.cache = Cache::warm;
    if (!impossible(c)) return c;
  }
}

TEST(Memory, NeededIsWhatATrialTakes) {
  std::mt19937 random(11);
  CountingDevice device;
  for (int i = 0; i < 3000; ++i) {
    const Case c = any_case(random);
    const std::uint64_t workspace_bytes = random() % 3 ? random() % 5000 : 0;
    device.allocated = 0;
    Calls calls(device, *detail::backend_list<Idle>()->backends[0], c, make_problem(c, case_id(c), 1), {}, 1, workspace_bytes);
    ASSERT_EQ(Calls::bytes_needed(c, workspace_bytes), static_cast<double>(device.allocated)) << case_id(c);
    calls.prepare();
    calls.make(nullptr);
    ASSERT_EQ(Calls::bytes_needed(c, workspace_bytes), static_cast<double>(device.allocated)) << "in a call of " << case_id(c);
  }
}

// A closing record of a trial that asks for support alone.
MeasurementRecord asked(Device& device, const Case& c) {
  Request request;
  request.backend = "idle";
  request.case_id = case_id(c);
  request.supports_only = true;
  const Descriptor nowhere(open("/dev/null", O_WRONLY));
  RecordWriter write(nowhere.get());
  return run_trial(*detail::backend_list<Idle>(), request, device, write);
}

TEST(Memory, ThatADeviceNeverHasIsUnsupportedAndTheTextSaysWhatItLacks) {
  Case c = shaped(1, 1, 1, 1024, 1024, 1024);  // q, k, v and o of 4 MiB each
  CountingDevice device;
  device.free = 1e12;
  device.total = 30 << 20;
  EXPECT_EQ(asked(device, c).status, Status::ok);
  device.total = 18 << 20;
  const MeasurementRecord record = asked(device, c);
  EXPECT_EQ(record.status, Status::unsupported);
  EXPECT_EQ(record.reason, "needs 16 MiB of memory; this machine has 18 MiB, of which a trial may take 80 % (14 MiB)");
  device.total = 30 << 20;
  c.pass = Pass::forward_backward;
  EXPECT_EQ(asked(device, c).reason, "needs 32 MiB of memory; this machine has 30 MiB, of which a trial may take 80 % (24 MiB)") << "with gradients";
}

TEST(Memory, ThatIsNotFreeNowCannotBeMeasured) {
  CountingDevice device;
  device.total = 100 << 20;
  device.free = 15 << 20;
  const MeasurementRecord record = asked(device, shaped(1, 1, 1, 1024, 1024, 1024));
  EXPECT_EQ(record.status, Status::cannot_measure);
  EXPECT_EQ(record.reason, "needs 16 MiB of memory, and 15 MiB of 100 MiB are free now");
}

// Wants memory of its own, which is not there.
struct Hungry {
  static constexpr BackendInfo info{.name = "idle", .can = ~std::uint64_t{0}};
  static Support supports(const attn_problem&, const attn_device_facts&) { return {}; }
  Hungry(const attn_problem&, const attn_tensors&, const attn_device_facts&, const Options&) {
    if (runs_out) noted_out_of_memory() = wanted_bytes;
    throw Unsupported("out of memory");
  }
  void run(const attn_call&) {}
  static inline std::uint64_t wanted_bytes = 0;
  static inline bool runs_out = true;
};

// A trial of Hungry; what happened to be noted before is of another trial.
MeasurementRecord starved(CountingDevice& device, std::uint64_t wanted_bytes, bool runs_out = true) {
  Hungry::wanted_bytes = wanted_bytes;
  Hungry::runs_out = runs_out;
  noted_out_of_memory() = 0;
  Request request;
  request.backend = "idle";
  request.case_id = case_id(shaped(1, 1, 1, 2, 2, 8));
  const Descriptor nowhere(open("/dev/null", O_WRONLY));
  RecordWriter write(nowhere.get());
  return run_trial(*detail::backend_list<Hungry>(), request, device, write);
}

TEST(Memory, ThatABackendRunsOutOfWhileOthersHoldItCannotBeMeasured) {
  CountingDevice device;
  device.total = 100 << 20;
  device.free = 30 << 20;
  for (const std::uint64_t wanted : {std::uint64_t{0}, std::uint64_t{40} << 20}) {
    const MeasurementRecord record = starved(device, wanted);
    EXPECT_EQ(record.status, Status::cannot_measure) << wanted;
    EXPECT_EQ(record.reason, "out of memory; 30 MiB of 100 MiB were free on this machine before the case: end what holds the rest");
  }
  const MeasurementRecord refused = starved(device, 0, false);
  EXPECT_EQ(refused.status, Status::unsupported) << "no memory was asked for";
  EXPECT_EQ(refused.reason, "out of memory");
}

TEST(Memory, ThatABackendRunsOutOfOnAFreeDeviceOrThatNoDeviceHasIsUnsupported) {
  CountingDevice device;
  device.total = 100 << 20;
  device.free = 30 << 20;
  EXPECT_EQ(starved(device, 90 << 20).reason, "out of memory; take a smaller case, or a device with more memory");
  EXPECT_EQ(starved(device, 90 << 20).status, Status::unsupported);
  EXPECT_EQ(starved(device, ~std::uint64_t{0}).status, Status::unsupported);
  device.free = 80 << 20;
  EXPECT_EQ(starved(device, 0).status, Status::unsupported) << "all that a trial may take was free";
}

TEST(Memory, OfAWorkspaceIsCounted) {
  CountingDevice device;
  device.free = 1e12;
  for (const std::uint64_t bytes : {std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    Idle::workspace_bytes = bytes;
    EXPECT_EQ(asked(device, shaped(1, 1, 1, 2, 2, 8)).status, Status::unsupported);
  }
  Idle::workspace_bytes = 0;
}

// Its row and page tables fit nowhere either, so they must not be made to be counted.
TEST(Memory, OfTablesThatFitNowhereIsCountedWithoutMakingThem) {
  Case c = shaped(4096, 1, 1, 1 << 24, 1 << 24, 1);
  c.lengths_q = c.lengths_kv = std::vector<std::int64_t>(4096, 1 << 24);
  c.layout = Layout::thd;
  c.page_size = 1;
  const double rows = 4096.0 * (1 << 24), of_tensors = 4 * 4 * rows, of_row_tables = 4 * 8 * rows, of_page_table = 4 * rows;
  EXPECT_NEAR(Calls::bytes_needed(c, 0), of_tensors + of_row_tables + of_page_table, 1e6);
}

// The largest sizes that a suite may say.
TEST(Memory, OfMoreBytesThan64BitsCountIsUnsupported) {
  constexpr std::int64_t kLargest = 1 << 24;
  CountingDevice device;
  for (const Layout layout : {Layout::bhsd, Layout::sbhd, Layout::packed_qkv}) {
    Case c = shaped(kLargest, kLargest, kLargest, kLargest, kLargest, kLargest);
    c.layout = layout;
    c.mask = MaskKind::tensor;
    for (bool& full : c.mask_tensor.full) full = true;
    EXPECT_GT(Calls::bytes_needed(c, 0), 1e18);
    EXPECT_EQ(asked(device, c).status, Status::unsupported);
  }
  Case pages = shaped(2, kLargest, kLargest, kLargest, kLargest, kLargest);
  pages.lengths_q = pages.lengths_kv = {kLargest, 1};
  pages.page_size = kLargest;
  EXPECT_GT(Calls::bytes_needed(pages, 0), 1e18);
  EXPECT_EQ(asked(device, pages).status, Status::unsupported);
}

// --- What opening a backend takes ---

// Holds so much while it opens, every page of it touched, and no more of it afterwards.
struct Hoards : Idle {
  static inline std::size_t bytes = 0;
  Hoards(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& facts, const Options& options) : Idle(problem, tensors, facts, options) {
    const std::string held(bytes, 'x');
    seen += held.back();
  }
  static inline std::atomic<int> seen;
};

std::int64_t taken_by_opening(std::size_t bytes) {
  Hoards::bytes = bytes;
  HostDevice device;
  const Case c = shaped(1, 1, 1, 4, 4, 8);
  const Calls calls(device, *detail::backend_list<Hoards>()->backends[0], c, make_problem(c, case_id(c), 1), {}, 1, 0);
  EXPECT_EQ(calls.open_peak().source, "resident");
  return calls.open_peak().bytes.value_or(-1);
}

// Also where malloc could give what it has in store: that would be resident already.
TEST(Memory, OfOpeningIsItsMostThoughNothingIsKept) {
  constexpr std::int64_t kMiB = 1 << 20;
  for (const std::int64_t wanted : {64 * kMiB, 16 * kMiB, 16 * kMiB, std::int64_t{1}})
    EXPECT_NEAR(static_cast<double>(taken_by_opening(static_cast<std::size_t>(wanted))), static_cast<double>(wanted), static_cast<double>(kMiB));
}

}  // namespace
}  // namespace attn
