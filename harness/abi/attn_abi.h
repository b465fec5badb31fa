#pragma once
// The C contract between the harness and an attention backend: everything that crosses a plugin's border.
//
// Rules of the border: no exception, no C++ type and no allocation crosses it. Every struct begins with its own size and only ever grows at its end;
// a reader looks at a field only if `struct_size` says that it is there. Text goes into a buffer of the caller. Enumerations travel as 32-bit integers.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTN_ABI_VERSION 1u

// ---------------------------------------------------------------- DLPack
// Names and layout are DLPack's (github.com/dmlc/dlpack). A file that includes dlpack.h first keeps those definitions.
#ifndef DLPACK_DLPACK_H_
typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;
typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; never null here
  uint64_t byte_offset;
} DLTensor;
#endif

enum attn_device_type { ATTN_DEVICE_CPU = 1, ATTN_DEVICE_CUDA = 2 };  // DLPack's kDLCPU, kDLCUDA

// ---------------------------------------------------------------- words
enum attn_status_code { ATTN_OK = 0, ATTN_UNSUPPORTED = 1, ATTN_FAILED = 2 };
typedef int32_t attn_status;

enum attn_dtype { ATTN_FP32 = 0, ATTN_FP16 = 1, ATTN_BF16 = 2, ATTN_FP8_E4M3 = 3, ATTN_FP8_E5M2 = 4 };
enum attn_layout { ATTN_BHSD = 0, ATTN_BSHD = 1, ATTN_SBHD = 2, ATTN_PACKED_QKV = 3, ATTN_THD = 4 };
enum attn_mask_kind { ATTN_MASK_NONE = 0, ATTN_MASK_CAUSAL = 1, ATTN_MASK_TENSOR = 2 };
enum attn_alignment { ATTN_TOP_LEFT = 0, ATTN_BOTTOM_RIGHT = 1 };
enum attn_dead_rows { ATTN_DEAD_ZERO = 0, ATTN_DEAD_NAN = 1, ATTN_DEAD_MEAN = 2 };
enum attn_pass { ATTN_FORWARD = 0, ATTN_BACKWARD = 1, ATTN_FORWARD_BACKWARD = 2 };
enum attn_call_pass { ATTN_CALL_ALL = 0, ATTN_CALL_FORWARD = 1, ATTN_CALL_BACKWARD = 2 };

// What a problem needs and a backend can. The host refuses a problem with `needs & ~can`, so a plugin built before a bit existed can never ignore
// the argument behind it. A bit is set in `needs` only where leaving the feature out would change the answer or the memory that is read.
#define ATTN_CAN_FP32 (1ull << 0)
#define ATTN_CAN_FP16 (1ull << 1)
#define ATTN_CAN_BF16 (1ull << 2)
#define ATTN_CAN_FP8 (1ull << 3)
#define ATTN_CAN_MIXED_KV (1ull << 4)             // dtype_kv differs from dtype
#define ATTN_CAN_GQA (1ull << 5)                  // heads_kv differs from heads
#define ATTN_CAN_HEAD_DIM_V (1ull << 6)           // head_dim_v differs from head_dim
#define ATTN_CAN_CAUSAL (1ull << 7)               // causal
#define ATTN_CAN_ALIGN_TOP_LEFT (1ull << 8)       // a diagonal with seq_q != seq_kv, anchored top left
#define ATTN_CAN_ALIGN_BOTTOM_RIGHT (1ull << 9)   // the same, anchored bottom right
#define ATTN_CAN_WINDOW (1ull << 10)              // window_left or window_right bounded
#define ATTN_CAN_SOFTCAP (1ull << 11)
#define ATTN_CAN_SCALE (1ull << 12)               // a scale other than 1/sqrt(head_dim)
#define ATTN_CAN_ALIBI (1ull << 13)
#define ATTN_CAN_MASK_BOOL (1ull << 14)
#define ATTN_CAN_MASK_ADDITIVE (1ull << 15)
#define ATTN_CAN_LENGTHS (1ull << 16)             // padded batches: lengths_q, lengths_kv
#define ATTN_CAN_RAGGED (1ull << 17)              // layout thd: starts_q, starts_kv
#define ATTN_CAN_PAGED (1ull << 18)               // page_table
#define ATTN_CAN_BACKWARD (1ull << 19)
#define ATTN_CAN_DETERMINISTIC (1ull << 20)
#define ATTN_CAN_DROPOUT (1ull << 21)
#define ATTN_CAN_STRIDED (1ull << 22)             // strides that the layout alone does not give
#define ATTN_CAN_DEAD_ZERO (1ull << 23)           // rows with no visible key exist and shall be 0
#define ATTN_CAN_DEAD_NAN (1ull << 24)            // ... shall be NaN
#define ATTN_CAN_DEAD_MEAN (1ull << 25)           // ... shall be the mean of V
#define ATTN_CAN_LSE (1ull << 26)                 // the log-sum-exp is asked for

// How a backend behaves.
#define ATTN_FLAG_REPORTS_OPS (1ull << 0)         // reports its operations through attn_call.ops (CPU: the only way to count)
#define ATTN_FLAG_OWNS_OUTPUT (1ull << 1)         // run may point an output at its own memory
#define ATTN_FLAG_CONTROL (1ull << 2)             // fixed work that shows how the machine is; its output is no attention

// ---------------------------------------------------------------- what is asked
typedef struct {
  uint32_t struct_size;
  int32_t dtype;      // attn_dtype of q and o
  int32_t dtype_kv;   // attn_dtype of k and v
  int32_t layout;     // attn_layout
  int64_t batch, heads, heads_kv, seq_q, seq_kv, head_dim, head_dim_v;
  uint64_t needs;     // ATTN_CAN_* bits
  int32_t mask_kind;  // attn_mask_kind
  int32_t alignment;  // attn_alignment; meaningful with causal or a window
  int64_t window_left, window_right;  // tokens besides the own one; -1 = unbounded
  double softcap;     // 0 = none
  double scale;       // always the resolved number
  int64_t page_size;  // tokens; 0 = not paged
  double dropout;     // probability; 0 = none
  uint64_t dropout_seed;
  int32_t dead_rows;  // attn_dead_rows
  int32_t pass;       // attn_pass
  int32_t deterministic;
  int32_t reserved;
  const char* name;   // the case's id, for messages
} attn_problem;

// Null = absent. Logical order: (batch, heads, seq, head_dim); ragged (tokens, heads, head_dim); pages (pages, heads_kv, page, head_dim).
// The same tensors, at the same addresses, are valid from open to close; their contents may change between calls.
typedef struct {
  uint32_t struct_size;
  uint32_t reserved;
  DLTensor* q;
  DLTensor* k;
  DLTensor* v;
  DLTensor* o;
  DLTensor* lse;           // (batch, heads, seq_q), fp32, natural logarithm
  DLTensor* dout;
  DLTensor* dq;
  DLTensor* dk;
  DLTensor* dv;
  DLTensor* mask;          // always 4-D (batch, heads, seq_q, seq_kv), stride 0 = broadcast; bool (1 = visible) or additive in dtype
  DLTensor* alibi;         // (heads), fp32 slopes: bias = -slope * |row + diagonal offset - key|
  DLTensor* lengths_q;     // (batch), int32
  DLTensor* lengths_kv;    // (batch), int32
  DLTensor* starts_q;      // (batch + 1), int32
  DLTensor* starts_kv;     // (batch + 1), int32
  DLTensor* page_table;    // (batch, pages of the longest sequence), int32
  DLTensor* q_scale;
  DLTensor* k_scale;
  DLTensor* v_scale;
  DLTensor* o_scale;
  void* workspace;         // attn_call's, known here too, so that open can write its address into tables of its own; contents are not kept between calls
  uint64_t workspace_bytes;
} attn_tensors;

typedef struct {
  uint32_t struct_size;
  int32_t device_type;     // attn_device_type
  int32_t device_id;
  int32_t sm_major, sm_minor, sm_count;  // 0 on a CPU
  int32_t threads;         // CPU threads a backend may use
  int32_t reserved;
  uint64_t memory_bytes;   // the device's whole memory
  uint64_t cache_bytes;    // last-level cache
  uint64_t shared_optin_bytes;
} attn_device_facts;

typedef struct {
  uint32_t struct_size;
  uint32_t count;
  const char* const* keys;
  const char* const* values;
} attn_options;

typedef struct {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t workspace_bytes;  // upper bound; the harness allocates it, 256-byte aligned
} attn_support;

// A buffer of the caller; the callee writes at most `size` bytes with a closing NUL.
typedef struct {
  char* data;
  uint64_t size;
} attn_text;

// ---------------------------------------------------------------- what is reported
enum attn_op_kind { ATTN_OP_KERNEL = 0, ATTN_OP_MEMCPY = 1, ATTN_OP_MEMSET = 2 };

// How a backend with ATTN_FLAG_REPORTS_OPS tells what it does: begin and end around each operation, from the thread that called run, never nested.
// `name` is copied; `bytes` is the bytes moved by a memcpy or memset, 0 for a kernel.
typedef struct {
  uint32_t struct_size;
  uint32_t reserved;
  void* self;
  void (*begin)(void* self, int32_t kind, const char* name, uint64_t bytes);
  void (*end)(void* self);
} attn_ops;

typedef struct {
  uint32_t struct_size;
  int32_t pass;            // attn_call_pass
  void* stream;            // cudaStream_t; null on a CPU
  attn_tensors* tensors;   // those of open; with ATTN_FLAG_OWNS_OUTPUT run may change data and strides of outputs
  void* workspace;
  uint64_t workspace_bytes;
  const attn_ops* ops;     // null: nobody listens, report nothing
} attn_call;

// ---------------------------------------------------------------- the backend
typedef struct attn_backend {
  uint32_t struct_size;
  int32_t device_type;     // attn_device_type
  const char* name;
  const char* version;     // of the implementation and of the libraries it uses, for the record; may be null
  uint64_t can;            // ATTN_CAN_*
  uint64_t flags;          // ATTN_FLAG_*
  void* self;              // handed back to supports and open
  // Touches no device. ATTN_UNSUPPORTED with the reason in `why`.
  attn_status (*supports)(void* self, const attn_problem* problem, const attn_device_facts* device, attn_support* support, attn_text* why);
  // May plan, compile and tune; may still answer ATTN_UNSUPPORTED.
  attn_status (*open)(void* self, const attn_problem* problem, const attn_tensors* tensors, const attn_device_facts* device, const attn_options* options,
                      void** state, attn_text* why);
  // Only enqueues on call->stream (a CPU backend: does the work and returns). Allocates nothing.
  attn_status (*run)(void* state, const attn_call* call, attn_text* why);
  void (*close)(void* state);
  // Why `can` lacks these bits, for a reader of the refusal who expects them; why_not may be null.
  uint64_t why_not_bits;
  const char* why_not;
  // Called before a call, outside all clocks and counts: what collects garbage does it here. May be null.
  void (*rest)(void* state);
  // Called after a call that went well, outside its time and before its outputs are looked for: the backend says here, as well as in `run`, where they lie.
  // Touches no device. May be null.
  attn_status (*settle)(void* state, attn_text* why);
} attn_backend;

typedef struct {
  uint32_t struct_size;
  uint32_t abi_version;    // ATTN_ABI_VERSION of the build
  uint32_t count;
  uint32_t reserved;
  const attn_backend* const* backends;
} attn_backend_list;

// The one symbol of a native plugin.
#define ATTN_BACKENDS_SYMBOL "attn_backends"
typedef const attn_backend_list* (*attn_backends_fn)(void);

#if defined(__GNUC__)
#define ATTN_EXPORT __attribute__((visibility("default")))
#else
#define ATTN_EXPORT
#endif

#ifdef __cplusplus
}
#endif
