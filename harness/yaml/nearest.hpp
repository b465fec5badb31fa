#pragma once
// Messages about words: the nearest allowed one, the list of all, and found text made fit to print.

#include <string>
#include <string_view>
#include <vector>

namespace attn {

using WordList = std::vector<std::string_view>;

// Insertions, deletions, substitutions and swaps of neighbours that turn one into the other (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The allowed word that `found` was most likely meant to be; empty when none is near. Case and '-' for '_' count as nothing.
std::string_view nearest(std::string_view found, const WordList& allowed);

// "a, b, c".
std::string join(const WordList& words);

// "allowed are: a, b, c; did you mean a?": the end of every message about an unknown word.
std::string allowed_text(std::string_view found, const WordList& allowed);

// In double quotes, control bytes escaped, cut after 60 bytes: found text is hostile.
std::string quote(std::string_view text);

}  // namespace attn
