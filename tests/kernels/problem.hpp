#pragma once
// One attention problem in memory, made to catch faults: every byte that a backend must not read is NaN, every byte that it must not write is watched.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/attn_abi.h"

namespace attn::test {

enum class Stride { dense, expanded, transposed, sliced };  // expanded: one head or batch entry for all. transposed: head_dim is the slower axis
enum class Mask { none, causal, boolean, additive };
enum class Pattern { random, all_visible, last_row_dead, all_minimum };

struct Spec {
  std::int64_t batch = 1, heads = 2, heads_kv = 0, seq_q = 5, seq_kv = 7, head_dim = 8, head_dim_v = 0;  // 0: like heads, head_dim
  std::int32_t dtype = ATTN_FP32;
  std::optional<std::int32_t> dtype_kv = {};
  std::int32_t layout = ATTN_BHSD;  // ATTN_THD: lengths_q and lengths_kv are set
  std::int64_t page_size = 0;       // of k and v, which then need lengths_kv; their pages lie in no order
  Mask mask = Mask::none;
  Pattern pattern = Pattern::random;
  bool mask_batch = false, mask_head = false, mask_row = true, mask_column = true;  // false: size 1, broadcast
  std::int32_t alignment = ATTN_TOP_LEFT;
  std::int64_t window_left = -1, window_right = -1;
  double softcap = 0;
  std::optional<double> scale = {};
  std::vector<float> slopes = {};
  std::vector<std::int32_t> lengths_q = {}, lengths_kv = {};
  std::int32_t dead_rows = ATTN_DEAD_ZERO;
  Stride q = Stride::dense, k = Stride::dense, v = Stride::dense, o = Stride::dense;
  bool lse = true;
  unsigned seed = 1;
};

std::string to_string(const Spec& spec);

// A tensor of any rank inside a larger buffer: red zones at both ends, gaps between elements; all of them 0xff, which is NaN in every float format.
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, std::int32_t dtype, std::int64_t extra_elements = 0);
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  DLTensor* dl() { return &dl_; }
  // (batch, heads, seq, head_dim) whose row (batch, seq) begins at rows[batch * seq + .] and exists nowhere when that is -1; dl() describes the storage, of
  // which `strides` are those of heads and head_dim.
  Tensor(std::vector<std::int64_t> shape, std::array<std::int64_t, 2> strides, std::int32_t dtype, std::vector<std::int64_t> rows,
         std::vector<std::int64_t> shown_shape, std::vector<std::int64_t> shown_strides);

  // From now on dl() describes a view into `other`; get and set keep using this tensor's own bytes.
  void show(const Tensor& other, std::int64_t first_element, std::vector<std::int64_t> strides);
  bool has(std::int64_t b, std::int64_t s) const { return rows_.empty() || rows_[static_cast<std::size_t>(b * shape_[2] + s)] >= 0; }
  double get(std::initializer_list<std::int64_t> index) const { return get(std::span(index.begin(), index.size())); }
  double get(std::span<const std::int64_t> index) const;
  void set(std::initializer_list<std::int64_t> index, double value) { set(std::span(index.begin(), index.size()), value); }
  void set(std::span<const std::int64_t> index, double value);
  void poison();
  // The bytes, to see whether somebody changed them.
  const std::vector<unsigned char>& bytes() const { return bytes_; }
  // True when every byte that belongs to no element still is 0xff.
  bool untouched_outside() const;
  void each_index(const std::function<void(const std::vector<std::int64_t>&)>& body) const;

 private:
  void allocate(std::int64_t elements);
  std::int64_t offset(std::span<const std::int64_t> index) const;
  std::vector<std::int64_t> shape_, strides_, rows_, shown_shape_, shown_strides_;
  std::int32_t dtype_ = ATTN_FP32;
  std::vector<unsigned char> bytes_;
  DLTensor dl_{};
};

class Problem {
 public:
  explicit Problem(const Spec& spec);

  const Spec& spec() const { return spec_; }
  const attn_problem& problem() const { return problem_; }
  const attn_tensors& tensors() const { return tensors_; }

  std::unique_ptr<Tensor> q, k, v, o, lse, mask, alibi, lengths_q, lengths_kv, starts_q, starts_kv, page_table, packed;

  std::int64_t queries(std::int64_t b) const;
  std::int64_t keys(std::int64_t b) const;
  // Replaces an input by f(b, h, s, d), rounded to its type. Padding stays NaN.
  using Fill = std::function<double(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;
  void fill_q(const Fill& fill) { fill_input(*q, fill, true); }
  void fill_k(const Fill& fill) { fill_input(*k, fill, false); }
  void fill_v(const Fill& fill) { fill_input(*v, fill, false); }

 private:
  void fill_input(Tensor& tensor, const Fill& fill, bool queries_axis);
  void make_operands();
  std::unique_ptr<Tensor> ragged(std::int64_t heads, std::int64_t rows, std::int64_t columns, std::int32_t dtype, Stride kind, const std::vector<std::int32_t>& lengths);
  std::unique_ptr<Tensor> paged(std::int64_t columns, std::int32_t dtype, Stride kind);
  void make_tables();
  void make_mask();
  Spec spec_;
  std::vector<std::int32_t> pages_;     // (batch, pages of the longest)
  std::int64_t pages_per_entry_ = 0, page_count_ = 0;
  std::string name_;
  attn_problem problem_{};
  attn_tensors tensors_{};
};

// A backend opened on a problem, with a workspace that ends in a red zone.
class Session {
 public:
  // Throws std::runtime_error with the backend's text. `options`: key, value, key, value, ...
  Session(const attn_backend& backend, Problem& problem, std::vector<const char*> options = {}, int threads = 2);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Poisons the outputs and runs. Throws with the backend's text.
  void run(const attn_ops* ops = nullptr);
  // Without touching the outputs first: for what must not allocate.
  attn_status call(const attn_ops* ops = nullptr);
  bool workspace_kept() const;
  std::uint64_t workspace_bytes() const { return workspace_bytes_; }

 private:
  const attn_backend& backend_;
  Problem& problem_;
  void* state_ = nullptr;
  std::uint64_t workspace_bytes_ = 0;
  std::vector<unsigned char> workspace_;
  unsigned char* aligned_ = nullptr;
  char text_[512] = {};
  attn_text why_{text_, sizeof text_};
};

}  // namespace attn::test
