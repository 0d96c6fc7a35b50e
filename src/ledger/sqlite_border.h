// Where SQLiteCpp's exceptions end: inside ledger/ a statement may throw, outside there is only
// Status.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/heap.h"
#include "base/status.h"

namespace interlude::internal {

/// The Status for an SQLite error. `what` says what was tried and on which file.
Status StatusFromSqlite(const SQLite::Exception& error, std::string_view what);

/// Runs `body` (returning Status or StatusOr) and turns what it throws into a Status.
template <typename Body>
auto AtBorder(std::string_view what, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const SQLite::Exception& error) {
    return StatusFromSqlite(error, what);
  } catch (const std::exception& error) {
    return InternalError("{}: {}", what, error.what());
  }
}

/// A count as SQLite can hold it: saturates at 2^63 - 1.
inline int64_t ToSqlInteger(uint64_t value) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(value < kMost ? value : kMost);
}

/// The columns of one row, with a check that each value fits. Throws SQLite::Exception
/// (SQLITE_CORRUPT). On SQLite's own functions: SQLiteCpp counts references at each value, and a
/// run has millions.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}

  bool IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  /// Good until the next row.
  std::string_view View(int column) const {
    const void* bytes = sqlite3_column_blob(statement_, column);
    return {static_cast<const char*>(bytes),
            static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }
  std::string Text(int column) const { return std::string(View(column)); }
  int64_t Integer(int column) const { return sqlite3_column_int64(statement_, column); }
  double Real(int column) const { return sqlite3_column_double(statement_, column); }
  /// NULL is NaN.
  double RealOrNan(int column) const {
    return IsNull(column) ? std::numeric_limits<double>::quiet_NaN() : Real(column);
  }

  template <typename Int>
  Int Fitting(int column) const {
    const int64_t value = Integer(column);
    const bool too_low = value < static_cast<int64_t>(std::numeric_limits<Int>::min());
    const bool too_high =
        sizeof(Int) < 8 && value > static_cast<int64_t>(std::numeric_limits<Int>::max());
    if (too_low || too_high) Refuse(column, std::to_string(value));
    return static_cast<Int>(value);
  }

  /// Says that the value of `column` cannot be.
  [[noreturn]] void Refuse(int column, std::string_view value) const;

 private:
  sqlite3_stmt* const statement_;
};

/// Calls `take` with each row that `sql` selects. Throws SQLite::Exception.
void ForEachRow(SQLite::Database& database, const std::string& sql,
                const std::function<void(const Row&)>& take);

/// What `fill` makes of each row that `sql` selects, of about `expected` rows. Throws
/// SQLite::Exception.
template <typename Record>
std::vector<Record> Select(SQLite::Database& database, const std::string& sql,
                           Record (*fill)(const Row&), size_t expected = 0) {
  std::vector<Record> records;
  records.reserve(expected);
  PreferHugePages(records.data(), expected * sizeof(Record));
  ForEachRow(database, sql, [&](const Row& row) { records.push_back(fill(row)); });
  return records;
}

}  // namespace interlude::internal
