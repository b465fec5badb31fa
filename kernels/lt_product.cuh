#pragma once
// product.cuh's batches through cuBLASLt, planned once. Each entry's matrices are given by pointers, so that shared KV heads and any order of batch, heads and
// sequence need no copy: as fast as a batch at even distances (H200, cuBLASLt 13.1), which is tried where the library has no such kernel. No split over k: a
// product is one kernel, to which cuBLASLt may add a memset of 4 bytes.

#include <cublasLt.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "product.cuh"

namespace attn {

// "cuBLASLt 13.1.0", of the library that the loader found.
inline char lt_version[32] = "cuBLASLt";
inline const int lt_version_length = [] {
  const std::size_t version = cublasLtGetVersion();
  return std::snprintf(lt_version, sizeof lt_version, "cuBLASLt %zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}();

inline void check(cublasStatus_t code, const char* during) {
  if (code == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(during) + ": " + cublasLtGetStatusString(code) + " (" + cublasLtGetStatusName(code) + ")");
}

template <class T, cublasStatus_t (*destroy)(T)>
struct LtDelete {
  using pointer = T;
  void operator()(T value) const { destroy(value); }
};
using LtHandle = std::unique_ptr<cublasLtHandle_t, LtDelete<cublasLtHandle_t, cublasLtDestroy>>;
using LtDescription = std::unique_ptr<cublasLtMatmulDesc_t, LtDelete<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>>;
using LtLayout = std::unique_ptr<cublasLtMatrixLayout_t, LtDelete<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>>;
using LtPreference = std::unique_ptr<cublasLtMatmulPreference_t, LtDelete<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>>;

inline LtHandle make_lt_handle() {
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle), "cublasLtCreate");
  return LtHandle(handle);
}

// What cuBLASLt may use between a product's start and end; the size that cuBLAS itself takes on Hopper.
inline constexpr std::uint64_t kLtWorkspaceBytes = 32ull << 20;

// CUBLASLT_MATRIX_LAYOUT_BATCH_MODE and CUBLASLT_BATCH_MODE_POINTER_ARRAY by number: CUDA 12.4's header does not have them. A library without them says so.
inline cublasLtMatrixLayoutAttribute_t lt_batch_mode() { return std::bit_cast<cublasLtMatrixLayoutAttribute_t>(8u); }
inline constexpr std::uint32_t kLtPointerArray = 1;

// How cuBLASLt reads a matrix of (rows, columns).
struct LtMatrix {
  bool across = false;         // the columns are the slower axis
  std::int64_t leading = 0;    // 0: cuBLASLt cannot
};

inline LtMatrix lt_matrix(const Strided& view, std::int64_t rows, std::int64_t columns) {
  const auto fits = [](std::int64_t stride, std::int64_t length, std::int64_t lines) { return lines <= 1 || stride >= length; };
  if ((view.column == 1 || columns == 1) && fits(view.row, columns, rows)) return {false, rows <= 1 ? columns : view.row};
  if ((view.row == 1 || rows == 1) && fits(view.column, rows, columns)) return {true, columns <= 1 ? rows : view.column};
  return {};
}

class LtProduct {
 public:
  // Empty when cuBLASLt has no kernel for the product. Throws on failure.
  static std::optional<LtProduct> plan(cublasLtHandle_t handle, const Product& product) {
    for (const bool pointers : {true, false}) {
      LtProduct result(handle, product);
      if (result.choose(product, pointers)) return result;
    }
    return std::nullopt;
  }

  void run(void* workspace, cudaStream_t stream) const {
    const float one = 1, zero = 0;
    check(cublasLtMatmul(handle_, description_.get(), &one, left_, left_layout_.get(), right_, right_layout_.get(), &zero, result_, result_layout_.get(),
                         result_, result_layout_.get(), &algorithm_, workspace, kLtWorkspaceBytes, stream),
          "cublasLtMatmul");
  }

 private:
  LtProduct(cublasLtHandle_t handle, const Product& product) : handle_(handle), entries_(product.batch * product.heads) {
    cublasLtMatmulDesc_t description = nullptr;
    check(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");  // fp32 stays fp32, no TF32
    description_.reset(description);
  }

  // cuBLASLt thinks in columns: it computes c^T (n, m) = b^T (n, k) a^T (k, m), which lie in memory as they are.
  bool choose(const Product& p, bool pointers) {
    const LtMatrix a = lt_matrix(p.a, p.m, p.k), b = lt_matrix(p.b, p.k, p.n), c = lt_matrix(p.c, p.m, p.n);
    if (p.a.dtype != p.b.dtype || p.a.dtype != p.c.dtype || !a.leading || !b.leading || !c.leading || c.across) return false;
    if (std::max({p.m, p.n, p.k, entries_}) > INT_MAX) return false;  // what its kernels count to
    set_transposed(CUBLASLT_MATMUL_DESC_TRANSA, b.across);
    set_transposed(CUBLASLT_MATMUL_DESC_TRANSB, a.across);
    const cudaDataType type = p.a.dtype == ATTN_FP32 ? CUDA_R_32F : p.a.dtype == ATTN_FP16 ? CUDA_R_16F : CUDA_R_16BF;
    left_layout_ = layout(type, b, p.k, p.n);
    right_layout_ = layout(type, a, p.m, p.k);
    result_layout_ = layout(type, c, p.m, p.n);
    const auto left = addresses(p.b, p, p.group), right = addresses(p.a, p, 1), result = addresses(p.c, p, 1);
    left_ = left[0];
    right_ = right[0];
    result_ = result[0];
    if (pointers ? !by_pointers(left, right, result)
                 : !by_distance(left_layout_.get(), left, p) || !by_distance(right_layout_.get(), right, p) || !by_distance(result_layout_.get(), result, p))
      return false;

    cublasLtMatmulPreference_t created = nullptr;
    check(cublasLtMatmulPreferenceCreate(&created), "cublasLtMatmulPreferenceCreate");
    const LtPreference preference(created);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      check(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value), "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kLtWorkspaceBytes);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(left));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(right));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(result));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(result));
    cublasLtMatmulHeuristicResult_t answer{};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_, description_.get(), left_layout_.get(), right_layout_.get(), result_layout_.get(),
                                                                 result_layout_.get(), preference.get(), 1, &answer, &count);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_INVALID_VALUE) check(status, "cublasLtMatmulAlgoGetHeuristic");
    algorithm_ = answer.algo;
    return status == CUBLAS_STATUS_SUCCESS && count > 0 && answer.state == CUBLAS_STATUS_SUCCESS;
  }

  void set_transposed(cublasLtMatmulDescAttributes_t side, bool across) {
    const cublasOperation_t operation = across ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(description_.get(), side, &operation, sizeof operation), "cublasLtMatmulDescSetAttribute");
  }

  // Row-major (rows, columns) is column-major (columns, rows).
  LtLayout layout(cudaDataType type, const LtMatrix& matrix, std::int64_t rows, std::int64_t columns) const {
    if (matrix.across) std::swap(rows, columns);
    cublasLtMatrixLayout_t created = nullptr;
    const auto lines = static_cast<std::uint64_t>(rows), length = static_cast<std::uint64_t>(columns);
    check(cublasLtMatrixLayoutCreate(&created, type, length, lines, matrix.leading), "cublasLtMatrixLayoutCreate");
    LtLayout result(created);
    set(created, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(entries_));
    return result;
  }
  template <class Value>
  static void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, Value value) {
    check(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value), "cublasLtMatrixLayoutSetAttribute");
  }

  static std::vector<char*> addresses(const Strided& view, const Product& p, std::int64_t group) {
    std::vector<char*> result;
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t h = 0; h < p.heads; ++h) result.push_back(view.at(b, h / group, 0));
    return result;
  }

  bool by_pointers(const std::vector<char*>& left, const std::vector<char*>& right, const std::vector<char*>& result) {
    const std::size_t bytes = left.size() * sizeof(char*);
    pointers_ = DeviceArray(3 * bytes);
    char* at = static_cast<char*>(pointers_.data());
    for (const auto& [list, side, layout] : {std::tuple{&left, &left_, left_layout_.get()}, {&right, &right_, right_layout_.get()},
                                             {&result, &result_, result_layout_.get()}}) {
      if (cublasLtMatrixLayoutSetAttribute(layout, lt_batch_mode(), &kLtPointerArray, sizeof kLtPointerArray) != CUBLAS_STATUS_SUCCESS) return false;
      check(cudaMemcpy(at, list->data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy of matrix pointers");
      *side = at;
      at += bytes;
    }
    return true;
  }

  static bool by_distance(cublasLtMatrixLayout_t layout, const std::vector<char*>& addresses, const Product& p) {
    const std::ptrdiff_t bytes = addresses.size() > 1 ? addresses[1] - addresses[0] : 0;
    for (std::size_t n = 1; n < addresses.size(); ++n)
      if (addresses[n] - addresses[n - 1] != bytes) return false;
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{bytes / static_cast<std::ptrdiff_t>(element_bytes(p.a.dtype))});
    return true;
  }

  // The largest power of two, up to 256, that divides every address.
  static std::uint32_t alignment(const std::vector<char*>& addresses) {
    std::uintptr_t bits = 256;
    for (const char* address : addresses) bits |= reinterpret_cast<std::uintptr_t>(address);
    return 1u << std::countr_zero(bits);
  }

  cublasLtHandle_t handle_;
  std::int64_t entries_;
  LtDescription description_;
  LtLayout left_layout_, right_layout_, result_layout_;
  DeviceArray pointers_;  // left, right, result: an address for each entry
  void *left_ = nullptr, *right_ = nullptr, *result_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace attn
