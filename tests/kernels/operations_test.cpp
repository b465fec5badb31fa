// What the backends report and promise beside the numbers: operations and bytes, options, no allocation, refusals, and the faults that are planted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>

#include "allocations.hpp"
#include "plugin.hpp"
#include "problem.hpp"

namespace attn::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

const attn_backend& need(const char* file, const char* name) {
  const attn_backend* backend = find_backend(file, name);
  if (!backend) throw std::runtime_error("not built");
  return *backend;
}

#define NEED_PLUGIN(file, name) \
  if (!find_backend(file, name)) GTEST_SKIP() << "lib" << file << ".so was not built"

Listener listen(const char* file, const char* name, const Spec& spec) {
  Problem problem(spec);
  Session session(need(file, name), problem);
  Listener listener;
  session.run(listener.ops());
  EXPECT_TRUE(listener.balanced()) << "operations must end before the next begins";
  return listener;
}

const Spec kCausal{.batch = 2, .heads = 4, .heads_kv = 2, .seq_q = 20, .seq_kv = 24, .mask = Mask::causal};
constexpr std::uint64_t kScoreBytes = 2 * 4 * 20 * 24 * 4;

TEST(Operations, NaiveIsFiveKernelsAndOneCopyOfTheScores) {
  NEED_PLUGIN("chain", "naive");
  const auto operations = listen("chain", "naive", kCausal).operations();
  EXPECT_THAT(operations, ElementsAre(Operation{ATTN_OP_KERNEL, "cpu_gemm_qk", 0}, Operation{ATTN_OP_KERNEL, "cpu_scale", 0},
                                      Operation{ATTN_OP_MEMCPY, "cpu_memcpy_scores", kScoreBytes}, Operation{ATTN_OP_KERNEL, "cpu_masked_fill", 0},
                                      Operation{ATTN_OP_KERNEL, "cpu_softmax", 0}, Operation{ATTN_OP_KERNEL, "cpu_gemm_pv", 0}));
}

TEST(Operations, InplaceIsFiveKernelsAndNoCopy) {
  NEED_PLUGIN("chain", "naive_inplace");
  const Listener listener = listen("chain", "naive_inplace", kCausal);
  EXPECT_THAT(listener.names(), ElementsAre("cpu_gemm_qk", "cpu_scale", "cpu_masked_fill", "cpu_softmax", "cpu_gemm_pv"));
  EXPECT_THAT(listener.names(ATTN_OP_MEMCPY), IsEmpty());
}

TEST(Operations, WithNothingToHideThereIsNoFillAndNoCopy) {
  NEED_PLUGIN("chain", "naive");
  const Listener listener = listen("chain", "naive", {});
  EXPECT_THAT(listener.names(), ElementsAre("cpu_gemm_qk", "cpu_scale", "cpu_softmax", "cpu_gemm_pv"));
  EXPECT_THAT(listener.names(ATTN_OP_MEMCPY), IsEmpty());
}

TEST(Operations, EachFeatureAddsItsOwn) {
  NEED_PLUGIN("chain", "naive_inplace");
  const Spec spec{.mask = Mask::additive, .window_left = 3, .softcap = 2, .slopes = {0.5f, 0.25f}};
  EXPECT_THAT(listen("chain", "naive_inplace", spec).names(),
              ElementsAre("cpu_gemm_qk", "cpu_scale", "cpu_softcap", "cpu_alibi", "cpu_mask_add", "cpu_masked_fill", "cpu_softmax", "cpu_gemm_pv"));
}

TEST(Operations, HalfPrecisionIsCastAndReported) {
  NEED_PLUGIN("chain", "naive_inplace");
  EXPECT_THAT(listen("chain", "naive_inplace", {.dtype = ATTN_BF16}).names(),
              ElementsAre("cpu_cast_q", "cpu_cast_k", "cpu_cast_v", "cpu_gemm_qk", "cpu_scale", "cpu_softmax", "cpu_gemm_pv", "cpu_cast_o"));
  EXPECT_THAT(listen("chain", "naive_inplace", {.dtype = ATTN_FP32, .dtype_kv = ATTN_FP16}).names(),
              ElementsAre("cpu_cast_k", "cpu_cast_v", "cpu_gemm_qk", "cpu_scale", "cpu_softmax", "cpu_gemm_pv"));
}

TEST(Operations, MathBuildsItsMaskAndChecksForDeadRows) {
  NEED_PLUGIN("chain", "math");
  EXPECT_THAT(listen("chain", "math", {.dtype = ATTN_FP16, .mask = Mask::causal}).names(),
              ElementsAre("cpu_cast_q", "cpu_cast_k", "cpu_cast_v", "cpu_scale_q", "cpu_scale_k", "cpu_mask_build", "cpu_gemm_qk", "cpu_mask_add",
                          "cpu_is_neginf", "cpu_softmax", "cpu_all_masked", "cpu_where", "cpu_gemm_pv", "cpu_cast_o"));
}

TEST(Operations, StridesThatBlasReadsNeedNoCopy) {
  NEED_PLUGIN("chain", "naive_inplace");
  for (const Stride stride : {Stride::expanded, Stride::transposed, Stride::sliced})
    EXPECT_THAT(listen("chain", "naive_inplace", {.heads = 4, .q = stride, .k = stride, .v = stride}).names(),
                ElementsAre("cpu_gemm_qk", "cpu_scale", "cpu_softmax", "cpu_gemm_pv"));
  EXPECT_THAT(listen("chain", "naive_inplace", {.o = Stride::transposed}).names(),
              ElementsAre("cpu_gemm_qk", "cpu_scale", "cpu_softmax", "cpu_gemm_pv", "cpu_copy_o"));
}

TEST(Operations, FlashIsOne) {
  for (const std::int64_t seq_q : {1, 200})
    for (const std::int32_t dtype : {ATTN_FP32, ATTN_BF16}) {
      const Listener listener = listen("flash", "flash", {.seq_q = seq_q, .seq_kv = 700, .dtype = dtype, .mask = Mask::causal});
      EXPECT_THAT(listener.operations(), ElementsAre(Operation{ATTN_OP_KERNEL, "flash_fwd_cpu", 0}));
    }
}

TEST(Memory, FlashDoesNotStoreTheScores) {
  const auto bytes = [](std::int64_t seq) {
    Problem problem({.heads = 1, .seq_q = seq, .seq_kv = seq, .head_dim = 64, .lse = false});
    return Session(need("flash", "flash"), problem).workspace_bytes();
  };
  EXPECT_EQ(bytes(512), bytes(2048));
}

TEST(Memory, RunAllocatesNothing) {
  if (!allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns malloc here";
  static void* volatile kept;  // so that the pair is not optimised away
  const auto allocate = [] {
    kept = std::malloc(100);
    std::free(kept);
  };
  ASSERT_EQ(allocations_of(allocate), 1) << "the counter does not count";
  const std::pair<const char*, const char*> backends[] = {{"chain", "naive"},        {"chain", "math"},         {"flash", "flash"},
                                                          {"planted", "planted.slow"}, {"control", "control.matrix"}, {"control", "control.bandwidth"}};
  for (const auto& [file, name] : backends) {
    const attn_backend* backend = find_backend(file, name);
    if (!backend) continue;
    for (const std::int64_t seq_q : {1, 300}) {
      Problem problem({.batch = 2, .heads = 4, .heads_kv = 2, .seq_q = seq_q, .seq_kv = 600, .head_dim = 64, .dtype = ATTN_BF16, .mask = Mask::causal});
      Session session(*backend, problem);
      EXPECT_EQ(allocations_of([&] { EXPECT_EQ(session.call(), ATTN_OK); }), 0) << name << ", the first call, seq_q " << seq_q;
      EXPECT_EQ(allocations_of([&] { EXPECT_EQ(session.call(), ATTN_OK); }), 0) << name << ", the second call, seq_q " << seq_q;
    }
  }
}

// A copy of a tensor that ends where a page begins which nobody may read.
class Guarded {
 public:
  Guarded(DLTensor& tensor, std::size_t bytes) : tensor_(tensor), before_(tensor) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    size_ = (bytes + page - 1) / page * page + page;
    base_ = static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + size_ - page, page, PROT_NONE);
    tensor_.data = base_ + size_ - page - bytes;
    tensor_.byte_offset = 0;
    std::memcpy(tensor_.data, static_cast<const char*>(before_.data) + before_.byte_offset, bytes);
  }
  ~Guarded() {
    tensor_ = before_;
    munmap(base_, size_);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

 private:
  DLTensor& tensor_;
  DLTensor before_;
  char* base_;
  std::size_t size_;
};

TEST(Memory, FlashReadsNothingPastItsInputs) {
  for (const std::int64_t seq_q : {1, 9, 70})
    for (const std::int64_t seq_kv : {1, 5, 66})
      for (const std::int32_t dtype : {ATTN_FP32, ATTN_BF16}) {
        Problem problem({.heads = 1, .seq_q = seq_q, .seq_kv = seq_kv, .head_dim = 13, .dtype = dtype, .mask = Mask::boolean});
        const auto elements = [&](std::int64_t rows, std::int64_t columns, std::size_t element) { return static_cast<std::size_t>(rows * columns) * element; };
        const std::size_t element = dtype == ATTN_FP32 ? 4 : 2;
        const Guarded q(*problem.q->dl(), elements(seq_q, 13, element)), k(*problem.k->dl(), elements(seq_kv, 13, element)),
            v(*problem.v->dl(), elements(seq_kv, 13, element)), mask(*problem.mask->dl(), elements(seq_q, seq_kv, 1));
        Session session(need("flash", "flash"), problem);
        EXPECT_NO_THROW(session.run());  // a read too far ends the process
      }
}

TEST(Options, UnknownOnesAreRefusedWithTheKnown) {
  NEED_PLUGIN("planted", "planted.slow");
  const auto open = [](const char* file, const char* name, std::vector<const char*> options) {
    Problem problem({});
    Session session(need(file, name), problem, std::move(options));
  };
  EXPECT_THAT([&] { open("planted", "planted.slow", {"extr", "1%"}); },
              ThrowsMessage<std::runtime_error>(HasSubstr("option `extr` is unknown; known are: extra")));
  EXPECT_THAT([&] { open("flash", "flash", {"tile", "1"}); },
              ThrowsMessage<std::runtime_error>(HasSubstr("option `tile` is unknown; this backend has no options")));
  for (const char* bad : {"100", "-1%", "x%", "", "nan%", "1e9%", "5%%"})
    EXPECT_THAT([&] { open("planted", "planted.slow", {"extra", bad}); },
                ThrowsMessage<std::runtime_error>(HasSubstr("allowed is a number from 0 to 100000 with `%`")))
        << bad;
  EXPECT_THAT([&] { open("planted", "planted.delay", {"delay_us", "2ms"}); }, ThrowsMessage<std::runtime_error>(HasSubstr("`delay_us` is `2ms`")));
  EXPECT_NO_THROW(open("planted", "planted.slow", {"extra", "12.5%"}));
}

TEST(Support, AWorkspaceLargerThanTheMachineIsRefused) {
  NEED_PLUGIN("chain", "naive");
  Problem problem({});
  attn_problem large = problem.problem();
  large.batch = 64;
  large.heads = large.heads_kv = 64;
  large.seq_q = large.seq_kv = 1 << 20;
  attn_device_facts device{};
  device.struct_size = sizeof device;
  device.memory_bytes = std::uint64_t{64} << 30;
  attn_support support{};
  char text[256] = {};
  attn_text why{text, sizeof text};
  const attn_backend& naive = need("chain", "naive");
  EXPECT_EQ(naive.supports(naive.self, &large, &device, &support, &why), ATTN_UNSUPPORTED);
  EXPECT_THAT(text, HasSubstr("the device has 65536 MiB"));
  large.seq_q = large.seq_kv = std::int64_t{1} << 31;
  EXPECT_EQ(naive.supports(naive.self, &large, &device, &support, &why), ATTN_UNSUPPORTED);
  const attn_backend& flash = need("flash", "flash");
  large.seq_q = large.seq_kv = 1 << 20;
  EXPECT_EQ(flash.supports(flash.self, &large, &device, &support, &why), ATTN_OK);
}

TEST(Support, ATooSmallWorkspaceFailsInsteadOfWriting) {
  NEED_PLUGIN("chain", "naive");
  for (const auto& [file, name] : {std::pair{"chain", "naive"}, {"flash", "flash"}}) {
    const attn_backend& backend = need(file, name);
    Problem problem({});
    attn_device_facts device{};
    device.struct_size = sizeof device;
    device.threads = 1;
    void* state = nullptr;
    char text[256] = {};
    attn_text why{text, sizeof text};
    ASSERT_EQ(backend.open(backend.self, &problem.problem(), &problem.tensors(), &device, nullptr, &state, &why), ATTN_OK);
    attn_tensors tensors = problem.tensors();
    const attn_call call{.struct_size = sizeof(attn_call), .pass = ATTN_CALL_ALL, .stream = nullptr, .tensors = &tensors, .workspace = nullptr,
                         .workspace_bytes = 0, .ops = nullptr};
    EXPECT_EQ(backend.run(state, &call, &why), ATTN_FAILED);
    EXPECT_THAT(text, HasSubstr("workspace is smaller"));
    backend.close(state);
  }
}

TEST(Planted, CopyIsNaiveWithOneMoreCopy) {
  NEED_PLUGIN("planted", "planted.copy");
  const Listener naive = listen("chain", "naive", kCausal), planted = listen("planted", "planted.copy", kCausal);
  EXPECT_EQ(planted.names(), naive.names());
  EXPECT_THAT(planted.names(ATTN_OP_MEMCPY), ElementsAre("cpu_memcpy_scores", "cpu_memcpy_scores"));
  EXPECT_THAT(listen("planted", "planted.copy", {}).names(ATTN_OP_MEMCPY), ElementsAre("cpu_memcpy_scores"));
}

TEST(Planted, PathIsMathUnderAnotherName) {
  NEED_PLUGIN("planted", "planted.path");
  EXPECT_EQ(listen("planted", "planted.path", kCausal).operations(), listen("chain", "math", kCausal).operations());
}

// Nanoseconds of each operation and of the whole call, the fastest of several calls.
struct Clocked {
  using Clock = std::chrono::steady_clock;
  static constexpr Spec kPrefill{.heads = 2, .seq_q = 256, .seq_kv = 512, .head_dim = 16, .mask = Mask::causal, .lse = false};
  explicit Clocked(const char* name, std::vector<const char*> options = {}, const Spec& spec = kPrefill) {
    Problem problem(spec);
    Session session(need("planted", name), problem, std::move(options), 1);
    attn_ops ops{sizeof(attn_ops), 0, this, nullptr, nullptr};
    ops.begin = [](void* self, std::int32_t, const char* operation, std::uint64_t) {
      static_cast<Clocked*>(self)->is_softmax = operation == std::string_view("cpu_softmax");
      static_cast<Clocked*>(self)->begun = Clock::now();
    };
    ops.end = [](void* self) {
      auto& clocked = *static_cast<Clocked*>(self);
      (clocked.is_softmax ? clocked.softmax_now : clocked.rest_now) += Clock::now() - clocked.begun;
    };
    for (int n = 0; n < 15; ++n) {
      softmax_now = rest_now = {};
      const auto start = Clock::now();
      EXPECT_EQ(session.call(&ops), ATTN_OK);
      if (n == 0) continue;  // the first call finds cold memory
      call = std::min(call, Clock::now() - start);
      softmax = std::min(softmax, softmax_now);
      rest = std::min(rest, rest_now);
    }
  }
  bool is_softmax = false;
  Clock::time_point begun;
  Clock::duration softmax_now{}, rest_now{};
  Clock::duration softmax = std::chrono::hours(1), rest = std::chrono::hours(1), call = std::chrono::hours(1);
};

double ratio(Clocked::Clock::duration a, Clocked::Clock::duration b) { return static_cast<double>(a.count()) / static_cast<double>(b.count()); }

TEST(Planted, SlowDoublesTheCallInTheSoftmaxAlone) {
  NEED_PLUGIN("planted", "planted.slow");
  const Clocked plain("planted.slow", {"extra", "0%"}), slow("planted.slow"), slower("planted.slow", {"extra", "350%"});
  EXPECT_GT(ratio(slow.call, plain.call), 1.6);
  EXPECT_GT(ratio(slow.softmax, plain.softmax), 2.0);
  EXPECT_GT(ratio(slower.call, slow.call), 1.5);
  EXPECT_LT(ratio(slower.rest, plain.rest), 2.0);
}

// Rows of few keys, where a sweep's start is most of it; long rows; decoding.
TEST(Planted, SlowIsOfTheCallsOrderInEveryShape) {
  NEED_PLUGIN("planted", "planted.slow");
  for (const Spec& spec : {Spec{.heads = 4, .seq_q = 512, .seq_kv = 16, .head_dim = 64, .lse = false}, Spec{.heads = 2, .seq_q = 64, .seq_kv = 2048, .head_dim = 64, .lse = false},
                           Spec{.heads = 8, .heads_kv = 2, .seq_q = 1, .seq_kv = 4096, .head_dim = 64, .lse = false}}) {
    SCOPED_TRACE(to_string(spec));
    const Clocked plain("planted.slow", {"extra", "0%"}, spec), slow("planted.slow", {}, spec);
    EXPECT_GT(ratio(slow.call, plain.call), 1.3);
    EXPECT_LT(ratio(slow.call, plain.call), 5.0);
  }
}

// Processes that do nothing but compute, three to a core.
class BusyMachine {
 public:
  BusyMachine() {
    for (unsigned i = 0; i < 3 * std::max(1u, std::thread::hardware_concurrency()); ++i) {
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) static_cast<void>(Clocked::Clock::now());
      }
      if (child > 0) children_.push_back(child);
    }
  }
  ~BusyMachine() {
    for (const pid_t child : children_) kill(child, SIGKILL);
    for (const pid_t child : children_) waitpid(child, nullptr, 0);
  }

 private:
  std::vector<pid_t> children_;
};

// A fault that waited for a clock would take the time in which others computed for its own work, and add that again in the next call.
TEST(Planted, SlowDoesTheSameWorkOnABusyMachine) {
  NEED_PLUGIN("planted", "planted.slow");
  const auto seconds_of_calls = [] {  // of the processor, by this process
    Problem problem({.heads = 2, .seq_q = 256, .seq_kv = 512, .head_dim = 16, .mask = Mask::causal, .lse = false});
    Session session(need("planted", "planted.slow"), problem, {}, 1);
    const std::clock_t start = std::clock();
    for (int n = 0; n < 40; ++n) EXPECT_EQ(session.call(nullptr), ATTN_OK);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  const double alone = seconds_of_calls();
  const BusyMachine busy;
  EXPECT_LT(seconds_of_calls(), 3 * alone);
}

TEST(Planted, TheFaultsOfTimeNeedNoMoreMemory) {
  NEED_PLUGIN("planted", "planted.slow");
  const auto bytes = [](const char* file, const char* name) {
    Problem problem(kCausal);
    return Session(need(file, name), problem).workspace_bytes();
  };
  for (const char* name : {"planted.slow", "planted.delay", "planted.copy"}) EXPECT_EQ(bytes("planted", name), bytes("chain", "naive")) << name;
}

TEST(Planted, DelayIsOutsideEveryOperation) {
  NEED_PLUGIN("planted", "planted.delay");
  const Clocked late("planted.delay", {"delay_us", "20000"}), plain("planted.delay", {"delay_us", "0"}), usual("planted.delay");
  EXPECT_GE(late.call, std::chrono::milliseconds(20));
  EXPECT_GE(usual.call, std::chrono::microseconds(1300));
  EXPECT_LT(late.softmax + late.rest, std::chrono::milliseconds(20));
  EXPECT_LT(plain.call, std::chrono::milliseconds(20));
}

TEST(Control, WritesZerosEverywhereAndOnlyThere) {
  for (const char* name : {"control.bandwidth", "control.matrix"})
    for (const Stride stride : {Stride::dense, Stride::sliced, Stride::transposed}) {
      const attn_backend& backend = need("control", name);
      EXPECT_TRUE(backend.flags & ATTN_FLAG_CONTROL);
      Problem problem({.batch = 2, .heads = 3, .dtype = ATTN_BF16, .o = stride});
      Session session(backend, problem);
      session.run();
      problem.o->each_index([&](const std::vector<std::int64_t>& index) { EXPECT_EQ(problem.o->get(index), 0.0); });
      problem.lse->each_index([&](const std::vector<std::int64_t>& index) { EXPECT_EQ(problem.lse->get(index), 0.0); });
      EXPECT_TRUE(problem.o->untouched_outside());
      EXPECT_TRUE(session.workspace_kept());
    }
}

}  // namespace
}  // namespace attn::test
