#pragma once
// The one gate for text that others wrote: kernel names, reasons, a backend's output may hold anything, terminal escapes and bidi marks included.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

// One harmless line of at most `columns` columns (0 = 4096; longer text ends with "…"). A line end or tab becomes one blank; control characters, bidi
// marks and invisible characters are spelled out ("\x1b", "\u202e"); bytes that are not UTF-8 become U+FFFD.
std::string printable(std::string_view text, std::size_t columns = 0);
// The last `count` lines that are not blank, each printable.
std::vector<std::string> printable_tail(std::string_view text, std::size_t count, std::size_t columns = 0);

// Columns that printable UTF-8 text takes on a terminal: 0 for combining marks, 2 for East Asian wide characters.
std::size_t columns_of(std::string_view text);
// At most `columns` columns, cut in the middle ("llama3-8b/pre…128/causal"): ends of ids tell more than their middle.
std::string elide_middle(std::string_view text, std::size_t columns);
// At most `columns` columns, cut at the end.
std::string elide_end(std::string_view text, std::size_t columns);

}  // namespace attn
