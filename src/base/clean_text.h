// Texts of unknown origin: where their characters end, and what is taken out of them before they
// are kept or sent. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace interlude {

/// Bytes of the well-formed UTF-8 character that begins `text`, which is not empty; 0 when there is
/// none.
size_t Utf8CharacterBytes(std::string_view text);

/// Control characters other than newline and tab (they could reach a terminal through a log).
bool IsForbiddenControl(char byte);

/// `text` as UTF-8 of at most `most_bytes` bytes, cut between characters: what is no UTF-8, and
/// forbidden control characters, become '?'.
std::string CleanText(std::string_view text, size_t most_bytes);

}  // namespace interlude
