#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

namespace interlude {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

void InitLog(const std::string& process_name, LogLevel least) {
  auto logger = std::make_shared<spdlog::logger>(process_name,
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%H:%M:%S.%e %l [%n] %v");
  logger->set_level(ToSpdlog(least));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace interlude
