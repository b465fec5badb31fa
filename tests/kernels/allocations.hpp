#pragma once
// Counts what the whole process allocates, plugins included: malloc and its relatives, and mmap.

#include <functional>

namespace attn::test {

bool allocations_are_counted();
// Allocations of every thread while `body` runs.
long allocations_of(const std::function<void()>& body);

}  // namespace attn::test
