#include "report/table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/clean_text.h"

namespace interlude {
namespace {

/// Of valid UTF-8.
size_t Columns(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// `character` is one of UTF-8.
char32_t CodePoint(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  char32_t code = first & (0xffu >> (character.size() + 1));
  for (const char c : character.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3f);
  return code;
}

/// Not a control character, nor one that shows nothing or changes how others are shown.
bool IsShown(char32_t code) {
  const auto in = [code](char32_t first, char32_t last) { return first <= code && code <= last; };
  return !(code < 0x20 || in(0x7f, 0x9f) || code == 0xad || code == 0x61c || code == 0x180e ||
           in(0x200b, 0x200f) || in(0x2028, 0x202e) || in(0x2060, 0x206f) || code == 0xfeff ||
           in(0xfff9, 0xfffb) || code >= 0xe0000);
}

}  // namespace

Table::Table(std::vector<std::string> header, size_t left_columns)
    : columns_(header.size()), left_columns_(left_columns), widths_(header.size(), 0) {
  Add(std::move(header));
}

void Table::Add(std::vector<std::string> row) {
  INTERLUDE_CHECK(row.size() <= columns_, "a row of {} cells in a table of {} columns", row.size(),
                  columns_);
  row.resize(columns_);
  for (size_t i = 0; i < columns_; ++i) widths_[i] = std::max(widths_[i], Columns(row[i]));
  rows_.push_back({std::move(row), ""});
}

void Table::AddNote(std::string note) { rows_.push_back({{}, std::move(note)}); }

std::string Table::Line(const std::vector<std::string>& cells) const {
  std::string line;
  for (size_t i = 0; i < columns_; ++i) {
    const std::string padding(widths_[i] - Columns(cells[i]), ' ');
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
    const size_t columns = Columns(word);
    if (column == 0) {
      column = columns;
    } else if (column + 1 + columns > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent + columns;
    } else {
      out += ' ';
      column += 1 + columns;
    }
    out += word;
  }
  return out + "\n";
}

std::string Printable(std::string_view text, size_t most_characters) {
  std::string out;
  for (size_t i = 0; i < most_characters && !text.empty(); ++i) {
    const size_t bytes = Utf8CharacterBytes(text);
    const bool shown = bytes > 0 && IsShown(CodePoint(text.substr(0, bytes)));
    out += shown ? text.substr(0, bytes) : "?";
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return out;
}

}  // namespace interlude
