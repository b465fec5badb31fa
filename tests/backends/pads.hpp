#pragma once
// Operands that are copied to longer rows before every call.

#include "good.hpp"

namespace attn {

class Pads : public Good {
 public:
  using Good::Good;

 protected:
  // Reports the copies of Q, K and V to rows of `columns` elements.
  void pad(const attn_call& call, std::int64_t columns) const {
    const auto copy = [&](const char* name, std::int64_t heads, std::int64_t rows, std::int32_t dtype) {
      const Op op(call, ATTN_OP_MEMCPY, name, static_cast<std::uint64_t>(p_.batch * heads * rows * columns) * element_bytes(dtype));
    };
    copy("pad_q", p_.heads, p_.seq_q, p_.dtype);
    copy("pad_k", p_.heads_kv, p_.seq_kv, p_.dtype_kv);
    copy("pad_v", p_.heads_kv, p_.seq_kv, p_.dtype_kv);
  }
};

}  // namespace attn
