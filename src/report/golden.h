// For the tests of what reports print: recorded texts, widths, and whether docs know each field.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace interlude {

/// Compares with a file in testdata/report; with INTERLUDE_UPDATE_GOLDEN set, writes it instead.
inline void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(INTERLUDE_SOURCE_DIR "/testdata/report/") + name;
  if (std::getenv("INTERLUDE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {}))
      << path << " differs; run again with INTERLUDE_UPDATE_GOLDEN=1 if the new text is right";
}

inline size_t WidestLine(const std::string& text) {
  std::istringstream lines(text);
  size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

/// Calls seen(key) for each key of each object in `json`, save the free ones inside "meta".
inline void ForEachKey(const nlohmann::json& json,
                       const std::function<void(const std::string&)>& seen) {
  if (!json.is_structured()) return;
  for (const auto& [key, value] : json.items()) {
    if (json.is_object()) seen(key);
    const bool names_of_others = key == "meta" || key == "owners";
    if (!names_of_others) ForEachKey(value, seen);
  }
}

/// Fails for each key that no docs page names; returns how many there are.
inline size_t ExpectDocumented(const std::string& json) {
  std::string pages;
  for (const char* page : {"/docs/report.md", "/docs/run-database.md"}) {
    std::ifstream file(std::string(INTERLUDE_SOURCE_DIR) + page);
    pages.append(std::istreambuf_iterator<char>(file), {});
  }
  size_t keys = 0;
  ForEachKey(nlohmann::json::parse(json), [&](const std::string& key) {
    ++keys;
    const bool documented =
        pages.find("`" + key + "`") != std::string::npos ||
        pages.find("\"" + key + "\"") != std::string::npos;  // parts of a spread
    EXPECT_TRUE(documented) << key;
  });
  return keys;
}

}  // namespace interlude
