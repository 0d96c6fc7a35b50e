// Finds NaN and infinity in a flat sequence of parameters. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace interlude {

/// The first position whose value is NaN or infinite; nothing when all are finite. One pass at
/// memory speed.
std::optional<size_t> FindNonFinite(std::span<const float> values);

}  // namespace interlude
