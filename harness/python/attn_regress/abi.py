"""The C contract of harness/abi/attn_abi.h in ctypes. The engine that is loaded proves the mirror by its own table."""

import sys
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p, sizeof

ABI_VERSION = 1
DEVICE_CPU, DEVICE_CUDA = 1, 2
DEVICES = {"cpu": DEVICE_CPU, "cuda": DEVICE_CUDA}
OK, UNSUPPORTED, FAILED = 0, 1, 2
FORWARD, BACKWARD = 0, 1
CALL_ALL, CALL_FORWARD, CALL_BACKWARD = 0, 1, 2
CAN_LSE = 1 << 26
FLAG_OWNS_OUTPUT = 1 << 1

# The words of what a problem may need, from bit 0 on, as `attn-regress list` shows them.
CAPABILITIES = ("fp32", "fp16", "bf16", "fp8", "mixed dtype_kv", "gqa", "head_dim_v", "causal", "top_left", "bottom_right", "window", "softcap", "scale", "alibi",
                "bool mask", "additive mask", "lengths", "ragged (thd)", "paged", "backward", "deterministic", "dropout", "strides", "dead_rows zero",
                "dead_rows nan", "dead_rows mean", "lse")
# The suite's word of each value of an enumeration.
DTYPES = ("fp32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2")
LAYOUTS = ("bhsd", "bshd", "sbhd", "packed_qkv", "thd")
MASK_KINDS = ("none", "causal", "tensor")
ALIGNMENTS = ("top_left", "bottom_right")
DEAD_ROWS = ("zero", "nan", "mean")


class DLDevice(Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DLDataType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(Structure):
    _fields_ = [("data", c_void_p), ("device", DLDevice), ("ndim", c_int32), ("dtype", DLDataType), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


def fields(*groups):
    """[("a", type), ("b", type)] of ("a b", type)."""
    return [(name, kind) for names, kind in groups for name in names.split()]


class attn_problem(Structure):
    _fields_ = fields(("struct_size", c_uint32), ("dtype dtype_kv layout", c_int32), ("batch heads heads_kv seq_q seq_kv head_dim head_dim_v", c_int64),
                      ("needs", c_uint64), ("mask_kind alignment", c_int32), ("window_left window_right", c_int64), ("softcap scale", c_double),
                      ("page_size", c_int64), ("dropout", c_double), ("dropout_seed", c_uint64), ("dead_rows pass deterministic reserved", c_int32),
                      ("name", c_char_p))


class attn_tensors(Structure):
    _fields_ = fields(("struct_size reserved", c_uint32),
                      ("q k v o lse dout dq dk dv mask alibi lengths_q lengths_kv starts_q starts_kv page_table q_scale k_scale v_scale o_scale",
                       POINTER(DLTensor)),
                      ("workspace", c_void_p), ("workspace_bytes", c_uint64))


class attn_device_facts(Structure):
    _fields_ = fields(("struct_size", c_uint32), ("device_type device_id sm_major sm_minor sm_count threads reserved", c_int32),
                      ("memory_bytes cache_bytes shared_optin_bytes", c_uint64))


class attn_options(Structure):
    _fields_ = fields(("struct_size count", c_uint32), ("keys values", POINTER(c_char_p)))


class attn_support(Structure):
    _fields_ = fields(("struct_size reserved", c_uint32), ("workspace_bytes", c_uint64))


class attn_text(Structure):
    _fields_ = [("data", c_void_p), ("size", c_uint64)]


class attn_ops(Structure):
    _fields_ = fields(("struct_size reserved", c_uint32), ("self", c_void_p), ("begin end", c_void_p))


class attn_call(Structure):
    _fields_ = fields(("struct_size", c_uint32), ("pass", c_int32), ("stream", c_void_p), ("tensors", POINTER(attn_tensors)), ("workspace", c_void_p),
                      ("workspace_bytes", c_uint64), ("ops", POINTER(attn_ops)))


Supports = CFUNCTYPE(c_int32, c_void_p, POINTER(attn_problem), POINTER(attn_device_facts), POINTER(attn_support), POINTER(attn_text))
Open = CFUNCTYPE(c_int32, c_void_p, POINTER(attn_problem), POINTER(attn_tensors), POINTER(attn_device_facts), POINTER(attn_options), POINTER(c_void_p),
                 POINTER(attn_text))
Run = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p)  # plain addresses: each typed pointer would cost the timed call 0.05 us
Settle = CFUNCTYPE(c_int32, c_void_p, POINTER(attn_text))
Close = CFUNCTYPE(None, c_void_p)
Rest = CFUNCTYPE(None, c_void_p)


class attn_backend(Structure):
    _fields_ = fields(("struct_size", c_uint32), ("device_type", c_int32), ("name version", c_char_p), ("can flags", c_uint64), ("self", c_void_p),
                      ("supports", Supports), ("open", Open), ("run", Run), ("close", Close),
                      ("why_not_bits", c_uint64), ("why_not", c_char_p), ("rest", Rest), ("settle", Settle))


class attn_backend_list(Structure):
    _fields_ = fields(("struct_size abi_version count reserved", c_uint32), ("backends", POINTER(POINTER(attn_backend))))


def mismatch(table):
    """Where this mirror and the engine's table (attn_abi_layout) differ, in a line; None where they do not."""
    mirror = sys.modules[__name__]
    for name, wanted in table["structs"].items():
        struct = getattr(mirror, name)
        have = {field: [getattr(struct, field).offset, getattr(struct, field).size] for field, _ in struct._fields_}
        if sizeof(struct) != wanted["size"] or have != wanted["fields"]:
            return f"{name} is {sizeof(struct)} bytes {have}, in the engine {wanted['size']} bytes {wanted['fields']}"
    for name, wanted in table["values"].items():
        have = getattr(mirror, name, None)
        if have != (tuple(wanted) if isinstance(wanted, list) else wanted):
            return f"{name} is {have}, in the engine {wanted}"
    return None
