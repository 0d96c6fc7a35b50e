// Where the programs are: interlude-worker stands beside interlude, in a build folder as after
// installing.
#pragma once

#include <string>

#include "base/status.h"

namespace interlude {

/// The path of the running program.
StatusOr<std::string> OwnProgram();

/// The path of interlude-worker, or of the worker program `given` where that is not empty.
/// NotFound, with where it was looked for, when it is not there or no program.
StatusOr<std::string> WorkerProgram(const std::string& given = "");

}  // namespace interlude
