// Writing's half of the SQLite border: a row's values, bound one after the other. Internal to
// ledger/; throws SQLite::Exception.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "ledger/sqlite_border.h"

namespace interlude::internal {

/// Binds a row's values by kind of value.
class Binder {
 public:
  explicit Binder(SQLite::Statement& statement) : statement_(statement) {}

  Binder& Integer(int64_t value) {
    return Then([&](int i) { statement_.bind(i, value); });
  }
  Binder& Count(uint64_t value) { return Integer(ToSqlInteger(value)); }
  Binder& Text(std::string_view value) {
    return Then([&](int i) { statement_.bind(i, std::string(value)); });
  }
  Binder& Blob(const std::string& value) {
    return Then([&](int i) { statement_.bind(i, value.data(), static_cast<int>(value.size())); });
  }
  Binder& Null() {
    return Then([&](int i) { statement_.bind(i); });
  }
  /// SQLite has no NaN; it is NULL.
  Binder& Real(double value) {
    if (std::isnan(value)) return Null();
    return Then([&](int i) { statement_.bind(i, value); });
  }
  template <typename T>
  Binder& IntegerOrNull(const std::optional<T>& value) {
    return value ? Integer(*value) : Null();
  }

 private:
  template <typename Bind>
  Binder& Then(Bind bind) {
    bind(++index_);
    return *this;
  }
  SQLite::Statement& statement_;
  int index_ = 0;
};

}  // namespace interlude::internal
