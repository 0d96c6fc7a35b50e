// Subcommands of interlude that interlude-worker carries out, since it has LibTorch.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace interlude {

/// Replaces this process by what `command` makes of interlude-worker's path. Returns the exit
/// status where that cannot be done.
int BecomeWorkerProgram(
    const std::function<std::vector<std::string>(const std::string& program)>& command);

}  // namespace interlude
