#include "report/grid.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "report/printable.hpp"

namespace attn {
namespace {

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, columns_of(line));
  return widest;
}

Grid wide_grid() {
  Grid grid({{"name", false, false, 0}, {"time", true, false, 0}, {"path", false, false, 2}, {"error", true, false, 1}, {"reason", false, true, 0}});
  grid.add({{"naive", Tone::plain}, {"3.21 ms", Tone::plain}, {"efficient", Tone::plain}, {"1.2e-03", Tone::plain}, {std::string(60, 'r'), Tone::plain}});
  return grid;
}

TEST(Grid, AlignsColumnsAndLeavesNoBlanksAtTheEnd) {
  Grid grid({{"name", false, false, 0}, {"n", true, false, 0}, {"note", false, false, 0}}, 2);
  grid.heading("group");
  grid.add({{"größe", Tone::plain}, {"5", Tone::plain}, {"", Tone::plain}});
  grid.add({{"b", Tone::plain}, {"105", Tone::plain}, {"x", Tone::plain}});
  EXPECT_EQ(grid.text(0, false),
            "  name     n  note\n"
            "group\n"
            "  größe    5\n"
            "  b      105  x\n");
}

TEST(Grid, ShortensElasticTextFirst) {
  const std::string text = wide_grid().text(60, false);
  EXPECT_LE(widest_line(text), 60u);
  EXPECT_THAT(text, testing::AllOf(testing::HasSubstr("efficient"), testing::HasSubstr("1.2e-03"), testing::HasSubstr("r…")));
}

TEST(Grid, NamesTheColumnsThatItLeavesOut) {
  const std::string text = wide_grid().text(40, false);
  EXPECT_LE(widest_line(text), 40u);
  EXPECT_THAT(text, testing::HasSubstr("(no room for: path)"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("efficient")));
}

TEST(Grid, FitsAnyTerminal) {
  for (std::size_t columns = 34; columns < 120; ++columns) EXPECT_LE(widest_line(wide_grid().text(columns, false)), columns) << columns;
}

Grid with_reasons(const std::vector<std::string>& reasons) {
  Grid grid({{"name", false, false, 0}, {"reason", false, true, 0, true}}, 2);
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (i % 2 == 0) grid.heading("group");
    grid.add({{std::string(1, static_cast<char>('a' + i)), Tone::plain}, {reasons[i], Tone::plain}});
  }
  return grid;
}

TEST(Grid, TellsOnceWhatAGroupShares) {
  EXPECT_EQ(with_reasons({"no GPU", "no GPU", "no GPU", "too large"}).text(0, false),
            "  name  reason\n"
            "group\n"
            "  a     no GPU\n"
            "  b     \"\n"
            "group\n"
            "  c     no GPU\n"
            "  d     too large\n");
}

TEST(Grid, TellsWhatAllRowsShareInALastLineThatIsNeverCut) {
  const std::string reason(100, 'r');
  EXPECT_EQ(with_reasons({reason, reason, reason}).text(40, false), "  name\ngroup\n  a\n  b\ngroup\n  c\n  (reason of all 3 rows: " + reason + ")\n");
  EXPECT_EQ(with_reasons({"alone"}).text(0, false), "  name  reason\ngroup\n  a     alone\n");
}

TEST(Grid, LeavesOutEmptyColumnsOnDemand) {
  Grid grid({{"name", false, false, 0}, {"empty", false, false, 0}});
  grid.add({{"a", Tone::plain}, {"", Tone::plain}});
  EXPECT_THAT(grid.text(0, false), testing::HasSubstr("empty"));
  grid.hide_empty_columns();
  EXPECT_EQ(grid.text(0, false), "name\na\n");
}

TEST(Grid, NeutralisesWhatACellHolds) {
  Grid grid({{"name", false, false, 0}});
  grid.heading("head\x1b[2J");
  grid.add({{"evil\x1b[2J\nnext", Tone::plain}});
  EXPECT_EQ(grid.text(0, false), "name\nhead\\x1b[2J\nevil\\x1b[2J next\n");
}

TEST(Grid, ColorsWithoutMovingAnything) {
  Grid grid({{"name", false, false, 0}, {"x", false, false, 0}});
  grid.add({{"a", Tone::bad}, {"b", Tone::plain}});
  EXPECT_THAT(grid.text(0, true), testing::HasSubstr("\x1b[1;31ma\x1b[0m     b\n"));
}

}  // namespace
}  // namespace attn
