// This machine's name, for messages and the run's records. Any thread.
#pragma once

#include <string>

namespace interlude {

/// As the kernel knows it; `otherwise` where it cannot be had.
std::string HostName(const std::string& otherwise);

}  // namespace interlude
