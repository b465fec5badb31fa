#pragma once
// Single-precision matrix products through OpenBLAS on (batch, heads, seq, head_dim) views, without copies wherever BLAS can read the strides.

#include <cblas.h>

#include <array>
#include <atomic>
#include <climits>
#include <vector>

#include "rows.hpp"
#include "threads.hpp"

namespace attn {

// "OpenBLAS 0.3.21": the header's words come with spaces around them.
inline constexpr auto kBlasVersion = [] {
  std::array<char, sizeof(OPENBLAS_VERSION)> text{};
  std::size_t length = 0;
  for (const char letter : OPENBLAS_VERSION)
    if (letter != '\0' && (letter != ' ' || length > 0)) text[length++] = letter;
  while (length > 0 && text[length - 1] == ' ') text[--length] = '\0';
  return text;
}();

// How BLAS reads or writes a matrix of (rows, columns): a leading dimension, perhaps of the transpose.
struct Leading {
  CBLAS_TRANSPOSE order = CblasNoTrans;
  int dimension = 0;  // 0: BLAS cannot, a dense copy is needed
};

inline Leading leading(const Strided& view, std::int64_t rows, std::int64_t columns) {
  if (view.dtype != ATTN_FP32) return {};
  const auto fits = [](std::int64_t stride, std::int64_t length, std::int64_t lines) { return lines <= 1 || (stride >= length && stride <= INT_MAX); };
  const auto dimension = [](std::int64_t stride, std::int64_t length, std::int64_t lines) { return static_cast<int>(lines <= 1 ? length : stride); };
  if ((view.column == 1 || columns == 1) && fits(view.row, columns, rows)) return {CblasNoTrans, dimension(view.row, columns, rows)};
  if ((view.row == 1 || rows == 1) && fits(view.column, rows, columns)) return {CblasTrans, dimension(view.column, rows, columns)};
  return {};
}

inline CBLAS_TRANSPOSE flipped(CBLAS_TRANSPOSE order) { return order == CblasNoTrans ? CblasTrans : CblasNoTrans; }

// OpenBLAS runs each product on the thread that asks for it: 16 products S1024 D128 took 55 ms spread over our 2 threads and 64 ms one after the other on
// OpenBLAS' own (best of 40, AMD EPYC, a busy machine; with 16 of S256 D64 the two were within its noise). Products made here, once, also make OpenBLAS map
// its buffers, which run must not.
inline void prepare_blas(Threads& threads) {
  openblas_set_num_threads(1);
  constexpr int kSize = 192;  // past OpenBLAS' small-matrix kernels, which use no buffer
  std::vector<float> a(kSize * kSize), c(static_cast<std::size_t>(threads.count()) * kSize * kSize);
  std::atomic<int> arrived{0};
  threads.each(threads.count(), [&](std::int64_t task, int) {
    // All at the same time, so that each thread gets a buffer of its own.
    arrived.fetch_add(1);
    while (arrived.load() < threads.count()) std::this_thread::yield();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kSize, kSize, kSize, 1.0f, a.data(), kSize, a.data(), kSize, 0.0f,
                c.data() + task * kSize * kSize, kSize);
  });
}

}  // namespace attn
