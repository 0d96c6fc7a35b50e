#include "ledger/sqlite_border.h"

#include <memory>

namespace interlude::internal {

Status StatusFromSqlite(const SQLite::Exception& error, std::string_view what) {
  const auto status = [&](StatusCode code, std::string_view advice) {
    return Status(code, fmt::format("{}: {}{}", what, error.what(), advice));
  };
  if (error.getExtendedErrorCode() == SQLITE_IOERR_SHORT_READ) {
    return status(StatusCode::kDataLoss, "; the file is cut short");
  }
  switch (error.getErrorCode() & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:  // a statement of ours failed: the schema is not the one it was written for
      return status(StatusCode::kDataLoss, "; the file is damaged or is no run database");
    case SQLITE_FULL:
      return status(StatusCode::kResourceExhausted, "; free space on the disk");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return status(StatusCode::kUnavailable,
                    "; another program holds the database, close it and try again");
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return status(StatusCode::kPermissionDenied,
                    "; the file and (while a run is not closed) its directory must be accessible");
    case SQLITE_CONSTRAINT: {
      const int extended = error.getExtendedErrorCode();
      const bool twice = extended == SQLITE_CONSTRAINT_PRIMARYKEY ||
                         extended == SQLITE_CONSTRAINT_UNIQUE ||
                         extended == SQLITE_CONSTRAINT_ROWID;
      return status(twice ? StatusCode::kAlreadyExists : StatusCode::kInvalidArgument, "");
    }
    default:
      return status(StatusCode::kInternal, "");
  }
}

void Row::Refuse(int column, std::string_view value) const {
  throw SQLite::Exception(fmt::format("column {} holds the impossible value {}",
                                      sqlite3_column_name(statement_, column), value),
                          SQLITE_CORRUPT);
}

void ForEachRow(SQLite::Database& database, const std::string& sql,
                const std::function<void(const Row&)>& take) {
  sqlite3* const handle = database.getHandle();
  sqlite3_stmt* made = nullptr;
  int result = sqlite3_prepare_v2(handle, sql.c_str(), -1, &made, nullptr);
  if (result != SQLITE_OK) throw SQLite::Exception(handle, result);
  const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement(made,
                                                                             sqlite3_finalize);
  while ((result = sqlite3_step(made)) == SQLITE_ROW) take(Row(made));
  if (result != SQLITE_DONE) throw SQLite::Exception(handle, result);
}

}  // namespace interlude::internal
