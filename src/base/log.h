// Logging to stderr: one line an event, with the process's name (coordinator, worker 3) in front.
// Any thread. Not for results or progress, which go to stdout through the CLI.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace interlude {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Sets the name that stands in each line and the least level that is printed.
/// Called once at the start of a program; later calls rename (a worker learns its id on joining).
void InitLog(const std::string& process_name, LogLevel least = LogLevel::kInfo);

template <typename... Args>
void LogDebug(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::debug(format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::info(format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogWarning(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::warn(format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::error(format, std::forward<Args>(args)...);
}

}  // namespace interlude
