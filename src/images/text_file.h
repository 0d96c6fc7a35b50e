// Files read whole, of lists and of pictures. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace interlude {

/// The whole file as text. DataLoss beyond `most_bytes` and for what is no regular file (nothing is
/// waited for); NotFound where the path leads nowhere; else what errno says.
StatusOr<std::string> ReadTextFile(const std::string& path, size_t most_bytes);

}  // namespace interlude
