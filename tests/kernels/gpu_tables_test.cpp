// The tables of the GPU backends: what can be asked of them on a machine without a GPU.

#include <gmock/gmock.h>

#include "plugin.hpp"
#include "problem.hpp"

namespace attn::test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kLtWorkspace = 32ull << 20;

struct Answer {
  attn_status status;
  std::uint64_t workspace_bytes;
  std::string why;
};

Answer ask(const std::string& file, const std::string& name, const attn_problem& problem, std::uint64_t memory_bytes = 141ull << 30) {
  const attn_backend* backend = find_backend(file, name);
  if (!backend) return {ATTN_FAILED, 0, "the plugin does not open"};
  attn_device_facts device{};
  device.struct_size = sizeof device;
  device.device_type = ATTN_DEVICE_CUDA;
  device.sm_major = 9;
  device.memory_bytes = memory_bytes;
  device.shared_optin_bytes = 232448;
  attn_support support{};
  support.struct_size = sizeof support;
  char text[512] = {};
  attn_text why{text, sizeof text};
  const attn_status status = backend->supports(backend->self, &problem, &device, &support, &why);
  return {status, support.workspace_bytes, text};
}

attn_problem article(std::int32_t dtype) {
  attn_problem problem{};
  problem.struct_size = sizeof problem;
  problem.dtype = problem.dtype_kv = dtype;
  problem.batch = 8;
  problem.heads = problem.heads_kv = 16;
  problem.seq_q = problem.seq_kv = 1024;
  problem.head_dim = problem.head_dim_v = 64;
  problem.mask_kind = ATTN_MASK_CAUSAL;
  problem.needs = ATTN_CAN_CAUSAL;
  problem.window_left = problem.window_right = -1;
  problem.scale = 0.125;
  problem.name = "article";
  return problem;
}

TEST(GpuTables, ListTheFamilyForCudaAndReportNoOperations) {
  for (const auto& [file, name] : {std::pair{"chain_cuda", "naive"}, {"chain_cuda", "naive_inplace"}, {"chain_cuda", "math"}, {"planted_cuda", "planted.copy"},
                                   {"planted_cuda", "planted.slow"}, {"planted_cuda", "planted.delay"}, {"planted_cuda", "planted.path"}}) {
    const attn_backend* backend = find_backend(file, name);
    ASSERT_TRUE(backend) << file;
    EXPECT_EQ(backend->device_type, ATTN_DEVICE_CUDA) << name;
    EXPECT_EQ(backend->flags, 0u) << name;
    EXPECT_THAT(backend->version, testing::MatchesRegex("cuBLASLt [0-9]+\\.[0-9]+\\.[0-9]+")) << name;
  }
  for (const char* name : {"control.bandwidth", "control.matrix"}) {
    const attn_backend* backend = find_backend("control_cuda", name);
    ASSERT_TRUE(backend);
    EXPECT_EQ(backend->device_type, ATTN_DEVICE_CUDA);
    EXPECT_EQ(backend->flags, ATTN_FLAG_CONTROL);
  }
}

TEST(GpuTables, CanWhatTheFamilyOnTheCpuCanButTrain) {
  const attn_backend* cpu = find_backend("chain", "naive");
  if (!cpu) GTEST_SKIP() << "libchain.so was not built";
  EXPECT_EQ(find_backend("chain_cuda", "naive")->can, cpu->can & ~(ATTN_CAN_BACKWARD | ATTN_CAN_DROPOUT));
}

TEST(GpuTables, FlashCanWhatItCanOnTheCpuButGradientsAndNeedsNoWorkspace) {
  const attn_backend* flash = find_backend("flash_cuda", "flash");
  ASSERT_TRUE(flash);
  EXPECT_EQ(flash->device_type, ATTN_DEVICE_CUDA);
  EXPECT_EQ(flash->can, find_backend("flash", "flash")->can & ~ATTN_CAN_BACKWARD);
  const Answer answer = ask("flash_cuda", "flash", article(ATTN_BF16));
  EXPECT_EQ(answer.status, ATTN_OK) << answer.why;
  EXPECT_EQ(answer.workspace_bytes, 0u);
}

TEST(GpuTables, FlashRefusesWhatItsTilesCannotHold) {
  attn_problem problem = article(ATTN_BF16);
  problem.head_dim = 4096;
  EXPECT_THAT(ask("flash_cuda", "flash", problem).why, HasSubstr("a head_dim of 4096 needs 560128 bytes of shared memory, a block of this device has"));
  problem = article(ATTN_BF16);
  problem.seq_kv = std::int64_t{1} << 30;
  EXPECT_THAT(ask("flash_cuda", "flash", problem).why, HasSubstr("1073741824 keys"));
}

TEST(GpuTables, TheWorkspaceIsTheScoresTheirCloneAndCublas) {
  constexpr std::uint64_t kScores = 8ull * 16 * 1024 * 1024;
  EXPECT_EQ(ask("chain_cuda", "naive_inplace", article(ATTN_BF16)).workspace_bytes, kLtWorkspace + 2 * kScores);
  EXPECT_EQ(ask("chain_cuda", "naive", article(ATTN_BF16)).workspace_bytes, kLtWorkspace + 2 * 2 * kScores);
  EXPECT_EQ(ask("chain_cuda", "naive", article(ATTN_FP32)).workspace_bytes, kLtWorkspace + 2 * 4 * kScores);
  EXPECT_EQ(ask("planted_cuda", "planted.copy", article(ATTN_FP16)).workspace_bytes, kLtWorkspace + 2 * 2 * kScores);
}

TEST(GpuTables, MathTakesFp32CopiesOnlyOfWhatIsNotFp32) {
  constexpr std::uint64_t kRows = 8ull * 16 * 1024, kOperand = kRows * 64 * 4, kScores = kRows * 1024;
  constexpr std::uint64_t kSafeSoftmax = kScores + kRows + 1024 * 1024 * 4;  // is -inf, dead, mask
  EXPECT_EQ(ask("chain_cuda", "math", article(ATTN_FP32)).workspace_bytes, kLtWorkspace + 4 * kScores + 2 * kOperand + kSafeSoftmax);
  EXPECT_EQ(ask("chain_cuda", "math", article(ATTN_FP16)).workspace_bytes, kLtWorkspace + 4 * kScores + 4 * kOperand + kSafeSoftmax);
}

TEST(GpuTables, RefuseWhatTheDeviceHasNoMemoryFor) {
  const Answer answer = ask("chain_cuda", "naive", article(ATTN_BF16), 512ull << 20);
  EXPECT_EQ(answer.status, ATTN_UNSUPPORTED);
  EXPECT_EQ(answer.why, "needs 544 MiB of workspace, the device has 512 MiB");
}

TEST(GpuTables, RefuseSizesThatCannotBeCounted) {
  attn_problem problem = article(ATTN_BF16);
  problem.seq_kv = std::int64_t{1} << 31;
  EXPECT_EQ(ask("chain_cuda", "naive", problem).status, ATTN_UNSUPPORTED);
  EXPECT_THAT(ask("chain_cuda", "naive", problem).why, HasSubstr("2147483648 keys"));
  problem = article(ATTN_BF16);
  problem.batch = std::int64_t{1} << 45;
  EXPECT_EQ(ask("chain_cuda", "naive", problem).status, ATTN_UNSUPPORTED);
  problem = article(ATTN_BF16);
  problem.batch = std::int64_t{1} << 20;
  problem.seq_kv = 1;
  EXPECT_THAT(ask("chain_cuda", "naive", problem, std::uint64_t{1} << 50).why, HasSubstr("more than 2147483647 rows"));
}

TEST(GpuTables, ControlsAskForTheirOwnWork) {
  EXPECT_EQ(ask("control_cuda", "control.bandwidth", article(ATTN_BF16)).workspace_bytes, 256ull << 20);
  EXPECT_EQ(ask("control_cuda", "control.matrix", article(ATTN_BF16)).status, ATTN_OK);
}

}  // namespace
}  // namespace attn::test
