#include "gpu/launch.hpp"

#include <chrono>
#include <cstdio>
#include <thread>

#include "card.hpp"

namespace attn {
namespace {

using GpuLaunch = OnCard;
using Bytes = std::vector<std::uint8_t>;

constexpr std::int64_t kMillisecond = 1'000'000;

TEST_F(GpuLaunch, FillWritesItsElementsAndNothingElse) {
  const Twin twin(Bytes(512, 0xa5));
  for (const std::size_t size : {1, 2, 4})
    for (std::size_t first = 0; first < 20; ++first)
      for (const std::size_t count : {0, 1, 2, 3, 7, 15, 16, 17, 40, 64}) {
        enqueue_fill(stream.get(), twin.data(), 0xa5, 1, 512);
        enqueue_fill(stream.get(), twin.data() + first * size, 0x04030201, size, count);
        wait();
        Bytes want(512, 0xa5);
        for (std::size_t i = 0; i < count * size; ++i) want[first * size + i] = static_cast<std::uint8_t>(i % size + 1);
        ASSERT_EQ(twin.read(), want) << size << " " << first << " " << count;
      }
}

TEST_F(GpuLaunch, FillOfManyElementsIsWhole) {
  const std::size_t count = (std::size_t{1} << 24) + 5;
  const Twin twin(Bytes(count * 2, 0));
  enqueue_fill(stream.get(), twin.data(), 0xbeef, 2, count);
  wait();
  const Bytes bytes = twin.read();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += bytes[2 * i] != 0xef || bytes[2 * i + 1] != 0xbe;
  EXPECT_EQ(wrong, 0u);
}

TEST_F(GpuLaunch, FillRefusesElementsItDoesNotKnowAndAddressesBetweenElements) {
  const Twin twin(Bytes(64, 0));
  EXPECT_THROW(enqueue_fill(stream.get(), twin.data(), 0, 8, 1), Error);
  EXPECT_THROW(enqueue_fill(stream.get(), twin.data() + 1, 0, 2, 1), Error);
}

TEST_F(GpuLaunch, FingerprintSeesAFlippedBitAnywhere) {
  for (const std::size_t size : {1, 7, 8, 9, 16, 31, 33, 64}) {
    Bytes bytes(size, 0x5a);
    const std::uint64_t before = fingerprint(stream.get(), Twin(bytes).data(), size);
    std::vector<std::uint64_t> seen{before};
    for (std::size_t bit = 0; bit < size * 8; ++bit) {
      bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
      seen.push_back(fingerprint(stream.get(), Twin(bytes).data(), size));
      bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    }
    EXPECT_EQ(fingerprint(stream.get(), Twin(bytes).data(), size), before);
    std::sort(seen.begin(), seen.end());
    EXPECT_TRUE(std::adjacent_find(seen.begin(), seen.end()) == seen.end()) << size;
  }
}

TEST_F(GpuLaunch, FingerprintOfALargeBufferDependsOnEveryByteAndItsPlaceAndNotOnTheAddress) {
  Dice dice(3);
  Bytes bytes((std::size_t{1} << 24) + 13);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(dice(0, 255));
  const Twin twin(bytes);
  const std::uint64_t whole = fingerprint(stream.get(), twin.data(), bytes.size());
  EXPECT_EQ(fingerprint(stream.get(), twin.data(), bytes.size()), whole);
  EXPECT_NE(fingerprint(stream.get(), twin.data(), bytes.size() - 1), whole);
  for (int i = 0; i < 20; ++i) {
    const auto at = i == 0 ? bytes.size() - 1 : static_cast<std::size_t>(dice(0, static_cast<std::int64_t>(bytes.size()) - 1));
    enqueue_fill(stream.get(), twin.data() + at, bytes[at] ^ 1u, 1, 1);
    EXPECT_NE(fingerprint(stream.get(), twin.data(), bytes.size()), whole) << at;
    enqueue_fill(stream.get(), twin.data() + at, bytes[at], 1, 1);
  }
  Bytes moved(bytes);
  std::swap_ranges(moved.begin(), moved.begin() + 8, moved.begin() + 8);
  EXPECT_NE(fingerprint(stream.get(), Twin(moved).data(), moved.size()), whole);
  moved.assign(3, 0);
  moved.insert(moved.end(), bytes.begin(), bytes.end());
  EXPECT_EQ(fingerprint(stream.get(), Twin(moved).data() + 3, bytes.size()), whole);
}

TEST_F(GpuLaunch, HoldKeepsTheStreamUntilItIsLetGo) {
  const Twin twin(Bytes(1, 0));
  const Event behind = make_event();
  StreamHold hold;
  for (int round = 0; round < 20; ++round) {
    hold.take(stream.get(), 10'000 * kMillisecond);
    enqueue_fill(stream.get(), twin.data(), 1, 1, 1);
    check_cuda(cudaEventRecord(behind.get(), stream.get()), "cudaEventRecord");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(cudaEventQuery(behind.get()), cudaErrorNotReady);
    cudaGetLastError();
    hold.let_go();
    wait();
    EXPECT_EQ(cudaEventQuery(behind.get()), cudaSuccess);
    EXPECT_FALSE(hold.ran_out());
  }
}

TEST_F(GpuLaunch, HoldRunsOutByItselfAndSaysSo) {
  StreamHold hold;
  EXPECT_FALSE(hold.ran_out());
  hold.take(stream.get(), 5 * kMillisecond);
  const auto start = std::chrono::steady_clock::now();
  wait();
  const double waited_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  EXPECT_TRUE(hold.ran_out());
  EXPECT_GT(waited_ms, 3);
  EXPECT_LT(waited_ms, 1000);
  hold.take(stream.get(), 10'000 * kMillisecond);
  EXPECT_FALSE(hold.ran_out());
  hold.let_go();
  wait();
  EXPECT_FALSE(hold.ran_out());
}

TEST_F(GpuLaunch, HoldLetsGoWhenItDies) {
  const auto start = std::chrono::steady_clock::now();
  {
    StreamHold hold;
    hold.take(stream.get(), 20'000 * kMillisecond);
  }
  wait();
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 10);
}

TEST_F(GpuLaunch, FlushReadsFastAndLeavesDataAlone) {
  cudaDeviceProp device{};
  check_cuda(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  const auto bytes = static_cast<std::size_t>(device.l2CacheSize) * 2;
  Bytes data(1 << 20, 0x3c);
  const Twin twin(data);
  const L2Flush flush(bytes);
  const Event start = make_event(), end = make_event();
  flush.enqueue(stream.get());
  cudaEventRecord(start.get(), stream.get());
  for (int i = 0; i < 10; ++i) flush.enqueue(stream.get());
  cudaEventRecord(end.get(), stream.get());
  wait();
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, start.get(), end.get()), "cudaEventElapsedTime");
  std::printf("flush: %zu bytes, %.1f us, %.0f GB/s\n", bytes, ms * 100, static_cast<double>(bytes) * 10 / ms / 1e6);
  EXPECT_EQ(twin.read(), data);
}

TEST_F(GpuLaunch, MarkersComeInAnyNumberOfBlocksButNone) {
  for (const std::int64_t blocks : {1, 2, 70'000}) enqueue_marker(stream.get(), blocks);
  wait();
  EXPECT_THROW(enqueue_marker(stream.get(), 0), Error);
}

}  // namespace
}  // namespace attn
