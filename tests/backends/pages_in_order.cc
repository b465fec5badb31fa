// Takes the pages in the order in which they lie, whatever the page table says.
// expect: suite=rows_and_pages case=filled|tail status=wrong reason="the page order ignored|places of pages that hold no key"
// expect: suite=rows_and_pages case=filled status=wrong reason="the page order ignored"
// expect: suite=rows_and_pages case=ragged status=ok exit=1
// expect: suite=plain status=ok
// edges: ^paged => page order ignored|places of pages that hold no key
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    if (!t_.page_table) return Good::run(call);
    std::int32_t next = 0;
    pages_.assign(static_cast<std::size_t>(p_.batch * t_.page_table->strides[0]), 0);
    for (std::int64_t b = 0; b < p_.batch; ++b)
      for (std::int64_t page = 0; page * p_.page_size < keys(b); ++page) pages_[static_cast<std::size_t>(b * t_.page_table->strides[0] + page)] = next++;
    table_ = *t_.page_table;
    table_.data = pages_.data();
    table_.byte_offset = 0;
    k_.pages = v_.pages = &table_;
    Good::run(call);
  }

 private:
  std::vector<std::int32_t> pages_;
  DLTensor table_{};
};
ATTN_BACKENDS(Mutant)
