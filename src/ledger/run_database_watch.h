// Tells whether somebody has written to a run database, without reading it: for who shows a run
// while it goes on. It keeps the file open but holds no lock between calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace interlude {

/// One thread at a time. While one is open the writer cannot leave a plain file when it closes
/// (RunDatabase's destructor): close it first.
class RunDatabaseWatch {
 public:
  /// NotFound when there is no such file; else errors as RunDatabase::OpenReadOnly, of what it
  /// looks at: nothing but whether this is an SQLite database.
  static StatusOr<std::unique_ptr<RunDatabaseWatch>> Open(const std::string& path);
  virtual ~RunDatabaseWatch() = default;

  /// Two calls give different numbers when another connection has committed in between, and the
  /// same one when none has. Nothing else follows from the number. Some microseconds.
  virtual StatusOr<int64_t> Version() = 0;
};

}  // namespace interlude
