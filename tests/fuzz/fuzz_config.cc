// A run's description, as a file and as the settings of a command line. What is accepted can be
// written out and means the same when it is read again: so it travels to the workers.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "config/run_config.h"

namespace interlude {
namespace {

void CheckWritten(const RunConfig& config) {
  const std::string text = FormatRunConfig(config);
  const auto again = ParseRunConfig(text, "again");
  INTERLUDE_CHECK(again.ok(), "{}:\n{}", again.status().ToString(), text);
  INTERLUDE_CHECK(*again == config, "another configuration:\n{}", text);
}

/// Each line one setting.
void ReadSettings(std::string_view text) {
  std::vector<std::string> settings;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    settings.emplace_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  RunConfig config;
  const RunConfig before = config;
  if (ApplySettings(settings, config).ok()) {
    CheckWritten(config);
  } else {
    INTERLUDE_CHECK(config == before, "a refused setting was applied");
  }
}

}  // namespace
}  // namespace interlude

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = interlude::ParseRunConfig(text, "fuzz");
  if (config.ok()) interlude::CheckWritten(*config);
  interlude::ReadSettings(text);
  return 0;
}
