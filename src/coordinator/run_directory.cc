#include "coordinator/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/log.h"
#include "config/keys.h"

namespace interlude {
namespace {

StatusOr<FileDescriptor> Lock(const std::string& directory) {
  StatusOr<FileDescriptor> lock = OpenFile(directory + "/lock", O_RDWR | O_CREAT);
  if (!lock.ok()) {
    return lock.status().WithContext(
        fmt::format("cannot use the run directory {} (choose another --dir)", directory));
  }
  if (::flock(lock->get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return ErrnoError(errno, fmt::format("locking {}/lock", directory));
  return FailedPreconditionError("{} is in use by another coordinator: choose another --dir",
                                 directory);
}

/// "round.rounds is 5, and 8 in the directory"
std::string FirstDifference(const RunConfig& ours, const RunConfig& theirs) {
  for (const Key& key : AllKeys()) {
    const KeyValue mine = key.get(ours);
    const KeyValue other = key.get(theirs);
    if (mine != other) {
      return fmt::format("{} = {}, and {} there", key.full_name, KeyValueText(mine),
                         KeyValueText(other));
    }
  }
  return "";
}

Status CheckSameRun(const RunDatabase& database, const std::string& directory,
                    const RunConfig& config, uint32_t workers) {
  INTERLUDE_ASSIGN_OR_RETURN(const auto meta, database.Meta());
  const auto value = [&](const char* key) {
    const auto it = meta.find(key);
    return it == meta.end() ? std::string() : it->second;
  };
  if (value(kMetaOutcome) == "finished") {
    return AlreadyExistsError("{} already holds a finished run: choose another --dir, or delete it",
                              directory);
  }
  if (!meta.contains(kMetaConfig)) return OkStatus();  // killed before it could say what it is
  INTERLUDE_ASSIGN_OR_RETURN(const RunConfig theirs,
                             ParseRunConfig(value(kMetaConfig), "the configuration in run.db"));
  const std::string difference = FirstDifference(config, theirs);
  if (!difference.empty()) {
    return FailedPreconditionError(
        "{} holds an unfinished run of another configuration ({}): start it with the same one to "
        "go on, or choose another --dir",
        directory, difference);
  }
  if (value("workers") != std::to_string(workers)) {
    return FailedPreconditionError(
        "{} holds an unfinished run of {} workers, not of {}: start it with as many to go on, or "
        "choose another --dir",
        directory, value("workers"), workers);
  }
  return OkStatus();
}

/// Beside the model, so that a person may look at it.
Status PutAside(const std::string& path) {
  std::error_code error;
  for (int number = 1;; ++number) {
    const std::string aside = fmt::format("{}.damaged-{}", path, number);
    if (std::filesystem::exists(aside, error)) continue;
    std::filesystem::rename(path, aside, error);
    if (error) return ErrnoError(error.value(), fmt::format("renaming {}", path));
    for (const char* log : {"-wal", "-shm"}) {
      std::filesystem::rename(path + log, aside + log, error);  // where there is one
    }
    LogError("{} is damaged and was put aside as {}; the run goes on with a new one", path, aside);
    return OkStatus();
  }
}

}  // namespace

StatusOr<RunDirectory> OpenRunDirectory(const std::string& directory, const RunConfig& config,
                                        uint32_t workers) {
  std::error_code error;
  std::filesystem::create_directories(directory + "/snapshots", error);
  if (error) {
    return ErrnoError(
        error.value(),
        fmt::format("cannot make the run directory {} (choose another --dir)", directory));
  }
  RunDirectory opened;
  INTERLUDE_ASSIGN_OR_RETURN(opened.lock, Lock(directory));
  const std::string path = directory + "/run.db";
  if (std::filesystem::exists(path, error)) {
    StatusOr<std::unique_ptr<RunDatabase>> database = RunDatabase::Reopen(path);
    if (database.ok()) {
      INTERLUDE_RETURN_IF_ERROR(CheckSameRun(**database, directory, config, workers));
      INTERLUDE_ASSIGN_OR_RETURN(opened.run_id, (*database)->GetMeta("run_id"));
      INTERLUDE_ASSIGN_OR_RETURN(const std::vector<RoundRecord> rounds, (*database)->Rounds());
      for (const RoundRecord& round : rounds)
        opened.committed_rounds = std::max(opened.committed_rounds, round.round);
      opened.database = *std::move(database);
      return opened;
    }
    if (database.status().code() != StatusCode::kDataLoss) return database.status();
    INTERLUDE_RETURN_IF_ERROR(PutAside(path));
  }
  INTERLUDE_ASSIGN_OR_RETURN(opened.database, RunDatabase::Create(path));
  return opened;
}

}  // namespace interlude
