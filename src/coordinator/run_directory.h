// The directory of a run: whose it is, and whether a run in it can be gone on with.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "config/run_config.h"
#include "ledger/run_database.h"
#include "store/file.h"

namespace interlude {

/// Held as long as the coordinator runs.
struct RunDirectory {
  FileDescriptor lock;
  std::unique_ptr<RunDatabase> database;
  /// The run that was begun here and not finished; none: the directory is new.
  std::optional<std::string> run_id;
  /// Rounds of it that were surely committed, by run.db.
  uint32_t committed_rounds = 0;
};

/// Makes the directory, or takes up the one of a run that was not finished. A run.db that is
/// damaged is put aside, and the run goes on with a new one: the account is worth less than the
/// model. AlreadyExists when a finished run is in it, or another program's files;
/// FailedPrecondition when another coordinator uses it, or when the run in it has another
/// configuration or number of workers, naming what differs; what the disk says.
StatusOr<RunDirectory> OpenRunDirectory(const std::string& directory, const RunConfig& config,
                                        uint32_t workers);

}  // namespace interlude
