#include <cstddef>
#include <string>

#include "base/json.hpp"
#include "core/case.hpp"
#include "core/words.hpp"
#include "engine/worker.hpp"

// The table of the ABI that a mirror in another language proves itself by. A field added to attn_abi.h is added here.

namespace attn {
namespace {

#define V(name) {#name, ATTN_##name}
#define F(field) fields[#field] = Json::array({offsetof(Type, field), sizeof(Type::field)})
#define ATTN_STRUCT(type, ...)                                    \
  {                                                               \
    using Type = type;                                            \
    Json fields = Json::object();                                 \
    __VA_ARGS__;                                                  \
    structs[#type] = {{"size", sizeof(type)}, {"fields", fields}}; \
  }

std::string layout_text() {
  Json structs = Json::object();
  ATTN_STRUCT(attn_problem, F(struct_size), F(dtype), F(dtype_kv), F(layout), F(batch), F(heads), F(heads_kv), F(seq_q), F(seq_kv), F(head_dim), F(head_dim_v),
              F(needs), F(mask_kind), F(alignment), F(window_left), F(window_right), F(softcap), F(scale), F(page_size), F(dropout), F(dropout_seed),
              F(dead_rows), F(pass), F(deterministic), F(reserved), F(name))
  ATTN_STRUCT(attn_tensors, F(struct_size), F(reserved), F(q), F(k), F(v), F(o), F(lse), F(dout), F(dq), F(dk), F(dv), F(mask), F(alibi), F(lengths_q),
              F(lengths_kv), F(starts_q), F(starts_kv), F(page_table), F(q_scale), F(k_scale), F(v_scale), F(o_scale),
              F(workspace), F(workspace_bytes))
  ATTN_STRUCT(attn_device_facts, F(struct_size), F(device_type), F(device_id), F(sm_major), F(sm_minor), F(sm_count), F(threads), F(reserved), F(memory_bytes),
              F(cache_bytes), F(shared_optin_bytes))
  ATTN_STRUCT(attn_options, F(struct_size), F(count), F(keys), F(values))
  ATTN_STRUCT(attn_support, F(struct_size), F(reserved), F(workspace_bytes))
  ATTN_STRUCT(attn_text, F(data), F(size))
  ATTN_STRUCT(attn_ops, F(struct_size), F(reserved), F(self), F(begin), F(end))
  ATTN_STRUCT(attn_call, F(struct_size), F(pass), F(stream), F(tensors), F(workspace), F(workspace_bytes), F(ops))
  ATTN_STRUCT(attn_backend, F(struct_size), F(device_type), F(name), F(version), F(can), F(flags), F(self), F(supports), F(open), F(run), F(close),
              F(why_not_bits), F(why_not), F(rest), F(settle))
  ATTN_STRUCT(attn_backend_list, F(struct_size), F(abi_version), F(count), F(reserved), F(backends))
  ATTN_STRUCT(DLTensor, F(data), F(device), F(ndim), F(dtype), F(shape), F(strides), F(byte_offset))

  const Json values{V(ABI_VERSION), V(DEVICE_CPU), V(OK), V(UNSUPPORTED), V(FAILED), V(FORWARD), V(BACKWARD), V(CALL_ALL), V(CALL_FORWARD), V(CALL_BACKWARD),
                    V(CAN_LSE), V(FLAG_OWNS_OUTPUT), {"CAPABILITIES", capability_words()},
                    {"DTYPES", Words<DType>::list}, {"LAYOUTS", Words<Layout>::list}, {"MASK_KINDS", Words<MaskKind>::list},
                    {"ALIGNMENTS", Words<Alignment>::list}, {"DEAD_ROWS", Words<DeadRows>::list}};
  return Json{{"structs", structs}, {"values", values}}.dump();
}

#undef V
#undef F
#undef ATTN_STRUCT

}  // namespace
}  // namespace attn

const char* attn_abi_layout(void) {
  static const std::string text = attn::layout_text();
  return text.c_str();
}
