// The hash of a file, by which two machines tell whether they have the same one.
#pragma once

#include <string>

#include "base/hash128.h"
#include "base/status.h"

namespace interlude {

/// HashBytes of all that is in the regular file at `path`. The system's error, with the path, where
/// it is none or cannot be read.
StatusOr<Hash128> HashFile(const std::string& path);

}  // namespace interlude
