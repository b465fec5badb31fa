#pragma once
// The engine's exported symbols: all that a worker of any kind (native, Python) needs to know of the engine.

#include "abi/attn_abi.h"

extern "C" {

// Adds a library to the worker's environment: its name, version and where it was loaded from. Before attn_worker.
ATTN_EXPORT void attn_note_library(const char* name, const char* version, const char* path);

// What the allocator of the worker's host holds now, and the most that it held since it said so last. A backend's `rest` says it, and its `open`
// before and after what it does, where device memory comes from such an allocator (torch's): CUPTI sees only what that one takes from the driver.
ATTN_EXPORT void attn_note_memory(int64_t held_bytes, int64_t peak_bytes);

// The backend that now answers ATTN_UNSUPPORTED ran out of memory when it wanted so many bytes of its own in all; 0 = not known. The engine decides what that
// means: too large for the device, or for what other processes leave of it.
ATTN_EXPORT void attn_note_out_of_memory(uint64_t wanted_bytes);

// The stream of every call that attn_worker makes, for what a backend's `open` enqueues itself; null on a CPU and before attn_worker.
ATTN_EXPORT void* attn_stream(void);

// Answers requests (one JSON line each on `in_fd`) with records (one JSON line each on `out_fd`) until `in_fd` ends. Returns 0, 1 when the parent is gone,
// or 2 when the parent wants another process with the same code in it, which finds its own lines on `in_fd`.
// A list that cannot be used answers every request as unsupported, with the reason.
ATTN_EXPORT int attn_worker(const attn_backend_list* backends, int in_fd, int out_fd);

// What a mirror in another language proves itself by, as JSON: {"structs": {"attn_call": {"size": 64, "fields": {"pass": [4, 4], ...}}, ...}, "values":
// {"ABI_VERSION": 1, "LAYOUTS": ["bhsd", ...], ...}}: size of every struct, offset and size of every field, constants, and the words of enumerations in their
// order. Static storage.
ATTN_EXPORT const char* attn_abi_layout(void);

// What is wrong with `what`; null when nothing is. The text stays valid until the next call. "reference": against rows computed by hand. On the first GPU:
// "gpu-reference": its inputs and reference against the host's; "gpu-records": whether CUPTI reports all that runs.
ATTN_EXPORT const char* attn_self_test(const char* what);
}
