#pragma once
// Rows and columns of text that fit a terminal: every table of the program is one.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/terminal.hpp"

namespace attn {

struct GridColumn {
  std::string title;
  bool right = false;    // numbers
  bool elastic = false;  // shortened first when space is short
  int give = 0;          // left out when space is short, the highest first; 0 = never
  bool once = false;     // a text that a row shares with the one above, in its group, becomes a ditto mark; one that all rows share is told in a last line
};

struct GridCell {
  std::string text;  // made printable by the grid
  Tone tone = Tone::plain;
};

class Grid {
 public:
  // `indent`: blanks before every row; headings start at the margin.
  explicit Grid(std::vector<GridColumn> columns, std::size_t indent = 0) : columns_(std::move(columns)), indent_(indent) {}

  // As many cells as there are columns.
  void add(std::vector<GridCell> cells);
  // A line of its own above the rows that follow, elided in the middle when it is too long.
  void heading(const std::string& text);
  // A column without a single text, or with none but `unknown`, is left out.
  void hide_empty_columns(std::string_view unknown = "");

  // `columns` = 0: as wide as it gets. Columns that were left out are named in a last line, and what all rows share.
  std::string text(std::size_t columns, bool color) const;

 private:
  struct Line {
    bool is_heading = false;
    std::vector<GridCell> cells;
  };
  std::size_t rows() const;
  // The text of a column that all rows share, when they are several; else empty.
  std::string shared_text(std::size_t column) const;

  std::vector<GridColumn> columns_;
  std::size_t indent_ = 0;
  std::vector<Line> lines_;
  std::vector<bool> hidden_ = std::vector<bool>(columns_.size());
};

}  // namespace attn
