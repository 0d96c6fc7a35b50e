// The names of the ways in which a clock's offset came to be known, as run.db and JSON have them.
#pragma once

#include <optional>
#include <string_view>

#include "ledger/clock_probe.h"

namespace interlude {

/// "none", "minimum", "envelope"; "unknown" for a number that is no method.
std::string_view ClockMethodName(ClockMethod method);
std::optional<ClockMethod> ClockMethodFromName(std::string_view name);

}  // namespace interlude
