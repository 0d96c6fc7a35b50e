// Where the programs are: interlude-worker stands beside interlude, in a build folder as after
// installing.
#pragma once

#include <string>

#include "base/status.h"

namespace interlude {

/// The path of the running program.
StatusOr<std::string> OwnProgram();

/// The path of interlude-worker. NotFound, with where it was looked for, when it is not there.
StatusOr<std::string> WorkerProgram();

}  // namespace interlude
