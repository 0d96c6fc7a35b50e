// Bounds on single fields from the network, and the texts that go out so that they pass those
// bounds at the other end. Internal to wire/. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace interlude::internal {

/// `text` as UTF-8 of at most `most_bytes` bytes, cut between characters: what is no UTF-8, and
/// control characters other than newline and tab, become '?'. protobuf refuses to parse a string
/// that is no UTF-8.
std::string CleanText(std::string_view text, size_t most_bytes);

/// InvalidArgument when `text` is longer than `most_bytes` or holds a control character other than
/// newline and tab (which could reach a terminal through a log).
Status CheckText(std::string_view field, const std::string& text, size_t most_bytes);

/// InvalidArgument unless least <= value <= most.
Status CheckRange(std::string_view field, int64_t value, int64_t least, int64_t most);
Status CheckAtMost(std::string_view field, uint64_t value, uint64_t most);

/// InvalidArgument for NaN and infinities.
Status CheckFinite(std::string_view field, double value);

}  // namespace interlude::internal
