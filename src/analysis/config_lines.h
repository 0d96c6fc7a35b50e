// The keys of a run's configuration, read from the text that run.db keeps of it. Not a reader of
// TOML: the coordinator writes that text, with a line for each key. Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace interlude {

/// "data.cache" -> "false", "data.name" -> "\"pets\""; the last of two lines for a key counts.
std::map<std::string, std::string> ConfigLines(std::string_view toml);

}  // namespace interlude
