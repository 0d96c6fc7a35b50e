#include "ledger/run_database_watch.h"

#include <sys/stat.h>

#include <cerrno>

#include "ledger/sqlite_border.h"

namespace interlude {
namespace {

constexpr int kBusyTimeoutMs = 5000;

class SqliteWatch final : public RunDatabaseWatch {
 public:
  explicit SqliteWatch(const std::string& path)
      : context_(fmt::format("watching run database {}", path)),
        database_(path, SQLite::OPEN_READONLY, kBusyTimeoutMs) {
    database_.exec("PRAGMA trusted_schema = OFF");
  }

  StatusOr<int64_t> Version() override {
    return internal::AtBorder(context_, [this]() -> StatusOr<int64_t> {
      return database_.execAndGet("PRAGMA data_version").getInt64();
    });
  }

 private:
  const std::string context_;
  SQLite::Database database_;
};

}  // namespace

StatusOr<std::unique_ptr<RunDatabaseWatch>> RunDatabaseWatch::Open(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return ErrnoError(errno, fmt::format("watching run database {}", path));
  return internal::AtBorder(
      fmt::format("watching run database {}", path),
      [&]() -> StatusOr<std::unique_ptr<RunDatabaseWatch>> {
        return std::unique_ptr<RunDatabaseWatch>(std::make_unique<SqliteWatch>(path));
      });
}

}  // namespace interlude
