#include "ledger/run_database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "ledger/schema.h"
#include "ledger/sqlite_border.h"
#include "ledger/sqlite_run_database.h"

namespace interlude {
namespace internal {
namespace {

constexpr int kBusyTimeoutMs = 5000;
/// Without SQLite's own locks, which cost more than reading a value: one thread at a time.
constexpr int kOneThread = SQLITE_OPEN_NOMUTEX;
constexpr char kMemory[] = ":memory:";

void WritePhases(SQLite::Database& database) {
  SQLite::Statement insert(database, "INSERT INTO phases VALUES (?, ?, ?, ?, ?)");
  int sort_order = 0;
  for (const Phase phase : kAllPhases) {
    insert.bind(1, std::string(PhaseName(phase)));
    insert.bind(2, static_cast<int>(phase));
    insert.bind(3, IsWorkerPhase(phase) ? "worker" : "coordinator");
    insert.bind(4, sort_order++);
    insert.bind(5, std::string(PhaseMeaning(phase)));
    insert.exec();
    insert.reset();
  }
}

/// The log is taken over every 256 pages, which are 4 MiB.
void BeginWriting(SQLite::Database& database) {
  database.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 256");
}

void WriteSchema(SQLite::Database& database) {
  // A round's chunk stamps are rows of one or two KB: few of them to a page of the usual 4 KiB
  // would leave a fifth of the file empty.
  database.exec("PRAGMA page_size = 16384");
  BeginWriting(database);
  SQLite::Transaction transaction(database);
  database.exec(kRunDatabaseSchema);
  database.exec(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                            kRunDatabaseApplicationId, kRunDatabaseVersion));
  WritePhases(database);
  SQLite::Statement meta(database, "INSERT INTO meta VALUES ('schema_version', ?)");
  meta.bind(1, std::to_string(kRunDatabaseVersion));
  meta.exec();
  transaction.commit();
}

/// Reserves the name, so that two coordinators started at once do not both take it.
Status MakeEmptyFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (fd >= 0) {
    ::close(fd);
    return OkStatus();
  }
  if (errno == EEXIST) {
    return AlreadyExistsError(
        "run database {} exists: a directory holds one run, choose another directory or remove "
        "this one",
        path);
  }
  return ErrnoError(errno, fmt::format("making run database {}", path));
}

Status CheckIsFile(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) {
      return NotFoundError("no run database {}: name the directory that a run was given with --dir",
                           path);
    }
    return ErrnoError(errno, fmt::format("opening run database {}", path));
  }
  if (!S_ISREG(info.st_mode)) return DataLossError("run database {}: not a file", path);
  if (info.st_size == 0) {
    return DataLossError("run database {}: empty; the run died before it wrote anything", path);
  }
  return OkStatus();
}

int Pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

/// SQLite reads a last page that is cut short as if it ended in zeros. With a log beside it (the
/// writer lives or was killed) the file may be in the middle of taking pages over, and the log has
/// them whole.
Status CheckWholePages(SQLite::Database& database, const std::string& path) {
  struct stat info {};
  if (::stat((path + "-wal").c_str(), &info) == 0 || ::stat(path.c_str(), &info) != 0)
    return OkStatus();
  if (info.st_size % Pragma(database, "page_size") == 0) return OkStatus();
  return DataLossError("run database {} is cut short: {} bytes are no whole number of pages", path,
                       info.st_size);
}

/// What the readers read is a table: a view under the name of one could go on for ever. Asked of
/// what SQLite has made of the schema, since the word for it in sqlite_master can be any.
Status CheckTables(SQLite::Database& database, const std::string& path, int version) {
  const int views =
      database
          .execAndGet(fmt::format(
              "SELECT count(*) FROM pragma_table_list WHERE type <> 'table' AND lower(name) IN "
              "('meta', 'workers', 'class_counts', 'rounds', 'worker_rounds', 'spans', "
              "'chunk_stamps', '{}', "
              "'memory', 'clock_probes', 'clocks', 'evaluations', 'evaluation_details', "
              "'confusion', 'events')",
              version <= 3 ? "process_samples" : "sample_rows"))
          .getInt();
  if (views == 0) return OkStatus();
  return DataLossError("run database {} has views in place of tables", path);
}

enum class PageCheck { kNone, kAll };

Status CheckIsOurs(SQLite::Database& database, const std::string& path, PageCheck pages) {
  if (Pragma(database, "application_id") != kRunDatabaseApplicationId) {
    return DataLossError("{} is an SQLite database, but not one of interlude's runs", path);
  }
  const int version = Pragma(database, "user_version");
  if (version > kRunDatabaseVersion) {
    return FailedPreconditionError(
        "run database {} has schema version {}, this program reads up to {}: use the interlude "
        "that wrote it",
        path, version, kRunDatabaseVersion);
  }
  if (version < 1)
    return DataLossError("run database {} has the impossible schema version {}", path, version);
  INTERLUDE_RETURN_IF_ERROR(CheckWholePages(database, path));
  INTERLUDE_RETURN_IF_ERROR(CheckTables(database, path, version));
  if (pages == PageCheck::kNone) return OkStatus();
  const std::string check = database.execAndGet("PRAGMA quick_check(1)").getString();
  if (check != "ok") return DataLossError("run database {} is damaged: {}", path, check);
  return OkStatus();
}

StatusOr<std::unique_ptr<RunDatabase>> OpenToGoOn(const std::string& path) {
  SQLite::Database database(path, SQLite::OPEN_READWRITE | kOneThread, kBusyTimeoutMs);
  database.exec("PRAGMA trusted_schema = OFF");
  INTERLUDE_RETURN_IF_ERROR(CheckIsOurs(database, path, PageCheck::kAll));
  const int version = Pragma(database, "user_version");
  if (version != kRunDatabaseVersion) {
    return FailedPreconditionError(
        "run database {} has schema version {}; a run goes on only with the interlude that began "
        "it",
        path, version);
  }
  BeginWriting(database);
  return std::unique_ptr<RunDatabase>(
      new SqliteRunDatabase(std::move(database), path, /*writable=*/true, version));
}

StatusOr<std::unique_ptr<RunDatabase>> OpenToRead(const std::string& path, PageCheck pages) {
  SQLite::Database database(path, SQLite::OPEN_READONLY | kOneThread, kBusyTimeoutMs);
  // Files come from anywhere: no SQL inside them may call functions with side effects.
  database.exec("PRAGMA trusted_schema = OFF");
  database.exec("BEGIN");  // one snapshot for all readers, while the run may still be writing
  INTERLUDE_RETURN_IF_ERROR(CheckIsOurs(database, path, pages));
  const int version = Pragma(database, "user_version");
  return std::unique_ptr<RunDatabase>(
      new SqliteRunDatabase(std::move(database), path, /*writable=*/false, version));
}

}  // namespace

SqliteRunDatabase::SqliteRunDatabase(SQLite::Database database, std::string path, bool writable,
                                     int version)
    : database_(std::move(database)),
      path_(std::move(path)),
      writable_(writable),
      version_(version) {
  if (writable_) return;
  constexpr int kSteps = 1000;  // of SQLite's; a row takes some twenty
  sqlite3_progress_handler(
      database_.getHandle(), kSteps,
      [](void* stopped) { return static_cast<std::atomic<bool>*>(stopped)->load() ? 1 : 0; },
      &stopped_);
}

SqliteRunDatabase::~SqliteRunDatabase() {
  if (!writable_) return;
  // A finished run is then one plain file that can be copied and read from a read-only directory.
  // Fails harmlessly while someone else reads: the file stays in WAL mode, which every reader
  // understands.
  database_.tryExec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE");
}

std::string SqliteRunDatabase::Context(std::string_view what) const {
  return fmt::format("run database {}: {}", path_, what);
}

Status SqliteRunDatabase::CheckWritable() const {
  if (writable_) return OkStatus();
  return FailedPreconditionError("run database {} was opened for reading", path_);
}

}  // namespace internal

StatusOr<std::unique_ptr<RunDatabase>> RunDatabase::Create(const std::string& path) {
  using internal::kMemory;
  if (path != kMemory) INTERLUDE_RETURN_IF_ERROR(internal::MakeEmptyFile(path));
  auto made = internal::AtBorder(
      fmt::format("making run database {}", path), [&]() -> StatusOr<std::unique_ptr<RunDatabase>> {
        SQLite::Database database(
            path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | internal::kOneThread,
            internal::kBusyTimeoutMs);
        internal::WriteSchema(database);
        return std::unique_ptr<RunDatabase>(new internal::SqliteRunDatabase(
            std::move(database), path, /*writable=*/true, kRunDatabaseVersion));
      });
  if (!made.ok() && path != kMemory) ::unlink(path.c_str());  // so that a second try is not refused
  return made;
}

StatusOr<std::unique_ptr<RunDatabase>> RunDatabase::Reopen(const std::string& path) {
  INTERLUDE_RETURN_IF_ERROR(internal::CheckIsFile(path));
  return internal::AtBorder(fmt::format("opening run database {}", path),
                            [&] { return internal::OpenToGoOn(path); });
}

StatusOr<std::unique_ptr<RunDatabase>> RunDatabase::OpenReadOnly(const std::string& path) {
  INTERLUDE_RETURN_IF_ERROR(internal::CheckIsFile(path));
  return internal::AtBorder(fmt::format("opening run database {}", path),
                            [&] { return internal::OpenToRead(path, internal::PageCheck::kAll); });
}

StatusOr<std::unique_ptr<RunDatabase>> RunDatabase::OpenToFollow(const std::string& path) {
  INTERLUDE_RETURN_IF_ERROR(internal::CheckIsFile(path));
  return internal::AtBorder(fmt::format("opening run database {}", path),
                            [&] { return internal::OpenToRead(path, internal::PageCheck::kNone); });
}

}  // namespace interlude
