#pragma once
// The tensors of one case in a device's memory: laid out as the case says, filled by its recipe, guarded against writes where none belong.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/attn_abi.h"
#include "core/case.hpp"
#include "engine/tensor_layout.hpp"
#include "engine/tensor_memory.hpp"
#include "engine/tensor_view.hpp"

namespace attn {

class Tensors {
 public:
  // `outputs_move`: a backend with ATTN_FLAG_OWNS_OUTPUT may point outputs elsewhere. Throws Error when the case's tensors cannot be made here.
  Tensors(Device& device, const Case& value, bool outputs_move = false);

  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  // Bytes that the tensors of `value` take of the device. Throws Error when they cannot be made anywhere.
  static double bytes_needed(const Case& value);

  // Writes inputs and mask by the case's recipe; the addresses stay the same.
  void fill(std::uint64_t seed);
  // Marks every element of the outputs of a pass (forward: o and lse; backward: dq, dk, dv) as never written and points them at the harness's memory again.
  void poison_outputs(Pass pass);
  // Looks where a call left the outputs. Throws Error, which begins with a verb ("moved dq without ..."), when one points nowhere, or was moved and must not be.
  void locate_outputs();
  // What was written that must not be: red zones, gaps between the outputs' elements, the inputs. Call after poison_outputs() and a call.
  std::optional<std::string> damage();

  attn_tensors* abi() { return &abi_; }
  TensorView q() const { return q_.view; }
  TensorView k() const { return k_.view; }
  TensorView v() const { return v_.view; }
  TensorView mask() const { return mask_.view; }  // empty without a mask tensor
  // The outputs, where locate_outputs() found them. All but o are empty without a backward pass. lse: (batch, heads, seq_q, 1).
  TensorView o() const { return o_.view; }
  TensorView lse() const { return lse_.view; }
  TensorView dout() const { return dout_.view; }
  TensorView dq() const { return dq_.view; }
  TensorView dk() const { return dk_.view; }
  TensorView dv() const { return dv_.view; }
  std::int64_t output_bytes() const;

 private:
  // The row table of a ragged output that lies elsewhere with other strides.
  struct MovedRows {
    std::int64_t stride;
    std::vector<std::int64_t> rows;
    GuardedBuffer table;
  };
  struct Tensor {
    std::shared_ptr<TensorMemory> memory;  // shared by q, k, v of packed_qkv
    TensorView view;
    TensorLayout layout;
    DLTensor dl{};
    std::vector<std::int64_t> shown_strides;  // dl's, which a backend may overwrite
    std::shared_ptr<MovedRows> moved_rows;
  };
  // Memory to be made, and which tensor is all of it, or the first part of it.
  struct Planned {
    Tensor Tensors::*tensor;
    DLTensor* attn_tensors::*shown;
    const char* name;
    std::int32_t dtype;  // as TensorMemory's; of a table any with elements of 4 bytes
    DLDataType type;
    TensorLayout layout;
  };
  // All memory of a case.
  static std::vector<Planned> plan(const Case& value);
  void make(Planned planned);
  void part_packed();
  void write_tables();
  void point(Tensor& tensor);
  void locate(Tensor& tensor, const char* name);
  RowTable moved_rows(Tensor& tensor, std::int64_t stride);
  void fill_storage(const Tensor& tensor, std::uint32_t bits);  // every element, gaps too
  std::optional<std::string> gap_damage(const Tensor& tensor, const char* name);
  std::uint64_t input_fingerprint() const;

  Device& device_;
  Case value_;
  bool outputs_move_;
  Tensor q_, k_, v_, o_, lse_, dout_, dq_, dk_, dv_, mask_, alibi_, lengths_q_, lengths_kv_, starts_q_, starts_kv_, page_table_;
  std::uint64_t fingerprint_ = 0;
  attn_tensors abi_{};
};

// The bit pattern of an element of `dtype` that was never written: a NaN that no rounding of ours produces (0xff... for 8 bit).
std::uint32_t poison_bits(std::int32_t dtype);

}  // namespace attn
