#include "report/grid.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "report/printable.hpp"

namespace attn {
namespace {

constexpr std::size_t kGap = 2, kLeast = 6, kLeastElastic = 12, kWidestCell = 400;

// Widths of the shown columns (0 = left out) so that they fit `room` where that can be done.
std::vector<std::size_t> fit(const std::vector<GridColumn>& columns, std::vector<std::size_t> widths, std::size_t room, std::string& left_out) {
  const auto total = [&] {
    std::size_t sum = 0;
    for (const std::size_t width : widths) sum += width == 0 ? 0 : width + kGap;
    return sum == 0 ? 0 : sum - kGap;
  };
  const auto shrink = [&](std::size_t i, std::size_t least) {
    const std::size_t excess = total() - std::min(room, total());
    if (widths[i] > least) widths[i] = std::max(least, widths[i] - std::min(excess, widths[i]));
  };
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].elastic) shrink(i, std::max(kLeastElastic, columns_of(columns[i].title)));
  while (total() > room) {
    std::size_t next = columns.size();
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (widths[i] > 0 && columns[i].give > 0 && (next == columns.size() || columns[i].give > columns[next].give)) next = i;
    if (next == columns.size()) break;
    left_out += (left_out.empty() ? "" : ", ") + columns[next].title;
    widths[next] = 0;
  }
  while (total() > room) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kLeast) break;
    --*widest;
  }
  return widths;
}

}  // namespace

void Grid::add(std::vector<GridCell> cells) {
  if (cells.size() != columns_.size()) throw Error("a row of a grid has the wrong number of cells", Fault::internal);
  for (GridCell& cell : cells) cell.text = printable(cell.text, kWidestCell);
  lines_.push_back({false, std::move(cells)});
}

void Grid::heading(const std::string& text) { lines_.push_back({true, {{printable(text), Tone::strong}}}); }

void Grid::hide_empty_columns(std::string_view unknown) {
  for (std::size_t i = 0; i < columns_.size(); ++i)
    hidden_[i] = std::ranges::all_of(lines_, [&](const Line& line) { return line.is_heading || line.cells[i].text.empty() || line.cells[i].text == unknown; });
}

std::size_t Grid::rows() const {
  return static_cast<std::size_t>(std::ranges::count_if(lines_, [](const Line& line) { return !line.is_heading; }));
}

std::string Grid::shared_text(std::size_t column) const {
  const auto is_row = [](const Line& line) { return !line.is_heading; };
  const auto first = std::ranges::find_if(lines_, is_row);
  if (rows() < 2) return {};
  const std::string& text = first->cells[column].text;
  const bool shared = std::ranges::all_of(lines_, [&](const Line& line) { return line.is_heading || line.cells[column].text == text; });
  return shared ? text : "";
}

std::string Grid::text(std::size_t columns, bool color) const {
  std::vector<std::size_t> widths(columns_.size());
  std::string shared;  // lines
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (hidden_[i]) continue;
    if (const std::string text = columns_[i].once ? shared_text(i) : ""; !text.empty()) {
      shared += std::string(indent_, ' ') + paint(fmt::format("({} of all {} rows: {})", columns_[i].title, rows(), text), Tone::dim, color) + "\n";
      continue;
    }
    widths[i] = std::max<std::size_t>(1, columns_of(columns_[i].title));
    for (const Line& line : lines_)
      if (!line.is_heading) widths[i] = std::max(widths[i], columns_of(line.cells[i].text));
  }
  std::string left_out;
  if (columns > 0) widths = fit(columns_, widths, columns > indent_ ? columns - indent_ : 1, left_out);

  std::string out;
  const auto put_row = [&](auto&& cell_of) {
    std::string line(indent_, ' ');
    std::size_t owed = 0;  // blanks that are only written when something follows
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) continue;
      const GridCell& cell = cell_of(i);
      const std::string shown = columns_[i].elastic ? elide_end(cell.text, widths[i]) : elide_middle(cell.text, widths[i]);
      const std::size_t blanks = widths[i] - columns_of(shown);
      if (!shown.empty()) {
        line.append(owed + (columns_[i].right ? blanks : 0), ' ');
        line += paint(shown, cell.tone, color);
        owed = columns_[i].right ? kGap : blanks + kGap;
      } else {
        owed += widths[i] + kGap;
      }
    }
    out += line + "\n";
  };
  std::vector<GridCell> titles;
  for (const GridColumn& column : columns_) titles.push_back({column.title, Tone::dim});
  put_row([&](std::size_t i) -> const GridCell& { return titles[i]; });
  const Line* above = nullptr;  // the row above, of the same group
  const auto cell_of_row = [&](const Line& line, std::size_t i) -> const GridCell& {
    static const GridCell ditto{"\"", Tone::dim};
    const std::string& text = line.cells[i].text;
    return columns_[i].once && above && text.size() > ditto.text.size() && above->cells[i].text == text ? ditto : line.cells[i];
  };
  for (const Line& line : lines_) {
    if (line.is_heading) out += paint(columns == 0 ? line.cells[0].text : elide_middle(line.cells[0].text, columns), Tone::strong, color) + "\n";
    else put_row([&](std::size_t i) -> const GridCell& { return cell_of_row(line, i); });
    above = line.is_heading ? nullptr : &line;
  }
  if (!left_out.empty()) out += std::string(indent_, ' ') + paint("(no room for: " + left_out + ")", Tone::dim, color) + "\n";
  return out + shared;
}

}  // namespace attn
