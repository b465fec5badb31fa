#pragma once
// Single-precision matrix products through OpenBLAS on (batch, heads, seq, head_dim) views, without copies wherever BLAS can read the strides.

#include <cblas.h>

#include <array>
#include <climits>
#include <vector>

#include "rows.hpp"

// OpenBLAS' own, in no header of its: where its products take their buffers from.
extern "C" {
void* blas_memory_alloc(int procpos);
void blas_memory_free(void* buffer);
}

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
  if (view.dtype != ATTN_FP32 || view.pages) return {};
  const auto fits = [](std::int64_t stride, std::int64_t length, std::int64_t lines) { return lines <= 1 || (stride >= length && stride <= INT_MAX); };
  const auto dimension = [](std::int64_t stride, std::int64_t length, std::int64_t lines) { return static_cast<int>(lines <= 1 ? length : stride); };
  if ((view.column == 1 || columns == 1) && fits(view.row, columns, rows)) return {CblasNoTrans, dimension(view.row, columns, rows)};
  if ((view.row == 1 || rows == 1) && fits(view.column, rows, columns)) return {CblasTrans, dimension(view.column, rows, columns)};
  return {};
}

inline CBLAS_TRANSPOSE flipped(CBLAS_TRANSPOSE order) { return order == CblasNoTrans ? CblasTrans : CblasNoTrans; }

// OpenBLAS runs each product on the thread that asks for it: 16 products S1024 D128 took 55 ms spread over our 2 threads and 64 ms one after the other on
// OpenBLAS' own (best of 40, AMD EPYC, a busy machine; with 16 of S256 D64 the two were within its noise).
// A product takes a buffer that OpenBLAS maps at first use and keeps. One for each thread is mapped here, because run must allocate nothing.
inline void prepare_blas(int threads) {
  openblas_set_num_threads(1);
  std::vector<void*> buffers;
  for (int i = 0; i < threads; ++i) buffers.push_back(blas_memory_alloc(0));
  for (void* buffer : buffers) blas_memory_free(buffer);
}

}  // namespace attn
