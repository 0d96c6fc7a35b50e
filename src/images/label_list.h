// Labels as lists write them: from names or numbers to the numbers of classes. Text in, values out;
// no I/O. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"

namespace interlude {

/// One line of a list.
struct ListedPicture {
  uint32_t line = 0;
  std::string path;   // as the list has it
  std::string label;  // a CSV's own text; for the pets the class's number
  std::string name;   // the pets' class, from the file's name
};

/// A CSV's rows: path and label. Without a header the first two columns; with one (a first row that
/// has a cell "label", "class" or "target") the columns called so and "path", "file", "filename" or
/// "image". Whether a row of other words is a header cannot be told: it is a picture. Spaces around
/// a field are dropped. InvalidArgument with `source`:LINE for a row that lacks one of the two.
StatusOr<std::vector<ListedPicture>> ParseCsvList(std::string_view text, std::string_view source);

/// The pets' lists: NAME CLASS-ID SPECIES BREED-ID a line, # begins a comment; the class's name is
/// NAME up to its last underscore. InvalidArgument with `source`:LINE for anything else.
StatusOr<std::vector<ListedPicture>> ParsePetList(std::string_view text, std::string_view source);

/// Classes of labels in CSV files: numbers from 0 where every label is one (the largest decides how
/// many classes there are), else names, sorted bytewise. `lists` are all of a data set's.
/// InvalidArgument for more than kMostClasses.
StatusOr<std::vector<std::string>> ClassesOf(
    const std::vector<const std::vector<ListedPicture>*>& lists);

/// Each class's name and its number. `classes` stays in place.
std::unordered_map<std::string_view, uint32_t> NumbersOf(const std::vector<std::string>& classes);

}  // namespace interlude
