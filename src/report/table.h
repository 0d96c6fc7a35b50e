// Text for terminals: columns that line up, paragraphs that wrap. A character counts as one column.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace interlude {

/// A table whose columns are as wide as their widest cell, two spaces apart. The first
/// `left_columns` columns are flush left, the others flush right.
class Table {
 public:
  Table(std::vector<std::string> header, size_t left_columns);
  /// A row with fewer cells than the header is filled with empty ones; further cells are an error.
  void Add(std::vector<std::string> row);
  /// A line that spans the table.
  void AddNote(std::string note);
  /// Lines indented by two spaces and ended by \n, without trailing spaces.
  std::string ToString() const;

 private:
  std::string Line(const std::vector<std::string>& cells) const;

  struct Row {
    std::vector<std::string> cells;
    std::string note;
  };
  const size_t columns_;
  const size_t left_columns_;
  std::vector<size_t> widths_;
  std::vector<Row> rows_;  // the first is the header
};

/// Breaks at spaces so that no line is wider than `width`, save a word that is; lines after the
/// first begin with `indent` spaces. Ends with \n.
std::string Wrap(std::string_view text, size_t width, size_t indent = 0);

/// Text from other machines made safe for a terminal, at most so many characters of it: bytes that
/// are no UTF-8, control characters and those that show nothing or turn the writing's direction
/// become '?'.
std::string Printable(std::string_view text, size_t most_characters = std::string_view::npos);

}  // namespace interlude
