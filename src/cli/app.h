// From a command line to an exit status: what every program here does around CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/status.h"

namespace interlude {

/// What a subcommand does once its options are known; returns the exit status.
using Action = std::function<int()>;

/// Parses and runs `chosen`, which the options' callbacks set. kExitUsage, with the reason and for
/// a mistyped option the nearest one on stderr, when the command line is wrong. Keeps gRPC from
/// printing, unless the environment has a GRPC_VERBOSITY.
int RunApp(CLI::App& app, const Action& chosen, int argc, const char* const* argv);

/// Prints "error: ..." to stderr and returns `exit_code`.
int Fail(const Status& status, int exit_code);

/// kExitUsage for what is wrong with the command line, the configuration or the directory, else
/// kExitFailed.
int ExitCodeFor(const Status& status);

}  // namespace interlude
