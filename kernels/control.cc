// Fixed work, the same for every case: when these rows move, the machine moved, not attention.
//   control.bandwidth  three passes that read and write 64 MiB of workspace
//   control.matrix     one product of 640 x 640 matrices, in a loop of its own so that no change of a real backend touches it
// They fill the outputs with zeros, which is no attention: the host never judges their numbers. Time: about 10 to 30 ms on two cores.

#include <algorithm>
#include <cstring>
#include <vector>

#include "abi/attn_dtype.hpp"
#include "abi/attn_kernel.hpp"
#include "threads.hpp"

namespace {

struct Config {
  static constexpr std::int64_t bandwidth_bytes = 64 << 20;
  static constexpr int passes = 3;
  static constexpr std::int64_t side = 640;
  static constexpr std::int64_t lines = 2, columns = 16;  // of the block that stays in registers
  static_assert(side % lines == 0 && side % columns == 0, "the matrix is whole blocks");
};

void zero(char* data, const std::int64_t* shape, const std::int64_t* strides, int rank, std::int64_t element) {
  if (rank == 1 && strides[0] == 1) {
    std::memset(data, 0, static_cast<std::size_t>(shape[0] * element));
    return;
  }
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    char* at = data + n * strides[0] * element;
    if (rank == 1) std::memset(at, 0, static_cast<std::size_t>(element));
    else zero(at, shape + 1, strides + 1, rank - 1, element);
  }
}

void fill_outputs(const attn_call& call) {
  const attn::Op op(call, ATTN_OP_KERNEL, "cpu_fill_o");
  const attn_tensors& t = *call.tensors;
  for (const DLTensor* tensor : {t.o, t.lse, t.dq, t.dk, t.dv})
    if (tensor) zero(static_cast<char*>(tensor->data) + tensor->byte_offset, tensor->shape, tensor->strides, tensor->ndim, tensor->dtype.bits / 8);
}

constexpr std::uint64_t kEverything = ATTN_CAN_LSE | (ATTN_CAN_LSE - 1);
constexpr std::uint64_t kFlags = ATTN_FLAG_REPORTS_OPS | ATTN_FLAG_CONTROL;

class Bandwidth {
 public:
  static constexpr attn::BackendInfo info{.name = "control.bandwidth", .can = kEverything, .flags = kFlags};
  static attn::Support supports(const attn_problem&, const attn_device_facts&) { return {Config::bandwidth_bytes}; }
  Bandwidth(const attn_problem&, const attn_tensors&, const attn_device_facts& device, const attn::Options& options) : threads_(attn::threads_of(device)) {
    options.allow({});
  }
  void run(const attn_call& call) {
    {
      const attn::Op op(call, ATTN_OP_KERNEL, "cpu_control_stream");
      auto* words = static_cast<std::uint64_t*>(call.workspace);  // integers: whatever the workspace holds, no number is slow
      constexpr std::int64_t kWords = Config::bandwidth_bytes / static_cast<std::int64_t>(sizeof(std::uint64_t));
      for (int pass = 0; pass < Config::passes; ++pass)
        threads_.ranges(kWords, 1 << 16, [&](std::int64_t first, std::int64_t end, int) {
          for (std::int64_t i = first; i < end; ++i) words[i] += 0x9e3779b97f4a7c15u;
        });
    }
    fill_outputs(call);
  }

 private:
  attn::Threads threads_;
};

class Matrix {
 public:
  static constexpr attn::BackendInfo info{.name = "control.matrix", .can = kEverything, .flags = kFlags};
  static attn::Support supports(const attn_problem&, const attn_device_facts&) { return {}; }
  Matrix(const attn_problem&, const attn_tensors&, const attn_device_facts& device, const attn::Options& options)
      : threads_(attn::threads_of(device)), a_(kSize), b_(kSize), c_(kSize) {
    options.allow({});
    for (std::size_t i = 0; i < kSize; ++i) {
      a_[i] = static_cast<float>(i % 17) / 17.0f;
      b_[i] = static_cast<float>(i % 23) / 23.0f;
    }
  }
  void run(const attn_call& call) {
    {
      const attn::Op op(call, ATTN_OP_KERNEL, "cpu_control_matrix");
      threads_.ranges(Config::side / Config::lines, 1, [&](std::int64_t first, std::int64_t end, int) {
        for (std::int64_t column = 0; column < Config::side; column += Config::columns)
          for (std::int64_t line = first; line < end; ++line) block(line * Config::lines, column);
      });
    }
    fill_outputs(call);
  }

 private:
  static constexpr std::size_t kSize = Config::side * Config::side;

  void block(std::int64_t line, std::int64_t column) {
    float sums[Config::lines][Config::columns] = {};
    for (std::int64_t k = 0; k < Config::side; ++k)
      for (std::int64_t m = 0; m < Config::lines; ++m)
        for (std::int64_t n = 0; n < Config::columns; ++n)
          sums[m][n] += a_[static_cast<std::size_t>((line + m) * Config::side + k)] * b_[static_cast<std::size_t>(k * Config::side + column + n)];
    for (std::int64_t m = 0; m < Config::lines; ++m)
      std::copy_n(sums[m], Config::columns, c_.data() + (line + m) * Config::side + column);
  }

  attn::Threads threads_;
  std::vector<float> a_, b_, c_;  // (side, side)
};

}  // namespace

ATTN_BACKENDS(Bandwidth, Matrix)
