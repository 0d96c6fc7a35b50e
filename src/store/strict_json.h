// JSON of files that others made: the text is one object, nothing beyond JSON is accepted, and no
// key occurs twice in an object. Pure; any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"

namespace interlude {

/// DataLoss says what is wrong, in words that follow on "header: " or a path.
StatusOr<nlohmann::json> ParseStrictJson(const std::string& text);

}  // namespace interlude
