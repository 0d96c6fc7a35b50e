// One run of `interlude bench exchange`: coordinator and workers as processes of their own, watched
// from outside, and what their run.db says of the exchange.
#pragma once

#include <string>

#include "base/status.h"
#include "bench/exchange_figures.h"

namespace interlude {

struct BenchRun {
  std::string mode;  // one of the names in bench/exchange_figures.h
  RunConfig config;
  uint32_t workers = 1;
  int threads = 0;        // of each process; 0: what `interlude run` would take
  std::string directory;  // exists and is empty
  bool quiet = false;     // else the coordinator's progress goes to stderr
};

/// `config` in one of the modes.
RunConfig ConfigOfMode(RunConfig config, const std::string& mode);

/// Blocks until all processes have ended. Cancelled when a signal came; Aborted, with the end of
/// the log, when a process failed; the database's errors. Call it from the main thread, with the
/// stop signals held back from all others.
StatusOr<ModeFigures> RunOnce(const BenchRun& run);

}  // namespace interlude
