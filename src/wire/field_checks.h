// Bounds on single fields from the network. A text that CleanText (base/clean_text.h) has made
// passes them, and protobuf, which refuses to parse a string that is no UTF-8. Internal to wire/.
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace interlude::internal {

/// InvalidArgument when `text` is longer than `most_bytes` or holds a forbidden control
/// character.
Status CheckText(std::string_view field, const std::string& text, size_t most_bytes);

/// InvalidArgument unless least <= value <= most.
Status CheckRange(std::string_view field, int64_t value, int64_t least, int64_t most);
Status CheckAtMost(std::string_view field, uint64_t value, uint64_t most);

/// InvalidArgument for NaN and infinities.
Status CheckFinite(std::string_view field, double value);

}  // namespace interlude::internal
