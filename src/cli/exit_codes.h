// What the programs' exit statuses mean. Documented in `interlude --help`; scripts rely on the
// numbers.
#pragma once

namespace interlude {

inline constexpr int kExitOk = 0;
/// The run, or what was asked for, failed.
inline constexpr int kExitFailed = 1;
/// The command line, the configuration or the run directory cannot be used; nothing was started.
inline constexpr int kExitUsage = 2;
/// The run finished, but not with all the workers it began with.
inline constexpr int kExitWorkerLost = 3;
/// `predict` is done, but some files or folders could not be read.
inline constexpr int kExitFilesSkipped = 3;
/// Ended early by SIGINT, SIGTERM or SIGHUP.
inline constexpr int kExitInterrupted = 130;

}  // namespace interlude
