// CSV as spreadsheets write it: commas, fields in double quotes where they need them, a doubled
// quote for one inside. Text in, fields out; no I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace interlude {

struct CsvRow {
  uint32_t line = 0;  // that it begins on, from 1
  std::vector<std::string> fields;
};

/// The most fields that a row may have.
inline constexpr size_t kMostCsvFields = 256;

/// Every row that is not empty. Lines end with LF or CR LF; a byte order mark is skipped. A quoted
/// field may hold commas and line ends. InvalidArgument with `source`:LINE for a quote that is not
/// closed, text after a closing quote, a zero byte, or too many fields.
StatusOr<std::vector<CsvRow>> ReadCsv(std::string_view text, std::string_view source);

}  // namespace interlude
