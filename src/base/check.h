// INTERLUDE_CHECK: aborts on a programmer's error, with a message. Must be unreachable from the
// network, a file or a flag; what those can cause is a Status (base/status.h).
#pragma once

#include <fmt/format.h>

#include <string>

namespace interlude::internal {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const std::string& message);

}  // namespace interlude::internal

/// INTERLUDE_CHECK(condition, "format {}", args...)
#define INTERLUDE_CHECK(condition, ...)                                  \
  do {                                                                   \
    if (!(condition)) [[unlikely]] {                                     \
      ::interlude::internal::CheckFailed(__FILE__, __LINE__, #condition, \
                                         fmt::format(__VA_ARGS__));      \
    }                                                                    \
  } while (false)
