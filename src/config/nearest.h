// The known word nearest to a mistyped one. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace interlude {

/// Fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, no
/// letter touched twice (optimal string alignment). Bytes, not Unicode. Takes time and space in the
/// product of the lengths.
size_t EditDistance(std::string_view a, std::string_view b);

/// The word with the least distance from `typed`, the first of several; nothing when even that one
/// needs changes to more than a third of the letters (rounded up), for then it is no typing
/// mistake.
std::optional<std::string_view> NearestWord(std::string_view typed,
                                            std::span<const std::string_view> words);

}  // namespace interlude
