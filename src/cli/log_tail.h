// The end of a log file, to be shown when its process failed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace interlude {

/// At most the last `count` lines of the file's last 64 KiB, without their newlines. Empty when it
/// cannot be read.
std::vector<std::string> LastLines(const std::string& path, size_t count);

}  // namespace interlude
