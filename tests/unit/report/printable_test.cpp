#include "report/printable.hpp"

#include <gmock/gmock.h>

namespace attn {
namespace {

TEST(Printable, SpellsOutTerminalEscapes) {
  EXPECT_EQ(printable("\x1b[31mred\x1b]0;title\x07"), "\\x1b[31mred\\x1b]0;title\\x07");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xC2\x9B" "31m"), "\\x9b31m");  // the one-character form of ESC [
  EXPECT_EQ(printable("\x7f"), "\\x7f");
}

TEST(Printable, SpellsOutBidiMarksAndInvisibleCharacters) {
  EXPECT_EQ(printable("a\u202Eb"), "a\\u202eb");
  EXPECT_EQ(printable("a\u2066b\u2069"), "a\\u2066b\\u2069");
  EXPECT_EQ(printable("a\u200Bb\uFEFF"), "a\\u200bb\\ufeff");
}

TEST(Printable, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("a\xFF" "b"), "a\uFFFDb");
  EXPECT_EQ(printable("\xC0\xAF"), "\uFFFD\uFFFD");          // an overlong slash
  EXPECT_EQ(printable("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(printable("\xE2\x82"), "\uFFFD\uFFFD");          // cut off
}

TEST(Printable, MakesOneLine) { EXPECT_EQ(printable("  two\r\n\tlines  apart \n"), "two lines  apart"); }

TEST(Printable, LeavesGoodTextAlone) { EXPECT_EQ(printable("größer ≥ 注意 🙂"), "größer ≥ 注意 🙂"); }

TEST(Printable, BoundsTheLength) {
  EXPECT_EQ(printable("abcdef", 4), "abc…");
  EXPECT_EQ(columns_of(printable(std::string(1'000'000, 'x'))), 4096u);
}

TEST(PrintableTail, KeepsTheLastLinesThatAreNotBlank) {
  EXPECT_THAT(printable_tail("one\ntwo\n\n\x1bthree\n\n", 2), testing::ElementsAre("two", "\\x1bthree"));
  EXPECT_THAT(printable_tail("", 2), testing::IsEmpty());
  EXPECT_THAT(printable_tail("\n\n", 2), testing::IsEmpty());
  EXPECT_THAT(printable_tail("only", 2), testing::ElementsAre("only"));
}

TEST(Columns, CountWhatATerminalShows) {
  EXPECT_EQ(columns_of("abc"), 3u);
  EXPECT_EQ(columns_of("größe"), 5u);
  EXPECT_EQ(columns_of("注意"), 4u);
  EXPECT_EQ(columns_of("e\u0301"), 1u);
}

TEST(Elide, CutsTheMiddleAndKeepsBothEnds) {
  EXPECT_EQ(elide_middle("llama3-8b/prefill/causal", 11), "llama…ausal");
  EXPECT_EQ(elide_middle("short", 5), "short");
  EXPECT_EQ(elide_middle("abcdef", 1), "…");
  EXPECT_EQ(elide_middle("abcdef", 0), "");
}

TEST(Elide, NeverCutsACharacterNorExceedsTheWidth) {
  const std::string text = "a注b意c注d意e";
  for (std::size_t columns = 0; columns <= 14; ++columns) {
    const std::string cut = elide_middle(text, columns);
    EXPECT_LE(columns_of(cut), columns);
    EXPECT_EQ(printable(cut), cut);  // still valid UTF-8
  }
}

}  // namespace
}  // namespace attn
