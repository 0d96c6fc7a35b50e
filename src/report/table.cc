#include "report/table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace interlude {

Table::Table(std::vector<std::string> header, size_t left_columns)
    : columns_(header.size()), left_columns_(left_columns), widths_(header.size(), 0) {
  Add(std::move(header));
}

void Table::Add(std::vector<std::string> row) {
  INTERLUDE_CHECK(row.size() <= columns_, "a row of {} cells in a table of {} columns", row.size(),
                  columns_);
  row.resize(columns_);
  for (size_t i = 0; i < columns_; ++i) widths_[i] = std::max(widths_[i], row[i].size());
  rows_.push_back({std::move(row), ""});
}

void Table::AddNote(std::string note) { rows_.push_back({{}, std::move(note)}); }

std::string Table::Line(const std::vector<std::string>& cells) const {
  std::string line;
  for (size_t i = 0; i < columns_; ++i) {
    const std::string padding(widths_[i] - cells[i].size(), ' ');
    line += "  " + (i < left_columns_ ? cells[i] + padding : padding + cells[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string Table::ToString() const {
  std::string text;
  for (const Row& row : rows_) {
    text += row.cells.empty() ? "  " + row.note + "\n" : Line(row.cells);
  }
  return text;
}

std::string Wrap(std::string_view text, size_t width, size_t indent) {
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const size_t begin = std::min(text.find_first_not_of(' '), text.size());
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    text.remove_prefix(end);
    if (word.empty()) break;
    if (column == 0) {
      column = word.size();
    } else if (column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent + word.size();
    } else {
      out += ' ';
      column += 1 + word.size();
    }
    out += word;
  }
  return out + "\n";
}

std::string Printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c < 0x20 || c > 0x7E) c = '?';
  }
  return out;
}

}  // namespace interlude
