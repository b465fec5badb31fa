#include "allocations.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define ATTN_COUNTS 0
#else
#define ATTN_COUNTS 1
#endif

namespace {
std::atomic<long> allocations{0};
}

#if ATTN_COUNTS
// The executable's definitions come first for every library of the process; glibc keeps its own under these names.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

#define ATTN_VISIBLE __attribute__((visibility("default")))
ATTN_VISIBLE void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
ATTN_VISIBLE void* calloc(std::size_t count, std::size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
ATTN_VISIBLE void* realloc(void* old, std::size_t bytes) {
  ++allocations;
  return __libc_realloc(old, bytes);
}
ATTN_VISIBLE void* memalign(std::size_t alignment, std::size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
ATTN_VISIBLE void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
ATTN_VISIBLE int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) {
  ++allocations;
  *result = __libc_memalign(alignment, bytes);
  return *result ? 0 : 12;
}
ATTN_VISIBLE void* mmap(void* address, std::size_t bytes, int protection, int flags, int descriptor, off_t offset) noexcept {
  static const auto real = reinterpret_cast<void* (*)(void*, std::size_t, int, int, int, off_t)>(dlsym(RTLD_NEXT, "mmap"));
  ++allocations;
  return real(address, bytes, protection, flags, descriptor, offset);
}
}
#endif

namespace attn::test {

bool allocations_are_counted() { return ATTN_COUNTS; }

long allocations_of(const std::function<void()>& body) {
  const long before = allocations;
  body();
  return allocations - before;
}

}  // namespace attn::test
