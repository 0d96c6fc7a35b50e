#include "images/label_list.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/parse_number.h"
#include "images/csv_text.h"
#include "images/data_set.h"

namespace interlude {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// A number without sign or leading zeros, so that number and text stand for each other.
std::optional<uint32_t> Number(std::string_view text) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return ParseNumber<uint32_t>(text);
}

std::optional<size_t> FindColumn(const CsvRow& row, std::initializer_list<std::string_view> names) {
  for (size_t i = 0; i < row.fields.size(); ++i) {
    std::string name(Trimmed(row.fields[i]));
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (std::find(names.begin(), names.end(), name) != names.end()) return i;
  }
  return std::nullopt;
}

/// The words of a line, between spaces and tabs.
std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kSpaces = " \t\r";
  for (size_t at = line.find_first_not_of(kSpaces); at != line.npos;) {
    const size_t end = std::min(line.find_first_of(kSpaces, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kSpaces, end);
  }
  return words;
}

StatusOr<ListedPicture> ParsePetLine(const std::vector<std::string_view>& words, uint32_t line,
                                     std::string_view source) {
  if (words.size() != 4) {
    return InvalidArgumentError("{}:{}: {} words; a line has NAME CLASS-ID SPECIES BREED-ID",
                                source, line, words.size());
  }
  const std::optional<uint32_t> id = Number(words[1]);
  if (!id || *id == 0 || *id > kMostClasses) {
    return InvalidArgumentError("{}:{}: class id {} is no number from 1 to {}", source, line,
                                words[1], kMostClasses);
  }
  const size_t underscore = words[0].rfind('_');
  if (underscore == words[0].npos || underscore == 0) {
    return InvalidArgumentError("{}:{}: {} is not BREED_NUMBER", source, line, words[0]);
  }
  if (words[0].find('/') != words[0].npos || words[0].find('\0') != words[0].npos) {
    return InvalidArgumentError("{}:{}: {} is not the name of a file in images/", source, line,
                                words[0]);
  }
  return ListedPicture{.line = line,
                       .path = std::string(words[0]),
                       .label = std::string(words[1]),
                       .name = std::string(words[0].substr(0, underscore))};
}

}  // namespace

StatusOr<std::vector<ListedPicture>> ParseCsvList(std::string_view text, std::string_view source) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<CsvRow> rows, ReadCsv(text, source));
  size_t path_column = 0, label_column = 1, first = 0;
  if (!rows.empty()) {
    const auto label = FindColumn(rows[0], {"label", "class", "target"});
    const auto path = FindColumn(rows[0], {"path", "file", "filename", "image"});
    if (label && !path) {
      return InvalidArgumentError(
          "{}:{}: the header names a label but no path; call that column path, file, filename or "
          "image",
          source, rows[0].line);
    }
    if (label && path) {
      path_column = *path;
      label_column = *label;
      first = 1;
    }
  }
  std::vector<ListedPicture> list;
  for (size_t i = first; i < rows.size(); ++i) {
    const CsvRow& row = rows[i];
    if (row.fields.size() <= std::max(path_column, label_column)) {
      return InvalidArgumentError("{}:{}: {} fields; a row has a path and a label", source,
                                  row.line, row.fields.size());
    }
    const std::string_view path = Trimmed(row.fields[path_column]);
    const std::string_view label = Trimmed(row.fields[label_column]);
    if (path.empty() || label.empty()) {
      return InvalidArgumentError("{}:{}: the {} is empty", source, row.line,
                                  path.empty() ? "path" : "label");
    }
    list.push_back({.line = row.line, .path = std::string(path), .label = std::string(label)});
  }
  return list;
}

StatusOr<std::vector<ListedPicture>> ParsePetList(std::string_view text, std::string_view source) {
  std::vector<ListedPicture> list;
  uint32_t line = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::vector<std::string_view> words = Words(text.substr(at, end - at));
    ++line;
    at = end + 1;
    if (words.empty() || words[0].front() == '#') continue;
    INTERLUDE_ASSIGN_OR_RETURN(ListedPicture picture, ParsePetLine(words, line, source));
    list.push_back(std::move(picture));
  }
  return list;
}

StatusOr<std::vector<std::string>> ClassesOf(
    const std::vector<const std::vector<ListedPicture>*>& lists) {
  std::set<std::string_view> labels;
  for (const auto* list : lists) {
    for (const ListedPicture& picture : *list) labels.insert(picture.label);
  }
  uint32_t most = 0;
  bool numbers = true;
  for (const std::string_view label : labels) {
    const std::optional<uint32_t> number = Number(label);
    numbers = numbers && number;
    if (number) most = std::max(most, *number);
  }
  if (labels.size() > kMostClasses || (numbers && most >= kMostClasses)) {
    return InvalidArgumentError(
        "{} labels{}; there are at most {} classes. Is the column of labels the right one?",
        labels.size(), numbers ? fmt::format(" up to {}", most) : "", kMostClasses);
  }
  std::vector<std::string> classes;
  if (numbers && !labels.empty()) {
    for (uint32_t i = 0; i <= most; ++i) classes.push_back(fmt::format("{}", i));
  } else {
    classes.assign(labels.begin(), labels.end());
  }
  return classes;
}

std::unordered_map<std::string_view, uint32_t> NumbersOf(const std::vector<std::string>& classes) {
  std::unordered_map<std::string_view, uint32_t> numbers;
  for (const std::string& name : classes) {
    numbers.emplace(name, static_cast<uint32_t>(numbers.size()));
  }
  return numbers;
}

}  // namespace interlude
